//! Some packets are held back while later ones go on: reordering of a known degree.

use super::{Sorted, chance};
use crate::seam::{Element, Output};
use fastrand::Rng;
use unbloat_qdisc::{Backlog, Packet};
use unbloat_units::{Delta, Time};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Params {
    /// Share of packets that are held back, each drawn by itself.
    pub share: f64,
    pub hold: Delta,
}

/// Packets that are held back.
#[derive(Debug)]
pub struct Hold {
    params: Params,
    held: Sorted,
    rng: Rng,
}

impl Hold {
    pub fn new(params: Params, rng: Rng) -> Hold {
        Hold {
            params,
            held: Sorted::default(),
            rng,
        }
    }

    pub(crate) fn build(params: &Params, _start: Time, rng: &mut Rng) -> Hold {
        Hold::new(*params, rng.fork())
    }
}

impl Element for Hold {
    fn accept(&mut self, now: Time, packet: Packet, out: &mut impl Output) {
        self.advance(now, out);
        if chance(self.params.share, &mut self.rng) && self.params.hold > Delta::ZERO {
            self.held.push(now + self.params.hold, packet);
        } else {
            out.deliver(now, packet);
        }
    }

    fn next_at(&self) -> Option<Time> {
        self.held.next_at()
    }

    fn advance(&mut self, now: Time, out: &mut impl Output) {
        self.held.deliver_due(now, out);
    }

    fn backlog(&self) -> Backlog {
        self.held.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Log, at_us, drive, packet, run_until};

    #[test]
    fn held_packets_come_later_by_the_hold_and_the_others_at_once() {
        let params = Params {
            share: 0.25,
            hold: Delta::us(250),
        };
        let mut hold = Hold::new(params, Rng::with_seed(1));
        let arrivals: Vec<_> = (0..1_000)
            .map(|k| (at_us(i64::from(k) * 100), packet(k, 40)))
            .collect();
        let mut log = Log::default();
        drive(&mut hold, &arrivals, &mut log);
        run_until(&mut hold, Time::MAX, &mut log);
        let mut rng = Rng::with_seed(1);
        let mut expected: Vec<_> = arrivals
            .iter()
            .map(|(at, packet)| {
                let held = rng.f64() < 0.25;
                (*at + Delta::us(if held { 250 } else { 0 }), packet.handle)
            })
            .collect();
        expected.sort();
        assert_eq!(log.departures(), expected);
    }
}
