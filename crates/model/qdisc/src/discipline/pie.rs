//! PIE: drop arrivals by a probability that a proportional-integral controller steers to a target delay.
//!
//! # References
//!
//! RFC 8033; Linux 6.12 `net/sched/sch_pie.c`, `include/net/pie.h`.
//!
//! # Where we differ
//!
//! | # | theirs | ours | why |
//! |---|---|---|---|
//! | 1 | RFC section 4.3: delay from the departure rate | from the time stamp of the packet that leaves (RFC section 5.2, Linux' default) | exact at any rate; the estimator is an option that Linux turned off |
//! | 2 | RFC: probabilities are real | Linux: integers in units of 2^-56 | decisions must agree draw by draw |
//! | 3 | Linux: the first update half a second after the queue was made | after its first packet | a queue has no time before |
//! | 4 | Linux: the timer counts jiffies, and a re-armed timer fires one late: 20 ms at 250 Hz | exactly `t_update` | [`Params::at_kernel_hz`] gives Linux' |
//! | 5 | RFC section 5.1: marks up to a probability of 10 %, drops above | the same; ECN is off unless asked for, as in Linux | |
//! | 6 | RFC appendix A: all bursts are allowed until the queue had 150 ms of service | Linux: the same, counted down by the gaps between departures | |

use crate::device::Device;
use crate::event::Reason;
use crate::fifo::Fifo;
use crate::packet::Packet;
use crate::queue::{Backlog, Context, Queue};
use crate::ticker::Ticker;
use fastrand::Rng;
use unbloat_params::range::{PERIOD, SPAN};
use unbloat_params::{LinkSettings, Read, defaults};
use unbloat_units::{Delta, Time};

defaults! {
    /// RFC 8033 section 4 and Linux.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        pub target: Delta = Delta::ms(15);
        /// Between two updates of the probability.
        pub t_update: Delta = Delta::ms(15);
        /// From the first packet to the first update.
        pub first_update: Delta = Delta::ms(500);
        /// Weight of the deviation from the target, in 1/16 Hz.
        pub alpha: u32 = 2;
        /// Weight of the trend, in 1/16 Hz.
        pub beta: u32 = 20;
        /// How much service the queue gives before it drops at all.
        pub max_burst: Delta = Delta::ms(150);
        pub limit_packets: u32 = 1_000;
        /// Whether ECN-capable packets are marked while the probability is at most 10 %.
        pub ecn: bool = false;
        /// Whether short packets are dropped less often, in proportion to their length.
        pub byte_mode: bool = false;
        pub device: Device = Device::ETHERNET;
    }
}

impl<S: LinkSettings> Read<S> for Params {
    fn read(settings: &mut S) -> Result<Params, S::Error> {
        let default = Params::default();
        let kernel_hz = settings.maybe_within("kernel_hz", &(1..=1_000))?;
        let params = Params {
            target: settings.within("target", default.target, &SPAN)?,
            t_update: settings.within("t_update", default.t_update, &PERIOD)?,
            first_update: settings.within("first_update", default.first_update, &PERIOD)?,
            alpha: settings.within("alpha", default.alpha, &(0..=32))?,
            beta: settings.within("beta", default.beta, &(0..=32))?,
            max_burst: settings.within("max_burst", default.max_burst, &SPAN)?,
            limit_packets: settings.limit_packets("limit", default.limit_packets)?,
            ecn: settings.or("ecn", default.ecn)?,
            byte_mode: settings.or("byte_mode", default.byte_mode)?,
            device: Device::read(settings)?,
        };
        Ok(match kernel_hz {
            Some(hz) => params.at_kernel_hz(hz),
            None => params,
        })
    }
}

impl Params {
    /// With the update interval that a Linux kernel of this timer frequency keeps to: rounded up
    /// to jiffies, and one more because a timer never fires early.
    pub fn at_kernel_hz(self, hz: u32) -> Params {
        let hz = i64::from(hz.max(1));
        let jiffies = (self.t_update.as_ns() * hz + 999_999_999) / 1_000_000_000;
        Params {
            t_update: Delta::ns((jiffies + 1) * 1_000_000_000 / hz),
            ..self
        }
    }
}

/// What is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub early_drops: u64,
    pub overflow_drops: u64,
    pub marks: u64,
}

/// Probabilities are in units of 2^-56.
const MAX_PROB: u64 = u64::MAX >> 8;
/// Delays are in ticks of 64 ns.
const TICK_SHIFT: u32 = 6;
const TICKS_PER_SEC: u64 = 1_000_000_000 >> TICK_SHIFT;

fn ticks(time: Time) -> u64 {
    (time.as_ns() >> TICK_SHIFT) as u64
}

fn span(delta: Delta) -> u64 {
    (delta.as_ns().max(0) >> TICK_SHIFT) as u64
}

/// What the controller knows; delays in ticks.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    delay: u64,
    old_delay: u64,
    burst_left: u64,
    last_departure: Option<u64>,
    prob: u64,
    /// The sum of probabilities since the last drop: makes drops more regular than chance.
    accumulated: u64,
}

/// A PIE queue.
#[derive(Clone, Debug)]
pub struct Pie {
    params: Params,
    target: u64,
    fifo: Fifo,
    state: State,
    ticker: Ticker,
    stats: Stats,
}

impl Pie {
    pub fn new(params: Params) -> Pie {
        Pie {
            target: span(params.target),
            fifo: Fifo::default(),
            state: State {
                burst_left: span(params.max_burst),
                ..State::default()
            },
            ticker: Ticker::new(params.first_update, params.t_update),
            stats: Stats::default(),
            params,
        }
    }

    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// The probability of a drop, as the last update left it.
    pub fn probability(&self) -> f64 {
        self.state.prob as f64 / MAX_PROB as f64
    }

    fn frames(&self) -> u64 {
        self.params.device.frames(self.fifo.backlog())
    }

    #[inline]
    fn catch_up(&mut self, now: Time) {
        while self.ticker.due(now).is_some() {
            self.update();
            let State {
                delay,
                old_delay,
                prob,
                ..
            } = self.state;
            if self.fifo.packets() == 0 && (delay, old_delay, prob) == (0, 0, 0) {
                self.ticker.skip(now);
            }
        }
    }

    /// One update of the probability (RFC 8033 section 4.2).
    fn update(&mut self) {
        let state = &mut self.state;
        let State {
            delay, old_delay, ..
        } = *state;
        let (alpha, beta) = gains(&self.params, state.prob);
        let error = delay as i64 - self.target as i64;
        let trend = delay as i64 - old_delay as i64;
        let mut delta = alpha
            .wrapping_mul(error)
            .wrapping_add(beta.wrapping_mul(trend));
        // Steps up of 2 % at most, once the probability is high (section 5.5).
        if delta > (MAX_PROB / 50) as i64 && state.prob >= MAX_PROB / 10 {
            delta = (MAX_PROB / 100 * 2) as i64;
        }
        if delay > span(Delta::ms(250)) {
            delta = delta.wrapping_add((MAX_PROB / 50) as i64);
        }
        let mut is_saturated = false;
        let raised = state.prob.wrapping_add(delta as u64);
        state.prob = if delta > 0 && raised < state.prob {
            is_saturated = true;
            MAX_PROB
        } else if delta <= 0 && raised > state.prob {
            0
        } else {
            raised
        };
        // No delay in two updates: decay by 1/64. Delay 0 of a queue that is not empty is just too
        // small to see.
        let is_idle = delay == 0 && old_delay == 0 && self.fifo.packets() == 0;
        if is_idle && !is_saturated {
            state.prob -= state.prob / 64;
        }
        let low = self.target / 2;
        if delay < low && old_delay < low && state.prob == 0 {
            state.burst_left = span(self.params.max_burst);
            state.last_departure = None;
            state.accumulated = 0;
        }
        state.old_delay = delay;
    }

    /// Whether an arriving packet is to be dropped or marked (RFC 8033 sections 4.1 and 5.4).
    fn is_unlucky(&mut self, packet: &Packet, rng: &mut Rng) -> bool {
        let frames = self.frames();
        let frame_mtu = self.params.device.frame_mtu();
        let state = &mut self.state;
        let is_calm = state.delay < self.target / 2 && state.prob < MAX_PROB / 5;
        if state.burst_left > 0 || is_calm || frames < u64::from(2 * frame_mtu) {
            return false;
        }
        let frame = self.params.device.frame(packet);
        let prob = if self.params.byte_mode && frame <= frame_mtu {
            u64::from(frame) * (state.prob / u64::from(frame_mtu))
        } else {
            state.prob
        };
        state.accumulated = if prob == 0 {
            0
        } else {
            state.accumulated.wrapping_add(prob)
        };
        if state.accumulated < MAX_PROB / 100 * 85 {
            return false;
        }
        if state.accumulated >= MAX_PROB / 2 * 17 {
            return true;
        }
        let hit = rng.u64(..) >> 8 < prob;
        if hit {
            state.accumulated = 0;
        }
        hit
    }
}

/// The weights, in units of probability per tick: smaller while the probability is small (RFC 8033
/// section 4.2, as Linux continues the table).
fn gains(params: &Params, prob: u64) -> (i64, i64) {
    let weight = |sixteenths: u32| (u64::from(sixteenths) * (MAX_PROB / TICKS_PER_SEC)) >> 4;
    let mut shift = 0;
    if prob < MAX_PROB / 10 {
        shift = 1;
        let mut one_in = 100;
        while one_in <= 1_000_000 && prob < MAX_PROB / one_in {
            shift += 2;
            one_in *= 10;
        }
    }
    (
        (weight(params.alpha) >> shift) as i64,
        (weight(params.beta) >> shift) as i64,
    )
}

impl Queue for Pie {
    #[inline]
    fn enqueue(&mut self, now: Time, mut packet: Packet, cx: &mut Context<'_>) {
        self.catch_up(now);
        if self.fifo.packets() >= self.params.limit_packets {
            self.stats.overflow_drops += 1;
            self.state.accumulated = 0;
            return cx.dropped(now, packet, Reason::Overflow);
        }
        if self.is_unlucky(&packet, cx.rng) {
            let may_mark = self.params.ecn && self.state.prob <= MAX_PROB / 10;
            if !may_mark || !packet.ecn.is_capable() {
                self.stats.early_drops += 1;
                self.state.accumulated = 0;
                return cx.dropped(now, packet, Reason::Early);
            }
            self.stats.marks += 1;
            cx.mark(now, &mut packet, Reason::Early);
        }
        self.fifo.push(now, packet);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, _cx: &mut Context<'_>) -> Option<Packet> {
        self.catch_up(now);
        let packet = self.fifo.pop()?;
        let tick = ticks(now);
        let state = &mut self.state;
        state.delay = if self.fifo.packets() == 0 {
            0
        } else {
            tick - ticks(packet.enqueued)
        };
        let gap = state.last_departure.map_or(0, |last| tick - last);
        state.last_departure = Some(tick);
        state.burst_left = state.burst_left.saturating_sub(gap);
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Ecn, FlowHash, IpLen};
    use crate::testkit::{bottleneck, paced};
    use unbloat_units::Rate;

    #[test]
    fn the_kernel_timer_is_rounded_up_and_one_late() {
        let at = |hz| Params::default().at_kernel_hz(hz).t_update;
        assert_eq!(
            [at(100), at(250), at(1_000)],
            [Delta::ms(30), Delta::ms(20), Delta::ms(16)]
        );
    }

    #[test]
    fn an_update_adds_alpha_times_the_error_and_beta_times_the_trend() {
        let mut pie = Pie::new(Params::default());
        pie.fifo.push(
            Time::from_ns(0),
            Packet::new(0, IpLen::new(1_500), FlowHash(0)),
        );
        pie.state.prob = MAX_PROB / 4;
        pie.state.old_delay = span(Delta::ms(15));
        pie.state.delay = span(Delta::ms(16));
        pie.update();
        // 0.25 + 0.125/s * 1 ms + 1.25/s * 1 ms.
        assert!((pie.probability() - 0.251_375).abs() < 1e-6);
    }

    #[test]
    fn gains_shrink_with_the_probability_as_in_the_table() {
        // RFC 8033 section 4.2: 1/2 below 10 %, then 1/8, 1/32, 1/128, 1/512, 1/2048 by decades.
        let full = gains(&Params::default(), MAX_PROB / 5).1;
        for (one_in, divisor) in [
            (11, 2),
            (101, 8),
            (1_001, 32),
            (10_001, 128),
            (100_001, 512),
            (1_000_001, 2_048),
        ] {
            assert_eq!(
                gains(&Params::default(), MAX_PROB / one_in).1,
                full / divisor
            );
        }
    }

    #[test]
    fn delay_settles_at_the_target_under_a_load_that_marks_cannot_lower() {
        // 12.5 Mbit/s into 10: a fifth must be dropped.
        let arrivals = paced(Time::from_ns(0), Delta::us(960), 30_000, 1_500);
        let run = bottleneck(&mut Pie::new(Params::default()), Rate::mbps(10), arrivals);
        let late: Vec<f64> = run
            .sent
            .iter()
            .skip(15_000)
            .map(|(at, packet)| at.since(packet.enqueued).as_ms())
            .collect();
        let mean = late.iter().sum::<f64>() / late.len() as f64;
        assert!((mean - 15.0).abs() < 1.5, "{mean} ms");
        let share = run.drops().len() as f64 / 30_000.0;
        assert!((0.18..0.21).contains(&share), "{share}");
    }

    #[test]
    fn above_ten_percent_capable_packets_are_dropped_too() {
        let mut params = Params {
            ecn: true,
            ..Params::default()
        };
        params.limit_packets = 10_000;
        let arrivals = paced(Time::from_ns(0), Delta::us(600), 20_000, 1_500).map(|(at, p)| {
            (
                at,
                Packet {
                    ecn: Ecn::Ect0,
                    ..p
                },
            )
        });
        let mut pie = Pie::new(params);
        let run = bottleneck(&mut pie, Rate::mbps(10), arrivals);
        assert!(!run.marks().is_empty());
        assert_eq!(run.drops().len() as u64, pie.stats().early_drops);
        assert!(
            pie.stats().early_drops > 5_000,
            "half must go: marks alone do not help here"
        );
    }
}
