//! Delay that varies from packet to packet.

use super::{Ring, Sorted, uniform};
use crate::seam::{Element, Output};
use fastrand::Rng;
use unbloat_qdisc::{Backlog, Packet};
use unbloat_units::{Delta, Time};

/// Uniform jitter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Params {
    /// Each packet is delayed by zero to this.
    pub jitter: Delta,
    /// Whether a packet may overtake one that drew a longer delay. If not, it waits for it, as
    /// behind a radio link that releases in order.
    pub reorders: bool,
}

/// Packets under way, in order of arrival or of departure.
#[derive(Debug)]
pub struct Jitter {
    jitter: Delta,
    under_way: UnderWay,
    rng: Rng,
}

#[derive(Debug)]
enum UnderWay {
    InOrder { packets: Ring, last: Time },
    Overtaking(Sorted),
}

impl Jitter {
    pub fn new(params: Params, rng: Rng) -> Jitter {
        let under_way = if params.reorders {
            UnderWay::Overtaking(Sorted::default())
        } else {
            UnderWay::InOrder {
                packets: Ring::default(),
                last: Time::MIN,
            }
        };
        Jitter {
            jitter: params.jitter,
            under_way,
            rng,
        }
    }

    pub(crate) fn build(params: &Params, _start: Time, rng: &mut Rng) -> Jitter {
        Jitter::new(*params, rng.fork())
    }
}

impl Element for Jitter {
    fn accept(&mut self, now: Time, packet: Packet, out: &mut impl Output) {
        self.advance(now, out);
        let at = now + uniform(self.jitter, &mut self.rng);
        match &mut self.under_way {
            UnderWay::InOrder { packets, last } => {
                *last = at.max(*last);
                packets.push(*last, packet);
            }
            UnderWay::Overtaking(packets) => packets.push(at, packet),
        }
        self.advance(now, out);
    }

    fn next_at(&self) -> Option<Time> {
        match &self.under_way {
            UnderWay::InOrder { packets, .. } => packets.next_at(),
            UnderWay::Overtaking(packets) => packets.next_at(),
        }
    }

    fn advance(&mut self, now: Time, out: &mut impl Output) {
        match &mut self.under_way {
            UnderWay::InOrder { packets, .. } => packets.deliver_due(now, out),
            UnderWay::Overtaking(packets) => packets.deliver_due(now, out),
        }
    }

    fn backlog(&self) -> Backlog {
        match &self.under_way {
            UnderWay::InOrder { packets, .. } => packets.backlog(),
            UnderWay::Overtaking(packets) => packets.backlog(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Log, at_us, drive, packet, run_until};

    fn run(reorders: bool) -> Vec<(Time, u32)> {
        let params = Params {
            jitter: Delta::us(900),
            reorders,
        };
        let mut jitter = Jitter::new(params, Rng::with_seed(2));
        let arrivals: Vec<_> = (0..5_000)
            .map(|k| (at_us(i64::from(k) * 100), packet(k, 40)))
            .collect();
        let mut log = Log::default();
        drive(&mut jitter, &arrivals, &mut log);
        run_until(&mut jitter, Time::MAX, &mut log);
        log.departures()
    }

    /// The draws, made again beside the element.
    fn own_times() -> Vec<Time> {
        let mut rng = Rng::with_seed(2);
        (0..5_000)
            .map(|k| at_us(k * 100) + uniform(Delta::us(900), &mut rng))
            .collect()
    }

    #[test]
    fn without_reordering_a_packet_leaves_at_the_latest_time_drawn_so_far() {
        let latest = own_times().into_iter().scan(Time::MIN, |latest, at| {
            *latest = at.max(*latest);
            Some(*latest)
        });
        let expected: Vec<_> = latest.zip(0..).collect();
        assert_eq!(run(false), expected);
    }

    #[test]
    fn with_reordering_every_packet_leaves_at_its_own_time() {
        let mut expected: Vec<_> = own_times().into_iter().zip(0..).collect();
        expected.sort();
        let left = run(true);
        assert_eq!(left, expected);
        assert!(
            !left.is_sorted_by_key(|(_, handle)| *handle),
            "some overtake"
        );
    }

    #[test]
    fn no_jitter_delays_nothing() {
        let mut log = Log::default();
        let mut jitter = Jitter::new(Params::default(), Rng::with_seed(0));
        jitter.accept(at_us(5), packet(1, 40), &mut log);
        assert_eq!(log.departures(), [(at_us(5), 1)]);
    }
}
