//! How much of a delay is the path's and no queue's.
//!
//! Flows know their least delay of the last 30 s. A path that has become longer meanwhile looks like a queue until then: a satellite hands
//! over, a route changes, a radio goes to sleep between packets. Load tells them apart: a queue that nobody feeds is gone.
//! So is a radio's jitter: it is there without load, too.

use unbloat_params::defaults;
use unbloat_stats::WindowedMin;
use unbloat_units::{Delta, Time};

/// A delay that little traffic meets for so long is the path's: several keystrokes have met it.
const LIGHT: Delta = Delta::secs(1);
/// A delay stands as long as it grows by no more than this share, or this much.
const BAND: f64 = 0.1;
const BAND_LEAST: Delta = Delta::ms(5);
/// The jitter is the 95th percentile of the delays without load: it rises by 19 steps at a delay above it and falls by one at any other.
/// With this step it is learnt from keystrokes within ten seconds, and hardly changed by the first packets of a download.
const STEP: Delta = Delta::us(50);
/// The jitter is at most this. Longer delays without a load of ours may be the queue of another host.
const MOST_JITTER: Delta = Delta::ms(100);
/// Load is gone if no more than this share of it is left.
const LEFT: f64 = 0.7;

defaults! {
    /// Of one direction.
    #[derive(Clone, Debug)]
    pub(crate) struct Floor {
        longer: Delta = Delta::ZERO;
        /// Jitter above `longer`, measured without load. Under load nearly every packet is late by all of it: packets keep their order, so a late
        /// packet delays those behind it.
        jitter: Delta = Delta::ZERO;
        /// Delays of the last [`LIGHT`], and since when traffic has been light.
        delays: WindowedMin<Delta> = WindowedMin::new(LIGHT);
        light_since: Option<Time> = None;
        standing: Option<Standing> = None;
    }
}

/// A delay that may be a queue's.
#[derive(Clone, Copy, Debug)]
struct Standing {
    first: Delta,
    least: Delta,
    /// The most that was delivered meanwhile, in bit/s.
    carried: f64,
    /// How long the line would have been idle since if it delivered that always, in seconds.
    idle: f64,
}

impl Floor {
    /// By how much the path is longer than flows know, its jitter included.
    pub(crate) fn longer(&self) -> Delta {
        self.longer + self.jitter
    }

    /// A delay beyond [`Floor::longer`], and whether too little is under way to make it. What of it is not the path's.
    ///
    /// The jitter is a running quantile: Ma et al., "Frugal Streaming for Estimating Quantiles", 2013, with steps by the quantile instead of by chance.
    pub(crate) fn see(&mut self, now: Time, wait: Delta, is_light: bool) -> Delta {
        let delay = self.longer() + wait;
        let least = self.delays.push(now, delay);
        self.longer = self.longer.min(delay);
        if !is_light {
            self.light_since = None;
        } else if now.since(*self.light_since.get_or_insert(now)) > LIGHT {
            self.longer = self.longer.max(least);
            let step = match delay > self.longer() {
                true => STEP * 19,
                false => STEP * -1,
            };
            self.jitter = (self.jitter + step).clamp(Delta::ZERO, MOST_JITTER);
        }
        (delay - self.longer()).max(Delta::ZERO)
    }

    /// Nothing waits.
    pub(crate) fn is_met(&mut self) {
        self.standing = None;
    }

    /// Packets wait, beyond [`Floor::longer`]. What the line delivered before, once it is clear that they do not: their queue would be gone by
    /// now.
    pub(crate) fn stands(&mut self, wait: Delta, carried: f64, passed: f64) -> Option<f64> {
        let new = Standing {
            first: wait,
            least: wait,
            carried,
            idle: 0.0,
        };
        let known = self.standing.unwrap_or(new);
        let band = Delta::from_secs_f64(known.first.as_secs() * BAND).max(BAND_LEAST);
        if wait - known.first > band {
            self.standing = Some(new);
            return None;
        }
        let least = known.least.min(wait);
        let best = known.carried.max(carried);
        let idle = known.idle + passed * (1.0 - carried / best.max(1.0));
        self.standing = Some(Standing {
            least,
            carried: best,
            idle,
            ..known
        });
        (carried < best * LEFT && idle > least.as_secs()).then(|| {
            self.longer += least;
            self.standing = None;
            best
        })
    }
}
