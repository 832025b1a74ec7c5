//! What would help, and why we think so.

use crate::distrust::Distrust;
use crate::split::Split;
use std::fmt;
use unbloat_units::{Bytes, Delta, Rate};
use unbloat_workload::Direction;

/// The 95th percentile of added delay that calls and games do not notice: DSLReports' A.
pub const UNNOTICED: Delta = Delta::ms(30);
/// Share of the measured goodput for a shaper to start with. It must be the narrowest place, and goodput is already less than
/// the rate on the wire by 3 to 6 % of headers. Down is cut more, because there the shaper stands behind the queue
/// that it wants to keep empty.
pub const SHAPER_UP: f64 = 0.95;
pub const SHAPER_DOWN: f64 = 0.90;
/// What a receive window may keep in queues beyond the path's own product of rate and round trip.
const WINDOW_QUEUE: Delta = Delta::ms(10);
/// TCP_REPLENISH_TIME of draft-ietf-ippm-responsiveness-09.
const UNSENT: Delta = Delta::ms(5);
/// A limit below two segments would only cost throughput.
const LEAST_UNSENT: Bytes = Bytes::new(4096);

/// Where the queue stands, if something else (`locate`) found that out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Queue {
    #[default]
    Unknown,
    /// In a device of this host.
    ThisHost,
    /// Between this host and its gateway: Wi-Fi, as a rule.
    LocalNetwork,
    /// At or behind the gateway: the access line, as a rule.
    AccessLine,
    /// Further away.
    Beyond,
}

/// What one direction's load did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadedDirection {
    pub direction: Direction,
    /// Of the receiving application, over the loaded stage.
    pub goodput: Rate,
    /// Goodput was stable; false on radio and other paths whose rate changes.
    pub is_steady: bool,
    /// 95th percentile of added delay.
    pub added_p95: Delta,
    pub idle_rtt: Delta,
    pub split: Option<Split>,
    pub queue: Queue,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cure {
    Nothing,
    /// Run the test again, without what made it worthless.
    Again,
    /// A shaper with a queue for each flow, on the router.
    RouterShaper {
        direction: Direction,
        rate: Rate,
    },
    /// A shaper whose rate follows the path's.
    AdaptiveShaper {
        direction: Direction,
        rate: Rate,
    },
    /// A short queue on this host's device.
    DeviceQueue,
    /// A limit on the receive window of this host's downloads.
    ReceiveWindow {
        bytes: Bytes,
    },
    /// A limit on what senders write ahead: here for uploads, on the server for downloads.
    NotsentLowat {
        direction: Direction,
        bytes: Bytes,
    },
}

/// What an advice rests on: a number and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence(pub String);

#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    pub cure: Cure,
    pub evidence: Vec<Evidence>,
}

/// Cures in the order in which to try them; always at least one advice.
pub fn advise(loaded: &[LoadedDirection], distrust: &[Distrust]) -> Vec<Advice> {
    let fatal: Vec<Evidence> = distrust
        .iter()
        .filter(|reason| reason.is_fatal())
        .map(|reason| Evidence(reason.to_string()))
        .collect();
    if !fatal.is_empty() || loaded.is_empty() {
        let cure = Cure::Again;
        let evidence = fatal;
        return vec![Advice { cure, evidence }];
    }
    let mut advice: Vec<Advice> = loaded.iter().flat_map(for_queue).collect();
    advice.extend(loaded.iter().filter_map(for_sockets));
    if advice.is_empty() {
        advice.push(Advice {
            cure: Cure::Nothing,
            evidence: loaded.iter().map(added).collect(),
        });
    }
    advice
}

/// For the network's queue, if it is long.
fn for_queue(load: &LoadedDirection) -> Vec<Advice> {
    if load.added_p95 < UNNOTICED {
        return Vec::new();
    }
    let direction = load.direction;
    let mut evidence = vec![added(load), carried(load)];
    if load.queue == Queue::ThisHost && direction == Direction::Up {
        let cure = Cure::DeviceQueue;
        return vec![Advice { cure, evidence }];
    }
    let rate = first_rate(load);
    let cure = match load.is_steady {
        true => Cure::RouterShaper { direction, rate },
        false => {
            let changes = "and it changed during the test, so no fixed rate fits";
            evidence.push(Evidence(changes.to_owned()));
            Cure::AdaptiveShaper { direction, rate }
        }
    };
    let mut advice = vec![Advice { cure, evidence }];
    advice.extend((direction == Direction::Down).then(|| window(load)));
    advice
}

/// Where nobody has a router to shape on: downloads of this host alone.
fn window(load: &LoadedDirection) -> Advice {
    let bytes = load.goodput * (load.idle_rtt + WINDOW_QUEUE);
    let needs = format!(
        "{} for a round trip of {:.0} ms without load",
        load.goodput,
        load.idle_rtt.as_ms()
    );
    Advice {
        cure: Cure::ReceiveWindow { bytes },
        evidence: vec![added(load), Evidence(needs)],
    }
}

/// For what waits in sockets, if that is long.
fn for_sockets(load: &LoadedDirection) -> Option<Advice> {
    let sockets = load.split?.sockets?;
    let bytes = (load.goodput * UNSENT).max(LEAST_UNSENT);
    (sockets.delay >= UNNOTICED).then(|| Advice {
        cure: Cure::NotsentLowat {
            direction: load.direction,
            bytes,
        },
        evidence: vec![Evidence(format!(
            "{} during the {}",
            sockets.in_words(),
            load.direction.load()
        ))],
    })
}

fn first_rate(load: &LoadedDirection) -> Rate {
    let share = match load.direction {
        Direction::Up => SHAPER_UP,
        Direction::Down => SHAPER_DOWN,
    };
    Rate::from_bps_f64(share * load.goodput.as_bps_f64())
}

fn added(load: &LoadedDirection) -> Evidence {
    Evidence(format!(
        "the {} adds {:.0} ms to one in twenty packets",
        load.direction.load(),
        load.added_p95.as_ms()
    ))
}

fn carried(load: &LoadedDirection) -> Evidence {
    Evidence(format!(
        "the path carried {} {}",
        load.goodput,
        load.direction.name()
    ))
}

impl fmt::Display for Cure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Cure::Nothing => write!(f, "nothing: load adds no delay that anybody notices"),
            Cure::Again => write!(f, "test again: this run tells nothing"),
            Cure::RouterShaper { direction, rate } => write!(
                f,
                "on the router, shape {} to {rate} with cake or fq_codel, then test again and raise the rate while added delay stays low",
                direction.name()
            ),
            Cure::AdaptiveShaper { direction, rate } => write!(
                f,
                "on the router, shape {} with cake and let its rate follow the path's, from {rate}",
                direction.name()
            ),
            Cure::DeviceQueue => write!(
                f,
                "on this host, use fq_codel or cake on the sending interface, and see that its driver has byte queue limits"
            ),
            Cure::ReceiveWindow { bytes } => write!(
                f,
                "without access to the router: limit the receive window of this host's downloads to {bytes} in all"
            ),
            Cure::NotsentLowat {
                direction: Direction::Up,
                bytes,
            } => write!(
                f,
                "on this host, let programs keep no more than {bytes} unsent (TCP_NOTSENT_LOWAT, net.ipv4.tcp_notsent_lowat)"
            ),
            Cure::NotsentLowat {
                direction: Direction::Down,
                bytes,
            } => write!(
                f,
                "on the server, keep no more than {bytes} unsent on a connection (TCP_NOTSENT_LOWAT); nothing on this side helps"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::StackView;

    fn load(direction: Direction, mbps: u64, added_ms: i64) -> LoadedDirection {
        LoadedDirection {
            direction,
            goodput: Rate::mbps(mbps),
            is_steady: true,
            added_p95: Delta::ms(added_ms),
            idle_rtt: Delta::ms(20),
            split: None,
            queue: Queue::Unknown,
        }
    }

    fn cures(loaded: &[LoadedDirection]) -> Vec<Cure> {
        advise(loaded, &[]).into_iter().map(|a| a.cure).collect()
    }

    #[test]
    fn a_short_queue_needs_nothing_and_says_by_which_numbers() {
        let loaded = [load(Direction::Down, 50, 8), load(Direction::Up, 10, 29)];
        let advice = advise(&loaded, &[]);
        assert_eq!(advice.len(), 1);
        assert_eq!(advice[0].cure, Cure::Nothing);
        assert_eq!(advice[0].evidence.len(), 2);
    }

    #[test]
    fn an_upload_queue_is_shaped_on_the_router_below_what_was_measured() {
        let direction = Direction::Up;
        let rate = Rate::kbps(9_500);
        let expected = [Cure::RouterShaper { direction, rate }];
        assert_eq!(cures(&[load(Direction::Up, 10, 240)]), expected);
    }

    #[test]
    fn a_download_queue_can_also_be_kept_short_by_the_receive_window() {
        let found = cures(&[load(Direction::Down, 50, 160)]);
        let direction = Direction::Down;
        let rate = Rate::mbps(45);
        // 50 Mbit/s for 30 ms.
        let bytes = Bytes::new(187_500);
        let expected = [
            Cure::RouterShaper { direction, rate },
            Cure::ReceiveWindow { bytes },
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_path_whose_rate_changes_gets_no_fixed_rate() {
        let radio = LoadedDirection {
            is_steady: false,
            ..load(Direction::Up, 10, 240)
        };
        assert!(matches!(cures(&[radio])[..], [Cure::AdaptiveShaper { .. }]));
    }

    #[test]
    fn a_queue_in_this_host_is_cured_there() {
        let here = LoadedDirection {
            queue: Queue::ThisHost,
            ..load(Direction::Up, 10, 240)
        };
        assert_eq!(cures(&[here]), [Cure::DeviceQueue]);
    }

    #[test]
    fn data_that_waits_in_sockets_is_limited_where_it_is_sent() {
        let view = StackView {
            udp: Some(Delta::ms(5)),
            tcp: Some(Delta::ms(6)),
            own: Some(Delta::ms(900)),
            foreign: None,
            icmp: None,
        };
        let waits = |direction| LoadedDirection {
            split: Split::of(&view, None),
            ..load(direction, 100, 5)
        };
        for direction in Direction::BOTH {
            let bytes = Bytes::new(62_500);
            let expected = [Cure::NotsentLowat { direction, bytes }];
            assert_eq!(cures(&[waits(direction)]), expected);
        }
    }

    #[test]
    fn a_run_that_means_nothing_gets_no_other_advice() {
        let fatal = [Distrust::CpuBusy {
            busy: 0.99,
            late: Some(0.1),
        }];
        let advice = advise(&[load(Direction::Up, 10, 240)], &fatal);
        assert_eq!(advice[0].cure, Cure::Again);
        assert!(advice[0].evidence[0].0.contains("99 %"));
        assert_eq!(advise(&[], &[])[0].cure, Cure::Again);
    }
}
