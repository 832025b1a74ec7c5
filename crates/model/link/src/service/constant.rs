//! A constant rate.

use super::Service;
use super::work::Ahead;
use fastrand::Rng;
use unbloat_units::{Rate, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Bits on the wire per second. At zero nothing leaves.
    pub rate: Rate,
}

/// A link of constant rate.
///
/// In a busy period that begins at `t0` the n-th packet leaves at `t0` plus the bits of the first n
/// over the rate, rounded up to a nanosecond each time anew: what the rounding took is the next
/// packet's head start.
#[derive(Clone, Debug)]
pub struct Constant {
    rate: Rate,
    ahead: Ahead,
}

impl Constant {
    pub fn new(params: Params) -> Constant {
        Constant {
            rate: params.rate,
            ahead: Ahead::default(),
        }
    }

    pub(crate) fn build(params: &Params, _start: Time, _rng: &mut Rng) -> Constant {
        Constant::new(*params)
    }
}

impl Service for Constant {
    #[inline]
    fn ready(&mut self, now: Time, busy: bool) -> Time {
        if !busy {
            self.ahead.reset();
        }
        now
    }

    #[inline]
    fn finish(&mut self, begin: Time, wire_bytes: u64) -> Time {
        self.ahead.finish_packet(begin, wire_bytes, self.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bottleneck;
    use crate::testing::{Log, at_us, drive, droptail, packet, run_until};
    use unbloat_units::{Bytes, Delta, Framing};

    fn link(rate: Rate) -> Bottleneck<unbloat_qdisc::discipline::droptail::DropTail, Constant> {
        let service = Constant::new(Params { rate });
        Bottleneck::new(
            droptail(100_000),
            service,
            Framing::default(),
            Rng::with_seed(0),
        )
    }

    #[test]
    fn the_nth_departure_of_a_busy_period_is_its_bits_over_the_rate_rounded_up_once() {
        // 7 Mbit/s: a packet of 1500 bytes takes 1,714,285.714... ns.
        let mut link = link(Rate::mbps(7));
        let mut log = Log::default();
        let n = 50_000;
        let arrivals: Vec<_> = (0..n).map(|k| (at_us(5), packet(k, 1500))).collect();
        drive(&mut link, &arrivals, &mut log);
        run_until(&mut link, Time::MAX, &mut log);
        assert_eq!(log.delivered.len(), n as usize);
        for (at, packet) in &log.delivered {
            let bits = 12_000 * (i64::from(packet.handle) + 1);
            // bits / 7e6 s = bits * 1000 / 7 ns
            let ns = (bits * 1_000 + 6) / 7;
            assert_eq!(*at, at_us(5) + Delta::ns(ns));
        }
    }

    #[test]
    fn a_packet_to_an_idle_link_starts_when_it_arrives_and_a_waiting_one_when_the_link_is_free() {
        let mut link = link(Rate::mbps(12));
        let mut log = Log::default();
        let arrivals = [(0, 1500), (400, 750), (2_000, 1500), (3_000, 40)];
        let arrivals: Vec<_> = arrivals
            .iter()
            .enumerate()
            .map(|(k, (us, len))| (at_us(*us), packet(k as u32, *len)))
            .collect();
        drive(&mut link, &arrivals, &mut log);
        run_until(&mut link, Time::MAX, &mut log);
        let left = log.departures();
        let third = Time::from_ns(3_026_667);
        assert_eq!(
            left[..3],
            [(at_us(1_000), 0), (at_us(1_500), 1), (at_us(3_000), 2)]
        );
        assert_eq!(left[3], (third, 3), "26,666.7 ns, rounded up");
    }

    #[test]
    fn a_rate_of_terabits_and_one_of_a_bit_per_second_are_exact_too() {
        for (bps, expected) in [
            // 320 bits at 1 Tbit/s: 0.32 ns each.
            (1_000_000_000_000, [1, 1, 1, 2]),
            (1, [320, 640, 960, 1_280].map(|s| s * 1_000_000_000)),
        ] {
            let mut link = link(Rate::bps(bps));
            let mut log = Log::default();
            let arrivals = [0, 1, 2, 3].map(|k| (at_us(0), packet(k, 40)));
            drive(&mut link, &arrivals, &mut log);
            run_until(&mut link, Time::MAX, &mut log);
            let left: Vec<i64> = log.delivered.iter().map(|(at, _)| at.as_ns()).collect();
            assert_eq!(left, expected, "{bps} bit/s");
        }
    }

    #[test]
    fn a_link_without_a_rate_keeps_what_it_has_and_asks_for_nothing() {
        let mut link = link(Rate::ZERO);
        let mut log = Log::default();
        drive(
            &mut link,
            &[(at_us(0), packet(0, 100)), (at_us(1), packet(1, 100))],
            &mut log,
        );
        use crate::Element;
        assert_eq!(link.next_at(), None);
        assert_eq!(link.backlog().bytes, Bytes::new(200));
    }
}
