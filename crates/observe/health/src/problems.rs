//! What of it is worth telling, and how much it weighs.

use crate::{Copied, Health};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of fault.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    UnreadLinkType,
    OneDirection,
    MissingBytes,
    KernelDrops,
    HeadersCut,
    OptionsCut,
    ClockStep,
    OutOfOrder,
    CapturedTwice,
    Damage,
    Offload,
    PayloadCut,
}

/// What a fault does to conclusions.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// Good to know.
    Note,
    /// Figures may be wrong: conclusions are to be less certain, or withheld.
    Doubt,
}

/// A fault that is worth telling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    pub kind: ProblemKind,
    pub weight: Weight,
    pub sentence: String,
}

const MS: i64 = 1_000_000;

/// Part and whole.
#[derive(Clone, Copy)]
pub(crate) struct Share(pub(crate) u64, pub(crate) u64);

impl Share {
    fn is(self, at_least_per_mille: u64) -> bool {
        self.0 > 0
            && 1000 * u128::from(self.0) >= u128::from(at_least_per_mille) * u128::from(self.1)
    }

    fn weight(self, doubtful_per_mille: u64) -> Weight {
        if self.is(doubtful_per_mille) {
            Weight::Doubt
        } else {
            Weight::Note
        }
    }

    pub(crate) fn percent(self) -> f64 {
        100.0 * self.0 as f64 / self.1.max(1) as f64
    }
}

impl Health {
    /// The faults worth telling, heaviest first; see the table in the crate's documentation.
    pub fn problems(&self) -> Vec<Problem> {
        let weighed = |kind| self.weigh(kind).map(|weight| (kind, weight));
        let found = ALL.into_iter().filter_map(weighed);
        let mut problems: Vec<Problem> = found
            .map(|(kind, weight)| Problem {
                kind,
                weight,
                sentence: self.sentence(kind),
            })
            .collect();
        problems.sort_by_key(|problem| std::cmp::Reverse(problem.weight));
        problems
    }

    /// A sentence for each.
    pub fn sentences(&self) -> Vec<String> {
        let problems = self.problems().into_iter();
        problems.map(|problem| problem.sentence).collect()
    }

    /// Whether anything weighs on conclusions.
    pub fn is_doubtful(&self) -> bool {
        self.problems().iter().any(|p| p.weight == Weight::Doubt)
    }

    fn weigh(&self, kind: ProblemKind) -> Option<Weight> {
        let told = |is_told: bool, weight| is_told.then_some(weight);
        match kind {
            ProblemKind::UnreadLinkType => {
                let unread = self.unread();
                told(unread.0 > 0, unread.weight(500))
            }
            ProblemKind::OneDirection => {
                let one = self.one_direction();
                told(one.is(50), one.weight(500))
            }
            ProblemKind::MissingBytes => {
                let missing = self.missing();
                told(missing.is(1) && missing.0 > 2 * 1460, missing.weight(10))
            }
            ProblemKind::KernelDrops => {
                let drops = self.dropped();
                told(drops.0 > 0, drops.weight(10))
            }
            ProblemKind::HeadersCut => {
                told(self.snap.headers_cut > 0, self.headers_cut().weight(10))
            }
            ProblemKind::OptionsCut => {
                let cut = Share(self.snap.options_cut, self.tcp_packets);
                told(cut.is(10) && cut.0 >= 3, Weight::Doubt)
            }
            ProblemKind::ClockStep => told(self.clock.steps > 0, Weight::Note),
            ProblemKind::OutOfOrder => {
                let is_worse = self.order.most_late_ns >= 10 * MS;
                let late = Share(self.order.late_packets, self.packets);
                let weight = if is_worse {
                    late.weight(10)
                } else {
                    Weight::Note
                };
                told(self.order.most_late_ns >= MS, weight)
            }
            ProblemKind::CapturedTwice => {
                let is_twice = |c: Copied| c.copies >= 10 && Share(c.copies, c.packets).is(10);
                let both = [self.copied.down, self.copied.up];
                told(both.into_iter().any(is_twice), Weight::Note)
            }
            ProblemKind::Damage => told(!self.damage.is_empty(), Weight::Note),
            ProblemKind::Offload => {
                let large = Share(self.offload.large_packets, self.offload.data_packets);
                told(large.is(50) && large.0 >= 10, Weight::Note)
            }
            ProblemKind::PayloadCut => {
                let cut = Share(self.snap.payload_cut, self.snap.payload_packets);
                told(cut.is(500) && cut.0 >= 10, Weight::Note)
            }
        }
    }

    /// Says so where most of the capture could not be read, whatever the reason: there are no conclusions then.
    pub fn unreadable(&self) -> Option<String> {
        let (links, cut) = (self.unread(), self.headers_cut());
        Share(links.0 + cut.0, self.packets)
            .is(500)
            .then(|| match links.0 >= cut.0 {
                true => self.sentence(ProblemKind::UnreadLinkType),
                false => self.sentence(ProblemKind::HeadersCut),
            })
    }

    pub(crate) fn unread(&self) -> Share {
        let unread = self.unread_links.iter().map(|link| link.packets);
        Share(unread.sum(), self.packets)
    }

    pub(crate) fn one_direction(&self) -> Share {
        let flows = &self.flows;
        Share(flows.only_down + flows.only_up, flows.tcp_flows)
    }

    pub(crate) fn missing(&self) -> Share {
        let flows = &self.flows;
        let all = flows.payload_bytes.saturating_add(flows.missing_bytes);
        Share(flows.missing_bytes, all)
    }

    pub(crate) fn dropped(&self) -> Share {
        let drops = self.kernel_drops.unwrap_or(0);
        Share(drops, self.packets.saturating_add(drops))
    }

    pub(crate) fn headers_cut(&self) -> Share {
        Share(self.snap.headers_cut, self.packets)
    }
}

const ALL: [ProblemKind; 12] = [
    ProblemKind::UnreadLinkType,
    ProblemKind::OneDirection,
    ProblemKind::MissingBytes,
    ProblemKind::KernelDrops,
    ProblemKind::HeadersCut,
    ProblemKind::OptionsCut,
    ProblemKind::ClockStep,
    ProblemKind::OutOfOrder,
    ProblemKind::CapturedTwice,
    ProblemKind::Damage,
    ProblemKind::Offload,
    ProblemKind::PayloadCut,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flows, Offload, Order, Sides, Snap};

    /// The weight of the one problem that there is.
    fn weight(health: &Health) -> Option<(ProblemKind, Weight)> {
        let problems = health.problems();
        assert!(problems.len() < 2, "{problems:?}");
        problems.first().map(|p| (p.kind, p.weight))
    }

    fn sound() -> Health {
        Health {
            packets: 10_000,
            tcp_packets: 9_000,
            kernel_drops: Some(0),
            flows: Flows {
                tcp_flows: 100,
                payload_bytes: 10_000_000,
                ..Flows::default()
            },
            ..Health::default()
        }
    }

    #[test]
    fn a_sound_capture_is_silent() {
        assert_eq!(weight(&sound()), None);
        assert!(!sound().is_doubtful());
        assert_eq!(Health::default().sentences(), [""; 0]);
    }

    #[test]
    fn flows_of_one_direction_count_from_five_percent() {
        let one = |only_down| {
            let flows = Flows {
                only_down,
                ..sound().flows
            };
            weight(&Health { flows, ..sound() })
        };
        assert_eq!(one(4), None);
        assert_eq!(one(5), Some((ProblemKind::OneDirection, Weight::Note)));
        assert_eq!(one(50), Some((ProblemKind::OneDirection, Weight::Doubt)));
    }

    #[test]
    fn missing_bytes_count_from_a_thousandth() {
        let missing = |missing_bytes| {
            let flows = Flows {
                missing_bytes,
                ..sound().flows
            };
            weight(&Health { flows, ..sound() })
        };
        assert_eq!(missing(2920), None);
        assert_eq!(missing(9_000), None);
        assert_eq!(
            missing(20_000),
            Some((ProblemKind::MissingBytes, Weight::Note))
        );
        assert_eq!(
            missing(200_000),
            Some((ProblemKind::MissingBytes, Weight::Doubt))
        );
    }

    #[test]
    fn the_kernel_s_drops_count_from_the_first() {
        let drops = |n| {
            weight(&Health {
                kernel_drops: Some(n),
                ..sound()
            })
        };
        assert_eq!(drops(1), Some((ProblemKind::KernelDrops, Weight::Note)));
        assert_eq!(drops(200), Some((ProblemKind::KernelDrops, Weight::Doubt)));
    }

    #[test]
    fn copies_count_from_a_hundredth_of_a_direction() {
        let copies = |copies| {
            let up = Copied {
                packets: 1000,
                copies,
            };
            let copied = Sides {
                up,
                ..Sides::default()
            };
            weight(&Health { copied, ..sound() })
        };
        assert_eq!(copies(9), None);
        assert_eq!(copies(10), Some((ProblemKind::CapturedTwice, Weight::Note)));
    }

    #[test]
    fn order_counts_beyond_the_resolution_of_timestamps() {
        let order = |late_packets, most_late_ns| {
            let order = Order {
                late_packets,
                most_late_ns,
            };
            weight(&Health { order, ..sound() })
        };
        assert_eq!(order(5000, 50_000), None);
        assert_eq!(
            order(1, 2 * MS),
            Some((ProblemKind::OutOfOrder, Weight::Note))
        );
        assert_eq!(
            order(100, 20 * MS),
            Some((ProblemKind::OutOfOrder, Weight::Doubt))
        );
    }

    #[test]
    fn offload_and_snap_length_count_where_they_are_more_than_a_few_packets() {
        let offload = |large_packets| {
            let offload = Offload {
                data_packets: 1000,
                large_packets,
                largest_bytes: 60_000,
            };
            weight(&Health { offload, ..sound() })
        };
        assert_eq!(offload(49), None);
        assert_eq!(offload(50), Some((ProblemKind::Offload, Weight::Note)));
        let snap = |snap: Snap| weight(&Health { snap, ..sound() });
        let cut = |options_cut| {
            snap(Snap {
                options_cut,
                ..Snap::default()
            })
        };
        assert_eq!(cut(89), None);
        assert_eq!(cut(90), Some((ProblemKind::OptionsCut, Weight::Doubt)));
        let payload = |payload_cut| {
            snap(Snap {
                payload_packets: 5000,
                payload_cut,
                ..Snap::default()
            })
        };
        assert_eq!(payload(2499), None);
        assert_eq!(payload(2500), Some((ProblemKind::PayloadCut, Weight::Note)));
    }
}
