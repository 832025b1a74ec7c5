//! A fixed delay: propagation.

use super::Ring;
use crate::seam::{Element, Output};
use fastrand::Rng;
use unbloat_qdisc::{Backlog, Packet};
use unbloat_units::{Delta, Time};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Params {
    /// Negative delays are none.
    pub delay: Delta,
}

/// Packets under way leave in the order in which they came.
#[derive(Debug)]
pub struct Delay {
    delay: Delta,
    under_way: Ring,
}

impl Delay {
    pub fn new(params: Params) -> Delay {
        Delay {
            delay: params.delay.max(Delta::ZERO),
            under_way: Ring::default(),
        }
    }

    pub(crate) fn build(params: &Params, _start: Time, _rng: &mut Rng) -> Delay {
        Delay::new(*params)
    }
}

impl Element for Delay {
    #[inline]
    fn accept(&mut self, now: Time, packet: Packet, out: &mut impl Output) {
        self.advance(now, out);
        if self.delay == Delta::ZERO {
            return out.deliver(now, packet);
        }
        self.under_way.push(now + self.delay, packet);
    }

    #[inline]
    fn next_at(&self) -> Option<Time> {
        self.under_way.next_at()
    }

    #[inline]
    fn advance(&mut self, now: Time, out: &mut impl Output) {
        self.under_way.deliver_due(now, out);
    }

    #[inline]
    fn coming(&self, after: usize) -> Option<&Packet> {
        self.under_way.get(after)
    }

    fn latency(&self) -> Delta {
        self.delay
    }

    fn backlog(&self) -> Backlog {
        self.under_way.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Log, at_us, packet};
    use unbloat_units::Bytes;

    #[test]
    fn every_packet_leaves_after_the_delay_however_late_the_driver_looks() {
        let mut delay = Delay::new(Params {
            delay: Delta::us(40),
        });
        let mut log = Log::default();
        delay.accept(at_us(0), packet(0, 100), &mut log);
        delay.accept(at_us(3), packet(1, 50), &mut log);
        assert_eq!(delay.next_at(), Some(at_us(40)));
        assert_eq!(delay.backlog().bytes, Bytes::new(150));
        delay.advance(at_us(900), &mut log);
        assert_eq!(log.departures(), [(at_us(40), 0), (at_us(43), 1)]);
        assert_eq!(
            (delay.next_at(), delay.backlog()),
            (None, Backlog::default())
        );
    }
}
