//! A rate that steps through a list, over and over.

use super::Service;
use super::profile::{self, Profile};
use super::work::{self, Ahead};
use fastrand::Rng;
use std::sync::Arc;
use unbloat_units::{Delta, Rate, Time};

/// A rate and how long it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub span: Delta,
    /// Zero stalls the link for that step.
    pub rate: Rate,
}

/// Shared, because one trace serves many runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Steps without a positive span are left out; no rate is above 1 Pbit/s.
    pub steps: Arc<[Step]>,
}

/// 1 Pbit/s, so that the work of a cycle of any length can be summed up.
const FASTEST: Rate = Rate::bps(1_000_000_000_000_000);

/// A link whose rate follows the list from the time at which it was built, and starts anew at its
/// end. A list without a rate above zero never delivers.
#[derive(Clone, Debug)]
pub struct Steps {
    schedule: Schedule,
    ahead: Ahead,
}

impl Steps {
    pub fn new(params: &Params, start: Time) -> Steps {
        Steps {
            schedule: Schedule::new(&params.steps, start),
            ahead: Ahead::default(),
        }
    }

    pub(crate) fn build(params: &Params, start: Time, _rng: &mut Rng) -> Steps {
        Steps::new(params, start)
    }
}

impl Service for Steps {
    fn ready(&mut self, now: Time, busy: bool) -> Time {
        if !busy {
            self.ahead.reset();
        }
        now
    }

    fn finish(&mut self, begin: Time, wire_bytes: u64) -> Time {
        if self.schedule.cycle_work == 0 {
            return Time::MAX;
        }
        profile::finish(&mut self.schedule, &mut self.ahead, begin, wire_bytes)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    start: Time,
    ends: Arc<[End]>,
    cycle: Delta,
    cycle_work: i128,
}

/// The end of a step within the cycle, its rate, and what the cycle has done by then.
#[derive(Clone, Copy, Debug)]
struct End {
    at: Delta,
    rate: Rate,
    work: i128,
}

impl Schedule {
    pub(crate) fn new(steps: &[Step], start: Time) -> Schedule {
        let mut cycle = Delta::ZERO;
        let mut cycle_work = 0;
        let steps = steps.iter().filter(|step| step.span > Delta::ZERO);
        let ends = steps
            .map(|step| {
                let before = cycle;
                cycle += step.span;
                // The sum of spans saturates at the end of time.
                let rate = step.rate.min(FASTEST);
                cycle_work += work::done(rate, cycle - before);
                End {
                    at: cycle,
                    rate,
                    work: cycle_work,
                }
            })
            .collect();
        Schedule {
            start,
            ends,
            cycle,
            cycle_work,
        }
    }
}

impl Schedule {
    /// The step that `now` lies in and what is left of it.
    fn find(&self, now: Time) -> (End, Delta) {
        let since = now.since(self.start).as_ns();
        let within = Delta::ns(since.rem_euclid(self.cycle.as_ns()));
        let index = self.ends.partition_point(|end| end.at <= within);
        (self.ends[index], self.ends[index].at - within)
    }

    fn work_until(&self, now: Time) -> i128 {
        let since = now.since(self.start).as_ns();
        let cycles = since.div_euclid(self.cycle.as_ns());
        let (end, left) = self.find(now);
        i128::from(cycles) * self.cycle_work + end.work - work::done(end.rate, left)
    }
}

impl Profile for Schedule {
    fn step(&mut self, now: Time) -> (Rate, Time) {
        let (end, left) = self.find(now);
        (end.rate, now + left)
    }

    fn work(&mut self, from: Time, until: Time) -> i128 {
        self.work_until(until) - self.work_until(from)
    }

    /// After the leap there are at most two cycles to go.
    fn patience(&self) -> usize {
        2 * self.ends.len() + 2
    }

    /// Whole cycles, so that a large packet over a slow link takes no more than two of them.
    fn leap(&self, work: i128) -> (Delta, i128) {
        if work <= self.cycle_work {
            return (Delta::ZERO, 0);
        }
        let cycles = i64::try_from((work - 1) / self.cycle_work).unwrap_or(i64::MAX);
        (self.cycle * cycles, self.cycle_work * i128::from(cycles))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bottleneck;
    use crate::testing::{Log, at_us, drive, droptail, packet, run_until};
    use unbloat_units::Framing;

    fn steps(list: &[(i64, u64)]) -> Params {
        let step = |(us, bps): &(i64, u64)| Step {
            span: Delta::us(*us),
            rate: Rate::bps(*bps),
        };
        Params {
            steps: list.iter().map(step).collect(),
        }
    }

    /// When packets of these lengths, all there at `start`, leave.
    fn departures(params: &Params, start: Time, lens: &[u32]) -> Vec<Time> {
        let service = Steps::new(params, at_us(0));
        let (queue, rng) = (droptail(100_000), Rng::with_seed(0));
        let mut link = Bottleneck::new(queue, service, Framing::default(), rng);
        let mut log = Log::default();
        let arrivals: Vec<_> = (0..)
            .zip(lens)
            .map(|(k, len)| (start, packet(k, *len)))
            .collect();
        drive(&mut link, &arrivals, &mut log);
        run_until(&mut link, Time::MAX, &mut log);
        log.delivered.into_iter().map(|(at, _)| at).collect()
    }

    #[test]
    fn a_packet_across_a_step_is_sent_at_both_rates_and_a_stall_delays_it() {
        let params = steps(&[(1_000, 12_000_000), (500, 0), (1_000, 6_000_000)]);
        // 6,000 bits by 1.0 ms, none until 1.5 ms, the other 6,000 at 6 Mbit/s.
        assert_eq!(departures(&params, at_us(500), &[1500]), [at_us(2_500)]);
        // Into the second cycle: 3,000 bits by 2.5 ms, the rest at 12 Mbit/s.
        assert_eq!(departures(&params, at_us(2_000), &[1500]), [at_us(3_250)]);
    }

    #[test]
    fn in_a_busy_period_bits_out_are_the_integral_of_the_rate_to_the_nanosecond() {
        let params = steps(&[(1_003, 7_000_001), (497, 0), (2_001, 13_999_999), (10, 999)]);
        let mut rng = Rng::with_seed(5);
        let lens: Vec<u32> = (0..3_000).map(|_| rng.u32(40..=1500)).collect();
        let left = departures(&params, at_us(777), &lens);
        // The integral, step by step in a model of its own.
        let integral = |until: Time| {
            let (mut at, mut sum, mut k) = (Time::from_ns(0), 0i128, 0);
            while at < until {
                let step = params.steps[k % params.steps.len()];
                let end = (at + step.span).min(until);
                sum += i128::from((end - at.max(at_us(777)).min(end)).as_ns())
                    * i128::from(step.rate.as_bps());
                (at, k) = (at + step.span, k + 1);
            }
            sum
        };
        let mut bytes = 0;
        for (at, len) in left.iter().zip(&lens) {
            bytes += i128::from(*len);
            let needed = bytes * 8_000_000_000;
            assert!(integral(*at) >= needed, "not before it is sent");
            assert!(
                integral(*at - Delta::ns(1)) < needed,
                "at the first whole nanosecond"
            );
        }
    }

    #[test]
    fn a_slow_cycle_of_short_steps_is_leapt_over() {
        // One bit in 1 ms; 12,000 bits take 12 s, and the rest of a thousand million cycles nothing.
        let params = steps(&[(999, 0), (1, 1_000_000)]);
        let left = departures(&params, at_us(0), &[1500, 4_000_000_000]);
        assert_eq!(left[0], Time::from_ns(12_000_000_000));
        assert_eq!(left[1], left[0] + Delta::secs(32_000_000));
    }

    #[test]
    fn nothing_leaves_where_no_step_has_a_rate() {
        assert!(departures(&steps(&[(10, 0)]), at_us(0), &[40]).is_empty());
        assert!(departures(&steps(&[]), at_us(0), &[40]).is_empty());
    }
}
