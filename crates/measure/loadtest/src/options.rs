//! What a test is to do.

use crate::plan::{Plan, Stack};
use crate::target::Target;
use std::net::IpAddr;
use unbloat_params::defaults;
use unbloat_units::{Both, Bytes, Delta, Rate, named};

named! {
    /// Which HTTP the load is carried by.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Http {
        One = "1.1",
        Two = "2",
        Three = "3",
    }
}

/// Whose certificates are believed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// These authorities, the text of a PEM file, in place of the system's.
    pub ca: Option<Vec<u8>>,
    /// The one certificate whose DER form has this SHA-256, whoever signed it.
    pub pin: Option<[u8; 32]>,
    /// Any certificate.
    pub is_blind: bool,
}

/// On the wire.
const SEGMENT_BYTES: u64 = 1_500;

/// How many connections load one direction, by the draft's names INP, INC an interval, MNP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flows {
    /// So many at first, more at each interval of the plan, and so many at most. Beyond the first only as many as have these segments each on
    /// their way or in a queue that stands.
    Ramp {
        first: u16,
        more: u16,
        most: u16,
        segments: u16,
    },
    /// So many from the beginning.
    Fixed(u16),
}

impl Flows {
    /// draft-ietf-ippm-responsiveness-09: INP 1, INC 1, MNP 16.
    pub const DRAFT: Flows = Flows::Ramp {
        first: 1,
        more: 1,
        most: 16,
        segments: 0,
    };
    /// For stages of seconds, in which the draft's ramp has not filled a queue: the same most, four times as steep. Sixteen connections over a slow
    /// line with a short round trip have one or two segments each. A queue that is kept short must then drop a quarter of all packets
    /// (R. Morris, "TCP behavior with many flows", ICNP 1997: below four segments a loss takes a timeout), and no cure would help. Where nobody
    /// keeps it short, it has room for more: four connections with BBR leave most of a deep buffer empty.
    pub const STEEP: Flows = Flows::Ramp {
        first: 4,
        more: 4,
        most: 16,
        segments: 4,
    };

    /// How many there are to be after so many whole intervals, at a rate over a path with this round trip, the queue that stands included, as far as
    /// it is known.
    pub fn after(self, intervals: u64, rate: Rate, round_trip: Option<Delta>) -> u16 {
        match self {
            Flows::Fixed(flows) => flows,
            Flows::Ramp {
                first,
                more,
                most,
                segments,
            } => {
                let grown = u64::from(more)
                    .saturating_mul(intervals)
                    .saturating_add(u64::from(first))
                    .min(u64::from(most));
                // RFC 8289 §4.4: 5 ms of queue keep a link busy.
                let on_way = round_trip.map(|trip| rate * (trip + Delta::ms(5)));
                let room = on_way.and_then(|on_way| {
                    on_way
                        .as_u64()
                        .checked_div(u64::from(segments) * SEGMENT_BYTES)
                });
                let bounded = grown.min(room.unwrap_or(grown).max(u64::from(first)));
                u16::try_from(bounded).unwrap_or(most)
            }
        }
    }
}

defaults! {
    /// How latency is probed.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Probing {
        /// Between datagrams of the echo; as the line allows ([`Probing::pace`]) if none is given.
        pub echo_every: Option<Delta> = None;
        /// What each direction carries, as far as an earlier test knows.
        pub line: Both<Option<Rate>> = Both::default();
        /// Bytes of an echo's payload, at least; irtt's header needs 60 and more.
        pub echo_bytes: u16 = 0;
        /// Pairs of a foreign and a self probe each second, at most; draft-09's MPS allows 50 pairs.
        pub pairs_per_s: u16 = Probing::DEFAULT_PAIRS_PER_S;
        /// Share of the capacity that such probes may take: draft-09's PTC.
        pub share: f64 = 0.05;
    }
}

impl Probing {
    pub const DEFAULT_PAIRS_PER_S: u16 = 20;
    /// Between datagrams at the least and at the most, where nobody says how many: a path that is silent for 300 ms counts as stalled.
    pub const PACE: [Delta; 2] = [Delta::ms(10), Delta::ms(250)];

    /// The shortest interval at which datagrams are sent.
    pub fn shortest(&self) -> Delta {
        self.echo_every.unwrap_or(Probing::PACE[0])
    }

    /// Between datagrams on a line of which this is known so far. They take a hundredth of the slower direction: where a queue keeps flows apart, sixteen
    /// load connections leave a datagram a seventeenth, and what is more waits for itself.
    pub fn pace(&self, carried: Both<Option<Rate>>) -> Delta {
        /// Of a datagram with its headers.
        const BITS: f64 = 800.0;
        const SHARE: f64 = 0.01;
        /// While a direction is not known: 16 kbit/s.
        const UNKNOWN: Delta = Delta::ms(50);
        if let Some(fixed) = self.echo_every {
            return fixed;
        }
        let known = self.known(carried);
        let most = match (known.down, known.up) {
            (Some(_), Some(_)) => Probing::PACE[1],
            _ => UNKNOWN,
        };
        let Some(slower) = self.slower(carried) else {
            return UNKNOWN;
        };
        let fair = Delta::from_secs_f64(BITS / (SHARE * slower.as_bps_f64()).max(1.0));
        fair.clamp(Probing::PACE[0], most)
    }

    fn known(&self, carried: Both<Option<Rate>>) -> Both<Option<Rate>> {
        Both::of(|way| {
            carried[way]
                .or(self.line[way])
                .filter(|rate| *rate > Rate::ZERO)
        })
    }

    /// What the slower direction carries, as far as this is known; none if nothing is.
    pub fn slower(&self, carried: Both<Option<Rate>>) -> Option<Rate> {
        /// Few lines are slower in one direction by more.
        const ASYMMETRY: u64 = 20;
        let Both { down, up } = self.known(carried);
        match (down, up) {
            (Some(down), Some(up)) => Some(down.min(up)),
            (one, other) => Some(Rate::bps(one.or(other)?.as_bps() / ASYMMETRY)),
        }
    }
}

/// All of a test. [`Options::of`] is what is measured by default.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub target: Target,
    /// The echo's server where the target has none that it tells of.
    pub echo: Option<(String, u16)>,
    pub plan: Plan,
    pub http: Http,
    pub trust: Trust,
    /// What the server knows its users by.
    pub token: Option<String>,
    pub flows: Flows,
    /// Directions whose queue a shaper keeps short, or is to: no more connections than the empty path has room for, unless the queue that stands stays. That
    /// of their start takes a slow line many seconds to lose.
    pub is_shaped: Both<bool>,
    pub probing: Probing,
    /// Of our sockets, and asked of the server for its own.
    pub congestion_control: Option<String>,
    /// Static: no more than this may be on its way to us on one connection.
    pub receive_window: Option<Bytes>,
    /// Keep to one version of IP.
    pub ip: Option<IpVersion>,
    /// Keep to one address of the target's name.
    pub address: Option<IpAddr>,
    /// Beside the load of every stage but a first idle one, against which delay is judged.
    pub apps: Vec<crate::apps::App>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpVersion {
    Four,
    Six,
}

impl Options {
    pub fn of(target: Target) -> Options {
        Options {
            target,
            echo: None,
            plan: Plan::usual(&[Stack::NetworkOnly]),
            http: Http::Two,
            trust: Trust::default(),
            token: None,
            flows: Flows::STEEP,
            is_shaped: Both::default(),
            probing: Probing::default(),
            congestion_control: None,
            receive_window: None,
            ip: None,
            address: None,
            apps: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_take_a_hundredth_of_the_slower_direction_and_are_never_fewer_than_four_a_second() {
        let probing = Probing::default();
        let pace = |down: Option<u64>, up: Option<u64>| {
            let known = Both::new(down, up).map(|rate| rate.map(Rate::kbps));
            probing.pace(known).as_ms()
        };
        assert_eq!(pace(Some(100_000), Some(20_000)), 10.0);
        assert_eq!(pace(Some(50_000), Some(2_000)), 40.0);
        assert_eq!(pace(Some(12_000), Some(1_000)), 80.0);
        assert_eq!(pace(Some(2_000), Some(400)), 200.0);
        assert_eq!(pace(Some(300), Some(100)), 250.0);
        // Of the other direction nothing is known yet.
        assert_eq!(pace(None, None), 50.0);
        assert_eq!(pace(Some(12_000), None), 50.0);
        assert_eq!(pace(Some(100_000), None), 16.0);
        let told = Probing {
            line: Both::new(None, Some(Rate::mbps(1))),
            ..probing
        };
        assert_eq!(
            told.pace(Both::new(Some(Rate::mbps(12)), None)),
            Delta::ms(80)
        );
        let wanted = Probing {
            echo_every: Some(Delta::ms(1)),
            ..told
        };
        assert_eq!(wanted.pace(Both::default()), Delta::ms(1));
    }

    #[test]
    fn flows_ramp_to_their_most_and_stay() {
        let slow = (Rate::mbps(1), Some(Delta::ms(10)));
        let draft = |n| Flows::DRAFT.after(n, slow.0, slow.1);
        assert_eq!([0, 1, 15, 16, u64::MAX].map(draft), [1, 2, 16, 16, 16]);
        assert_eq!(Flows::Fixed(4).after(9, slow.0, slow.1), 4);
    }

    #[test]
    fn connections_beyond_the_first_four_have_four_segments_each() {
        let after =
            |mbps, rtt_ms, n| Flows::STEEP.after(n, Rate::mbps(mbps), Some(Delta::ms(rtt_ms)));
        assert_eq!([0, 1, 9].map(|n| after(5, 10, n)), [4, 4, 4]);
        assert_eq!([0, 1, 9].map(|n| after(20, 20, n)), [4, 8, 10]);
        assert_eq!([0, 1, 9].map(|n| after(100, 10, n)), [4, 8, 16]);
        assert_eq!([0, 1, 9].map(|n| after(2, 500, n)), [4, 8, 16]);
        // A queue of 150 ms stands.
        assert_eq!([0, 1, 9].map(|n| after(5, 170, n)), [4, 8, 16]);
        assert_eq!(Flows::STEEP.after(3, Rate::ZERO, None), 16);
    }
}
