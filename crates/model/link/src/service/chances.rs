//! Chances to send, as mahimahi records them: so many bytes at each of a list of times.
//!
//! # References
//! Winstein, Sivaraman, Balakrishnan, NSDI 2013, section 3.2 (the recorder "Saturator"); mahimahi's
//! link shell (Netravali et al., USENIX ATC 2015): a chance of 1500 bytes is shared by small
//! packets, a packet that does not fit goes on with the next chance, a chance that finds the queue
//! empty is lost, and after the last one the trace starts again, offset by its last time.
//!
//! # Where we differ
//! 1. mahimahi sees arrivals in whole milliseconds and adds 4 bytes to each packet; here times are
//!    exact and a chance carries 1500 bytes at IP level. As there, a packet that arrives at the
//!    very time of a chance has missed it.
//! 2. Packets of any size may pass; mahimahi ends with an error above 1504 bytes.

use super::Service;
use crate::trace::Chances as Trace;
use fastrand::Rng;
use std::sync::Arc;
use unbloat_units::Time;

/// Bytes of one chance.
pub const CHANCE_BYTES: u64 = 1500;

/// Shared, because one trace serves many runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    pub trace: Arc<Trace>,
}

/// A link that sends at the times of a trace. Time zero of the trace is when it was built.
#[derive(Clone, Debug)]
pub struct Chances {
    trace: Arc<Trace>,
    /// When the current pass through the trace began.
    base: Time,
    /// Index of the chance after the one in use.
    next: usize,
    /// The chance in use: when it is, and what is left of it.
    at: Time,
    left: u64,
}

impl Chances {
    pub fn new(params: &Params, start: Time) -> Chances {
        Chances {
            trace: Arc::clone(&params.trace),
            base: start,
            next: 0,
            at: start,
            left: 0,
        }
    }

    pub(crate) fn build(params: &Params, start: Time, _rng: &mut Rng) -> Chances {
        Chances::new(params, start)
    }

    /// Goes on to the next chance; what was left of the current one is lost.
    fn turn(&mut self) {
        self.at = self.base + self.trace.at(self.next);
        self.left = CHANCE_BYTES;
        self.next += 1;
        if self.next == self.trace.len() {
            self.next = 0;
            self.base += self.trace.period();
        }
    }

    /// Goes on to the first chance after `now`.
    fn turn_past(&mut self, now: Time) {
        let passes = (now - self.base).as_ns() / self.trace.period().as_ns() - 1;
        if passes > 0 {
            self.base += self.trace.period() * passes;
            self.next = 0;
        }
        loop {
            let within = now - self.base;
            self.next = self.next.max(self.trace.first_after(within));
            if self.next < self.trace.len() {
                return self.turn();
            }
            self.next = 0;
            self.base += self.trace.period();
        }
    }
}

impl Service for Chances {
    fn ready(&mut self, now: Time, busy: bool) -> Time {
        if !busy {
            self.turn_past(now);
        } else if self.left == 0 {
            self.turn();
        }
        self.at
    }

    fn finish(&mut self, _begin: Time, wire_bytes: u64) -> Time {
        let mut need = wire_bytes;
        while need > self.left {
            need -= self.left;
            self.turn();
        }
        self.left -= need;
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bottleneck;
    use crate::testing::{Log, at_ms, at_us, drive, droptail, packet, run_until};
    use crate::trace::parse_mahimahi;
    use unbloat_qdisc::Packet;
    use unbloat_units::{Delta, Framing};

    fn run(trace: &str, arrivals: &[(Time, Packet)]) -> Vec<(Time, u32)> {
        let trace = Arc::new(parse_mahimahi(trace.as_bytes()).unwrap());
        let service = Chances::new(&Params { trace }, at_us(0));
        let (queue, rng) = (droptail(100_000), Rng::with_seed(0));
        let mut link = Bottleneck::new(queue, service, Framing::default(), rng);
        let mut log = Log::default();
        drive(&mut link, arrivals, &mut log);
        run_until(&mut link, Time::MAX, &mut log);
        log.departures()
    }

    fn at(ms: &[i64]) -> Vec<(Time, u32)> {
        ms.iter().map(|ms| at_ms(*ms)).zip(0..).collect()
    }

    #[test]
    fn a_backlog_leaves_at_the_times_of_the_trace_over_and_over() {
        let arrivals: Vec<_> = (0..10).map(|k| (at_us(0), packet(k, 1500))).collect();
        // The first chance, at 0, was over when the packets came. Then the passes meet: 7, and 7 + 0.
        let expected = at(&[3, 3, 7, 7, 10, 10, 14, 14, 17, 17]);
        assert_eq!(run("0\n3\n3\n7\n", &arrivals), expected);
    }

    #[test]
    fn a_chance_that_finds_the_queue_empty_is_lost_also_over_many_passes() {
        let late = Time::from_ns(86_400_000_000_000);
        let arrivals = [
            (at_us(2_999), packet(0, 1500)),
            (at_us(3_000), packet(1, 1500)),
            (late, packet(2, 1500)),
        ];
        let left = run("1\n3\n5\n", &arrivals);
        // A day is 17,280,000 passes of 5 ms; the next chance is 1 ms into the next.
        assert_eq!(
            left,
            [(at_ms(3), 0), (at_ms(5), 1), (late + Delta::ms(1), 2)]
        );
    }

    #[test]
    fn small_packets_share_a_chance_and_large_ones_take_several() {
        let lens = [500, 500, 500, 1400, 200, 3200, 1];
        let arrivals: Vec<_> = (0..)
            .zip(lens)
            .map(|(k, len)| (at_us(0), packet(k, len)))
            .collect();
        // Bytes so far: 500, 1000, 1500 | 2900, then 100 + 100 | and so on.
        let expected = at(&[1, 1, 1, 2, 3, 5, 5]);
        assert_eq!(run("1\n2\n3\n4\n5\n6\n", &arrivals), expected);
        // What is left of a chance is not kept for a packet that comes later.
        let apart = [(at_us(0), packet(0, 40)), (at_us(1_001), packet(1, 40))];
        assert_eq!(run("1\n2\n", &apart), at(&[1, 2]));
    }

    #[test]
    fn under_backlog_the_nth_byte_leaves_with_the_chance_that_carries_it() {
        let mut rng = Rng::with_seed(6);
        let mut times: Vec<i64> = (0..500).map(|_| rng.i64(1..=900)).collect();
        times.sort_unstable();
        let text: String = times.iter().map(|ms| format!("{ms}\n")).collect();
        let lens: Vec<u32> = (0..4_000).map(|_| rng.u32(1..=4_000)).collect();
        let arrivals: Vec<_> = (0..)
            .zip(&lens)
            .map(|(k, len)| (at_us(0), packet(k, *len)))
            .collect();
        let mut bytes = 0;
        for ((left, _), len) in run(&text, &arrivals).iter().zip(&lens) {
            bytes += u64::from(*len);
            let chance = bytes.div_ceil(1500) as usize - 1;
            let pass = times[499] * (chance / 500) as i64;
            assert_eq!(*left, at_ms(pass + times[chance % 500]));
        }
    }
}
