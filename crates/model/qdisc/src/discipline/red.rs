//! RED: drop arrivals by a probability that grows with the average queue; gentle and adaptive if asked.
//!
//! # References
//!
//! - Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", 1993 (ToN 1(4)).
//! - Floyd, "Recommendation on using the gentle variant of RED", 2000.
//! - Floyd, Gummadi and Shenker, "Adaptive RED", 2001.
//! - Linux 6.12 `include/net/red.h`, `net/sched/sch_red.c`; iproute2 `tc/tc_red.c` for what it derives.
//!
//! # Where we differ
//!
//! | # | theirs | ours | why |
//! |---|---|---|---|
//! | 1 | Linux has no gentle variant | an option, off by default: from `max` to twice `max` the probability rises to 1 | the variant that its author recommends |
//! | 2 | Linux begins the idle time when the device asks an empty queue, which below a shaper never happens | when the last packet leaves, as in the paper (Fig. 2) | |
//! | 3 | tc tabulates the idle decay in units of 64 ns, Linux looks it up by microseconds: the average decays 15.6 times slower than meant | the same | means over a busy period must agree |
//! | 4 | Linux adapts half a second after the queue was set up | after its first packet | a queue has no time before |
//! | 5 | Linux can admit packets without ECN above the threshold (`nodrop`) | left out | |

use crate::device::Device;
use crate::event::Reason;
use crate::fifo::Fifo;
use crate::packet::Packet;
use crate::queue::{Backlog, Context, Queue};
use crate::ticker::Ticker;
use fastrand::Rng;
use unbloat_params::Limit;
use unbloat_params::range::{COUNT, RATE};
use unbloat_params::{LinkSettings, Read, defaults};
use unbloat_units::{Bytes, Delta, Rate, Time};

defaults! {
    /// The example of the manual tc-red(8), for 10 Mbit/s, with tc's default probability.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Params {
        /// Of the real queue, in bytes of frames.
        pub limit: Bytes = Bytes::new(400_000);
        /// Average queue at which dropping begins.
        pub min: Bytes = Bytes::new(30_000);
        /// Average queue at which `probability` is reached.
        pub max: Bytes = Bytes::new(90_000);
        pub probability: f64 = 0.02;
        /// Mean length of packets.
        pub mean_packet: Bytes = Bytes::new(1_000);
        /// How many mean packets the empty queue takes at once before the average passes `min`.
        pub burst: u32 = 55;
        /// Rate of the link, for the decay of the average while idle.
        pub bandwidth: Rate = Rate::mbps(10);
        /// Whether ECN-capable packets are marked instead of dropped.
        pub ecn: bool = false;
        /// Whether they are dropped all the same above the range.
        pub hard_drop: bool = false;
        /// Whether the probability rises on above `max`, instead of to 1 at once.
        pub gentle: bool = false;
        /// Whether `probability` is adapted to keep the average in the middle fifth of the range.
        pub adaptive: bool = false;
        pub device: Device = Device::ETHERNET;
    }
}

impl<S: LinkSettings> Read<S> for Params {
    fn read(settings: &mut S) -> Result<Params, S::Error> {
        let default = Params::default();
        let mut bytes = |name, fallback: Bytes| -> Result<Bytes, S::Error> {
            Ok(settings.maybe_limit(name)?.map_or(fallback, Limit::bytes))
        };
        let (min, max) = (bytes("min", default.min)?, bytes("max", default.max)?);
        let limit = bytes("limit", default.limit)?;
        if min >= max {
            return Err(settings.fault(format!(
                "\"min\" is {min} and \"max\" is {max}; \"min\" must be below \"max\""
            )));
        }
        let mean_bytes = default.mean_packet.as_u64() as u32;
        let mean_bytes = settings.within("mean_packet_bytes", mean_bytes, &(1..=65_535))?;
        let line = settings.rate();
        Ok(Params {
            limit,
            min,
            max,
            probability: settings.fraction("probability", default.probability)?,
            mean_packet: Bytes::new(u64::from(mean_bytes)),
            burst: settings.within("burst", default.burst, &COUNT)?,
            bandwidth: settings.within("bandwidth", line, &RATE)?,
            ecn: settings.or("ecn", default.ecn)?,
            hard_drop: settings.or("hard_drop", default.hard_drop)?,
            gentle: settings.or("gentle", default.gentle)?,
            adaptive: settings.or("adaptive", default.adaptive)?,
            device: Device::read(settings)?,
        })
    }
}

/// What is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub early_drops: u64,
    pub early_marks: u64,
    pub forced_drops: u64,
    pub forced_marks: u64,
    pub overflow_drops: u64,
}

/// The parameters as the algorithm works with them; averages are shifted left by `weight_log`.
#[derive(Clone, Debug)]
struct Scaled {
    weight_log: u32,
    min: u64,
    max: u64,
    /// From `min` to `max`, in bytes.
    range: u32,
    /// The adaptive target, in bytes.
    target: (u64, u64),
    idle: IdleTable,
}

/// By how many bits the average has decayed after an idle time.
#[derive(Clone, Debug)]
struct IdleTable {
    cell_log: u32,
    shifts: [u8; 256],
}

/// What changes.
#[derive(Clone, Copy, Debug)]
struct State {
    average: u64,
    /// Packets since the last drop or mark; -1 while below the range.
    count: i32,
    /// The random number drawn since, and the bytes times packets that reach it.
    draw: u32,
    threshold: u32,
    /// Probability at `max`, in units of 2^-32.
    max_p: u32,
    /// Probability per byte above `min`, in units of 2^-32.
    slope: u32,
    idle_since: Option<Time>,
}

enum Verdict {
    Pass,
    Early,
    Forced,
}

const ADAPT_EVERY: Delta = Delta::ms(500);
const ONE_PERCENT: u32 = ((1_u64 << 32) / 100) as u32 + 1;

/// A RED queue.
#[derive(Clone, Debug)]
pub struct Red {
    params: Params,
    scaled: Scaled,
    state: State,
    fifo: Fifo,
    ticker: Ticker,
    stats: Stats,
}

impl Scaled {
    fn new(params: &Params) -> Scaled {
        let (min, max) = (params.min.as_u64(), params.max.as_u64());
        let weight_log = weight_log(params);
        let range = max.saturating_sub(min).max(1);
        let fifth = range / 5;
        Scaled {
            weight_log,
            min: min << weight_log,
            max: max << weight_log,
            range: range as u32,
            target: (min + 2 * fifth, min + 3 * fifth),
            idle: IdleTable::new(params, weight_log),
        }
    }
}

/// The largest weight 2^-n with which `burst` packets at once keep the average below `min`
/// (the paper's section 6, as tc solves it).
fn weight_log(params: &Params) -> u32 {
    let burst = f64::from(params.burst);
    let excess = burst + 1.0 - params.min.as_u64() as f64 / params.mean_packet.as_u64() as f64;
    let fits = |log: &u32| {
        let weight = 0.5_f64.powi(*log as i32);
        excess <= (1.0 - (1.0 - weight).powf(burst)) / weight
    };
    (1..32).find(fits).unwrap_or(31)
}

impl IdleTable {
    /// As tc computes it, in its ticks of 64 ns.
    fn new(params: &Params, weight_log: u32) -> IdleTable {
        const TICKS_PER_US: f64 = 15.625;
        let bytes_per_sec = params.bandwidth.as_bps_f64() / 8.0;
        let seconds = params.mean_packet.as_u64() as f64 / bytes_per_sec;
        let packet_time = (seconds * 1e6 * TICKS_PER_US).ceil();
        let decay = -(1.0 - 0.5_f64.powi(weight_log as i32)).ln() / packet_time;
        let longest = 31.0 / decay;
        let cell_log = (0..31)
            .find(|log| longest / f64::from(1_u32 << log) < 512.0)
            .unwrap_or(31);
        let mut shifts = [0; 256];
        for (cell, shift) in shifts.iter_mut().enumerate() {
            *shift = (((cell as u64) << cell_log) as f64 * decay).min(31.0) as u8;
        }
        shifts[255] = 31;
        IdleTable { cell_log, shifts }
    }

    fn decayed(&self, average: u64, idle: Delta) -> u64 {
        let us = idle.as_us().clamp(0, 255 << self.cell_log) as u64;
        match self.shifts[(us >> self.cell_log) as usize & 255] {
            0 => average - ((average * us) >> self.cell_log).min(average - (average >> 1)),
            shift => average >> shift,
        }
    }
}

impl Red {
    pub fn new(params: Params) -> Red {
        let scaled = Scaled::new(&params);
        let max_p = (params.probability.clamp(0.0, 1.0) * f64::from(u32::MAX)) as u32;
        Red {
            state: State {
                average: 0,
                count: -1,
                draw: 0,
                threshold: 0,
                max_p,
                slope: (max_p / scaled.range).max(1),
                idle_since: None,
            },
            scaled,
            fifo: Fifo::default(),
            ticker: Ticker::new(ADAPT_EVERY, ADAPT_EVERY),
            stats: Stats::default(),
            params,
        }
    }

    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// The average queue, in bytes of frames.
    pub fn average(&self) -> Bytes {
        Bytes::new(self.state.average >> self.scaled.weight_log)
    }

    /// The probability at `max`, which the adaptive variant moves.
    #[cfg(test)]
    fn max_probability(&self) -> f64 {
        f64::from(self.state.max_p) / 2_f64.powi(32)
    }

    fn frames(&self) -> u64 {
        self.params.device.frames(self.fifo.backlog())
    }

    fn average_at(&self, now: Time) -> u64 {
        let State {
            average,
            idle_since,
            ..
        } = self.state;
        match idle_since {
            Some(since) => self.scaled.idle.decayed(average, now.since(since)),
            None => average,
        }
    }

    fn adapt(&mut self, tick: Time) {
        let average = self.average_at(tick) >> self.scaled.weight_log;
        let (low, high) = self.scaled.target;
        let state = &mut self.state;
        if average > high && state.max_p <= 50 * ONE_PERCENT {
            state.max_p += ONE_PERCENT.min(state.max_p / 4);
        } else if average < low && state.max_p >= ONE_PERCENT {
            state.max_p = state.max_p / 10 * 9;
        }
        let range = self.scaled.range;
        state.slope = (state.max_p.saturating_add(range / 2) / range).max(1);
    }

    /// The average with this arrival (the paper's Fig. 2), and what is to happen to it.
    fn judge(&mut self, now: Time, rng: &mut Rng) -> Verdict {
        self.state.average = if self.state.idle_since.is_some() {
            self.average_at(now)
        } else {
            let average = self.state.average;
            average - (average >> self.scaled.weight_log) + self.frames()
        };
        self.state.idle_since = None;
        let Scaled { min, max, .. } = self.scaled;
        let average = self.state.average;
        let end = if self.params.gentle { 2 * max } else { max };
        if average < min {
            self.state.count = -1;
            return Verdict::Pass;
        }
        if average >= end {
            self.state.count = -1;
            return Verdict::Forced;
        }
        self.state.count += 1;
        if self.state.count == 0 {
            self.draw(rng);
        } else if self.is_due() {
            self.state.count = 0;
            self.draw(rng);
            return Verdict::Early;
        }
        Verdict::Pass
    }

    fn draw(&mut self, rng: &mut Rng) {
        self.state.draw = rng.u32(..);
        self.state.threshold = self.state.draw / self.state.slope;
    }

    /// Whether the packets since the last drop, times the probability, reach the number drawn:
    /// so drops are spread evenly (the paper's section 4, method 2).
    fn is_due(&self) -> bool {
        let State {
            average,
            count,
            draw,
            threshold,
            max_p,
            ..
        } = self.state;
        let Scaled {
            min,
            max,
            weight_log,
            ..
        } = self.scaled;
        let count = count as u64;
        if average < max {
            return ((average - min) >> weight_log) * count >= u64::from(threshold);
        }
        let rest = u128::from(u32::MAX - max_p) * u128::from(average - max) / u128::from(max);
        (u64::from(max_p) + rest as u64) * count >= u64::from(draw)
    }
}

impl Queue for Red {
    #[inline]
    fn enqueue(&mut self, now: Time, mut packet: Packet, cx: &mut Context<'_>) {
        if self.params.adaptive {
            while let Some(tick) = self.ticker.due(now) {
                self.adapt(tick);
            }
        }
        let (reason, may_mark) = match self.judge(now, cx.rng) {
            Verdict::Pass => (None, false),
            Verdict::Early => (Some(Reason::Early), self.params.ecn),
            Verdict::Forced => (
                Some(Reason::Forced),
                self.params.ecn && !self.params.hard_drop,
            ),
        };
        let stats = &mut self.stats;
        if let Some(reason) = reason {
            let is_early = reason == Reason::Early;
            if !may_mark || !packet.ecn.is_capable() {
                stats.early_drops += u64::from(is_early);
                stats.forced_drops += u64::from(!is_early);
                return cx.dropped(now, packet, reason);
            }
            stats.early_marks += u64::from(is_early);
            stats.forced_marks += u64::from(!is_early);
            cx.mark(now, &mut packet, reason);
        }
        let frame = u64::from(self.params.device.frame(&packet));
        if self.frames() + frame > self.params.limit.as_u64() {
            self.stats.overflow_drops += 1;
            return cx.dropped(now, packet, Reason::Overflow);
        }
        self.fifo.push(now, packet);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, _cx: &mut Context<'_>) -> Option<Packet> {
        let packet = self.fifo.pop()?;
        if self.fifo.packets() == 0 {
            self.state.idle_since = Some(now);
        }
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{bottleneck, paced};

    #[test]
    fn the_weight_is_the_one_that_tc_finds() {
        // The paper's bounds for th_min / mean = 32 packets: bursts of up to 35 need 2^-2, of 76 to
        // 101 need 2^-7, of 136 to 190 need 2^-9.
        let with = |burst| {
            weight_log(&Params {
                min: Bytes::new(32_000),
                burst,
                ..Params::default()
            })
        };
        assert_eq!((with(34), with(100), with(185)), (2, 7, 9));
    }

    #[test]
    fn the_average_follows_arrivals_with_its_weight() {
        let mut red = Red::new(Params::default());
        let weight = 0.5_f64.powi(red.scaled.weight_log as i32);
        let mut want = 0.0;
        let mut rng = Rng::with_seed(1);
        let mut cx = Context {
            rng: &mut rng,
            observer: &mut Vec::new(),
        };
        for (at, packet) in paced(Time::from_ns(0), Delta::us(1), 20, 1_000) {
            want += weight * (red.frames() as f64 - want);
            red.enqueue(at, packet, &mut cx);
        }
        assert!(
            (red.average().as_u64() as f64 - want).abs() <= 1.0,
            "{want}"
        );
    }

    /// 20 % overload, 50,000 packets of 1,000 bytes into 10 Mbit/s; the second half's share of drops and
    /// the average queue at the end.
    fn overload(params: Params) -> (f64, Vec<Reason>, Red) {
        let arrivals = paced(Time::from_ns(0), Delta::ns(666_667), 50_000, 1_000);
        let mut red = Red::new(params);
        let run = bottleneck(&mut red, Rate::mbps(10), arrivals);
        let late = run
            .drops()
            .into_iter()
            .filter(|(handle, _)| *handle >= 25_000);
        let reasons: Vec<Reason> = late.map(|(_, reason)| reason).collect();
        (reasons.len() as f64 / 25_000.0, reasons, red)
    }

    #[test]
    fn gentle_red_holds_an_overload_by_early_drops_alone() {
        let gentle = Params {
            gentle: true,
            ..Params::default()
        };
        let (share, reasons, _) = overload(gentle);
        assert!((share - 1.0 / 6.0).abs() < 0.01, "{share}");
        assert!(reasons.iter().all(|reason| *reason == Reason::Early));
        let (plain_share, plain, _) = overload(Params::default());
        assert!((plain_share - 1.0 / 6.0).abs() < 0.01, "{plain_share}");
        assert!(plain.contains(&Reason::Forced), "2 % are not enough");
    }

    #[test]
    fn adaptive_red_raises_the_probability_until_forced_drops_end() {
        let (_, reasons, red) = overload(Params {
            adaptive: true,
            ..Params::default()
        });
        assert!(red.max_probability() > 0.1, "{}", red.max_probability());
        let (_, last) = reasons.split_at(reasons.len() / 2);
        assert!(last.iter().all(|reason| *reason == Reason::Early));
    }

    #[test]
    fn the_average_decays_while_the_queue_is_idle() {
        let table = Red::new(Params::default()).scaled.idle;
        let decayed = |ms| table.decayed(1 << 30, Delta::ms(ms));
        assert_eq!(decayed(0), 1 << 30);
        assert!(decayed(1) < 1 << 30 && decayed(100) < decayed(1));
        assert_eq!(decayed(100_000), 0);
    }
}
