//! Dynamic right-sizing as in today's Linux: the window follows what the application reads a round.
//!
//! # References
//! Fisk and Feng, "Dynamic Right-Sizing in TCP", LACSI 2001; Linux 6.12 `tcp_rcv_space_adjust`.
//!
//! # Where we differ
//! 1. Sizes are windows, not buffers with bookkeeping: `max` is what the largest buffer is worth as
//!    window (half of `tcp_rmem[2]` by default).
//! 2. What one packet costs in memory does not change that share over time.

use super::bounds;
use super::{Rule, View};
use unbloat_params::{Read, Settings};
use unbloat_units::Bytes;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    pub initial: Bytes,
    pub max: Bytes,
}

impl Default for Params {
    /// Half of `tcp_rmem`, 131072 and 6291456.
    fn default() -> Params {
        Params {
            initial: Bytes::new(65_536),
            max: Bytes::mib(3),
        }
    }
}

impl<S: Settings> Read<S> for Params {
    fn read(settings: &mut S) -> Result<Params, S::Error> {
        let default = Params::default();
        let (initial, max) = bounds(settings, default.initial, default.max)?;
        Ok(Params { initial, max })
    }
}

#[derive(Clone, Debug)]
pub struct Drs {
    max: u32,
    window: u32,
    /// Bytes read in the best round so far; zero before the first call.
    space: u32,
    since_us: u64,
    since_read: u64,
}

impl Drs {
    pub fn new(params: Params) -> Drs {
        let clamp = |bytes: Bytes| bytes.as_u64().min(1 << 30) as u32;
        Drs {
            max: clamp(params.max),
            window: clamp(params.initial),
            space: 0,
            since_us: 0,
            since_read: 0,
        }
    }

    fn start(&mut self, view: &View) {
        self.since_us = view.now_us;
        self.since_read = view.read;
    }

    fn grow(&mut self, copied: u32, mss: u32) {
        // Twice for losses, and as much more as the sender has grown by, twice.
        let base = 2 * u64::from(copied) + 16 * u64::from(mss);
        let growth = base * u64::from(copied - self.space) / u64::from(self.space);
        let window = (base + 2 * growth).min(u64::from(self.max)) as u32;
        self.window = self.window.max(window);
    }
}

impl Rule for Drs {
    fn on_read(&mut self, view: &View) {
        if self.space == 0 {
            self.space = self.window.min(10 * view.mss);
        }
        let elapsed = view.now_us - self.since_us;
        if elapsed < u64::from(view.rtt_us8 >> 3) || view.rtt_us8 == 0 {
            return;
        }
        let waiting = view.received - view.read;
        let copied = (view.read - self.since_read).saturating_sub(waiting) as u32;
        if copied > self.space {
            self.grow(copied, view.mss);
            self.space = copied;
        }
        self.start(view);
    }

    fn counts_memory(&self) -> bool {
        true
    }

    fn window(&self) -> u32 {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads of 100 kB, then 200 kB, a round of 100 ms each; expected values by hand from
    /// `2 * copied + 16 * mss` and its growth.
    #[test]
    fn the_window_follows_what_is_read_a_round_and_never_shrinks() {
        let mut drs = Drs::new(Params::default());
        let mut view = View {
            now_us: 1_000_000,
            mss: 1_000,
            rtt_us8: 800_000,
            ..View::default()
        };
        drs.on_read(&view);
        let mut read = |rule: &mut Drs, bytes: u64| {
            view.now_us += 100_000;
            view.read += bytes;
            view.received = view.read;
            rule.on_read(&view);
            rule.window()
        };
        // 216000 + 2 * 216000 * 90000 / 10000
        assert_eq!(read(&mut drs, 100_000), 3 * 1024 * 1024);
        assert_eq!(read(&mut drs, 20_000), 3 * 1024 * 1024);
        let mut small = Drs {
            max: 1 << 29,
            space: 100_000,
            window: 65_536,
            ..drs
        };
        // 416000 + 2 * 416000 * 100000 / 100000
        assert_eq!(read(&mut small, 200_000), 1_248_000);
    }
}
