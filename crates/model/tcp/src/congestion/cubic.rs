//! CUBIC: the window follows a cubic curve of the time since the last congestion.
//!
//! # References
//! RFC 9438; Linux 6.12 `net/ipv4/tcp_cubic.c`, whose integer arithmetic is followed step by step:
//! C = 0.4, beta = 717/1024 (0.7), time in 1/1024 s.
//!
//! # Where we differ
//! 1. From RFC 9438, as Linux: the target may be 1.5 times the window, growth is recalculated at most
//!    once a tick, the curve begins a least round-trip time ahead, and before the first loss the
//!    window grows by at least 5 % a round.
//! 2. From Linux: the threshold is never set at the start (`initial_ssthresh`).

use super::PART;
use super::slow_start::{Detector, SlowStart};
use super::{AckSample, Congestion, CwndEvent, Flow, State};
use unbloat_params::params;

/// Fixed point of beta and of C.
const SCALE: u32 = 1_024;
/// Time of the curve is in 2^-10 s.
const TIME_SHIFT: u32 = 10;

params! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Params: Settings {
        /// Window after congestion, in 1/1024 of the one before.
        pub beta: u32 = 717 => within(PART);
        /// C in 1/1024 segments per s^3, times ten for the round-trip time of 100 ms it is scaled to.
        pub scale: u32 = 41 => within(1..=1_000);
        /// Flows that had to stop short of their last maximum release some of it.
        pub fast_convergence: bool = true;
        /// Grow at least as Reno would.
        pub reno_friendly: bool = true;
        /// HyStart as in Linux; RFC 9438 recommends HyStart++.
        pub slow_start: SlowStart = SlowStart::HyStart;
    }
}

#[derive(Clone, Debug)]
pub struct Cubic {
    params: Params,
    slow_start: Detector,
    min_rtt_us: u32,
    curve: Curve,
}

/// State of growth; forgotten at a timeout.
#[derive(Clone, Debug, Default)]
struct Curve {
    /// Deliveries for one segment more.
    count: u32,
    w_max: u32,
    last_cwnd: u32,
    last_time: u32,
    /// Where the curve is flat, and when it gets there.
    origin: u32,
    k: u32,
    /// When the epoch began, in ticks; none while it has not.
    epoch: Option<u32>,
    delivered: u32,
    /// The window that Reno would have.
    reno_cwnd: u32,
}

impl Cubic {
    pub fn new(params: Params) -> Cubic {
        Cubic {
            slow_start: Detector::new(params.slow_start),
            params,
            min_rtt_us: 0,
            curve: Curve::default(),
        }
    }

    fn forget(&mut self, flow: &Flow) {
        self.curve = Curve::default();
        self.min_rtt_us = 0;
        self.slow_start.reset(flow);
    }

    fn rtt_scale(&self) -> u64 {
        u64::from(self.params.scale) * 10
    }

    fn begin_epoch(&mut self, cwnd: u32, acked: u32, now: u32) {
        let (rtt_scale, curve) = (self.rtt_scale(), &mut self.curve);
        curve.epoch = Some(now);
        curve.delivered = acked;
        curve.reno_cwnd = cwnd;
        if curve.w_max <= cwnd {
            curve.k = 0;
            curve.origin = cwnd;
        } else {
            let factor = (1u64 << (10 + 3 * TIME_SHIFT)) / rtt_scale;
            curve.k = cubic_root(factor * u64::from(curve.w_max - cwnd));
            curve.origin = curve.w_max;
        }
    }

    /// Decides how many deliveries one segment more takes.
    fn update(&mut self, flow: &Flow, acked: u32) {
        let (cwnd, now) = (flow.cwnd, flow.jiffies());
        self.curve.delivered = self.curve.delivered.wrapping_add(acked);
        let since = now.wrapping_sub(self.curve.last_time);
        if self.curve.last_cwnd == cwnd && since as i32 <= (flow.hz / 32) as i32 {
            return;
        }
        if self.curve.epoch.is_none() || since != 0 {
            self.curve.last_cwnd = cwnd;
            self.curve.last_time = now;
            if self.curve.epoch.is_none() {
                self.begin_epoch(cwnd, acked, now);
            }
            self.curve.count = self.count_on_curve(flow, now);
        }
        if self.params.reno_friendly {
            self.keep_up_with_reno(cwnd);
        }
        self.curve.count = self.curve.count.max(2);
    }

    fn count_on_curve(&self, flow: &Flow, now: u32) -> u32 {
        let curve = &self.curve;
        let elapsed = now.wrapping_sub(curve.epoch.unwrap_or(now)) as i32;
        let ahead = flow.ticks(self.min_rtt_us);
        let ticks = (i64::from(elapsed) + i64::from(ahead)) as u64;
        let t = (ticks << TIME_SHIFT) / u64::from(flow.hz);
        let k = u64::from(curve.k);
        let offset = t.abs_diff(k);
        let cubed = offset.wrapping_mul(offset).wrapping_mul(offset);
        let delta = (self.rtt_scale().wrapping_mul(cubed) >> (10 + 3 * TIME_SHIFT)) as u32;
        let target = if t < k {
            curve.origin.wrapping_sub(delta)
        } else {
            curve.origin.wrapping_add(delta)
        };
        let count = match target.checked_sub(flow.cwnd) {
            None | Some(0) => 100 * flow.cwnd,
            Some(gap) => flow.cwnd / gap,
        };
        // Nothing is known of the path before the first loss.
        if curve.w_max == 0 {
            count.min(20)
        } else {
            count
        }
    }

    fn keep_up_with_reno(&mut self, cwnd: u32) {
        let beta = self.params.beta;
        let scale = 8 * (SCALE + beta) / 3 / (SCALE - beta);
        let per_segment = (cwnd * scale) >> 3;
        let curve = &mut self.curve;
        if per_segment > 0 && curve.delivered > per_segment {
            // As many whole steps as leave something over.
            let steps = (curve.delivered - 1) / per_segment;
            curve.delivered -= steps * per_segment;
            curve.reno_cwnd += steps;
        }
        if curve.reno_cwnd > cwnd {
            curve.count = curve.count.min(cwnd / (curve.reno_cwnd - cwnd));
        }
    }
}

impl Congestion for Cubic {
    fn init(&mut self, flow: &mut Flow) {
        self.slow_start.reset(flow);
    }

    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        self.curve.epoch = None;
        let (cwnd, beta) = (flow.cwnd, self.params.beta);
        self.curve.w_max = if cwnd < self.curve.w_max && self.params.fast_convergence {
            cwnd * (SCALE + beta) / (2 * SCALE)
        } else {
            cwnd
        };
        (cwnd * beta / SCALE).max(2)
    }

    fn avoid(&mut self, flow: &mut Flow, acked: u32) {
        if !flow.is_limited_by_cwnd() {
            return;
        }
        let mut left = acked;
        if flow.is_in_slow_start() {
            left = self.slow_start.grow(flow, acked);
            if left == 0 {
                return;
            }
        }
        self.update(flow, left);
        flow.additive_increase(self.curve.count, left);
    }

    fn set_state(&mut self, flow: &mut Flow, state: State) {
        if state == State::Loss {
            self.forget(flow);
        }
    }

    /// Idle time does not count: the curve goes on where it stood.
    fn on_event(&mut self, flow: &mut Flow, event: CwndEvent) {
        if event == CwndEvent::TxStart {
            let now = flow.jiffies();
            let idle = now.wrapping_sub(flow.last_sent) as i32;
            if let Some(epoch) = self.curve.epoch.as_mut().filter(|_| idle > 0) {
                *epoch = epoch.wrapping_add(idle as u32);
                if (epoch.wrapping_sub(now) as i32) > 0 {
                    *epoch = now;
                }
            }
        }
    }

    fn acked(&mut self, flow: &mut Flow, sample: &AckSample) {
        let Some(rtt_us) = sample.rtt_us else {
            return;
        };
        // Delay right after recovery is not typical.
        let now = flow.jiffies();
        let is_fresh = |epoch| (now.wrapping_sub(epoch) as i32) < flow.hz as i32;
        if self.curve.epoch.is_some_and(is_fresh) {
            return;
        }
        let rtt_us = rtt_us.max(1);
        if self.min_rtt_us == 0 || self.min_rtt_us > rtt_us {
            self.min_rtt_us = rtt_us;
        }
        self.slow_start.acked(flow, rtt_us, self.min_rtt_us);
    }
}

/// Cube roots of 0 to 63, in 1/64: `cbrt(n << 18) - 1`, adjusted so that one Newton step suffices.
const ROOTS: [u8; 64] = [
    0, 54, 54, 54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156, 157, 161, 164, 168,
    170, 173, 176, 179, 181, 185, 187, 190, 192, 194, 197, 199, 200, 202, 204, 206, 209, 211, 213,
    215, 217, 219, 221, 222, 224, 225, 227, 229, 231, 232, 234, 236, 237, 239, 240, 242, 244, 245,
    246, 248, 250, 251, 252, 254,
];

/// Cube root, within 0.2 % on average, as the kernel takes it.
pub(super) fn cubic_root(a: u64) -> u32 {
    let bits = 64 - a.leading_zeros();
    if bits < 7 {
        return (u32::from(ROOTS[a as usize]) + 35) >> 6;
    }
    let thirds = ((bits * 84) >> 8) - 1;
    let leading = (a >> (thirds * 3)) as usize;
    let guess = ((u32::from(ROOTS[leading]) + 10) << thirds) >> 6;
    let newton = 2 * guess + (a / (u64::from(guess) * u64::from(guess - 1))) as u32;
    ((u64::from(newton) * 341) >> 10) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cube_roots_are_within_a_percent_from_small_to_large() {
        for n in [100u64, 1_000, 50_000, 1 << 20] {
            let root = f64::from(cubic_root(n * n * n));
            let error = (root - n as f64).abs() / n as f64;
            assert!(error < 0.01, "{n}: {root}");
        }
    }
}
