//! Dynamic right-sizing as in Linux 3.0, which the phones of 2011 ran: twice what is read a round.
//!
//! # References
//! Fisk and Feng, LACSI 2001; Linux 3.0 `tcp_rcv_space_adjust`; Jiang et al., IMC 2012, section 5.1.
//!
//! # Where we differ
//! 1. Sizes are windows: `max` is what `tcp_rmem_max` leaves after the kernel's share for bookkeeping
//!    (a quarter with `tcp_adv_win_scale` 2, as Android set it).

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
    /// Of `tcp_rmem` 87380 and 4194304.
    fn default() -> Params {
        Params {
            initial: Bytes::new(65_535),
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
pub struct Drs2012 {
    max: u32,
    window: u32,
    space: u64,
    since_us: u64,
    since_read: u64,
}

impl Drs2012 {
    pub fn new(params: Params) -> Drs2012 {
        let clamp = |bytes: Bytes| bytes.as_u64().min(1 << 30) as u32;
        let max = clamp(params.max);
        Drs2012 {
            max,
            window: clamp(params.initial).min(max),
            space: params.initial.as_u64(),
            since_us: 0,
            since_read: 0,
        }
    }
}

impl Rule for Drs2012 {
    fn on_read(&mut self, view: &View) {
        let is_begun = self.since_us != 0;
        let elapsed = view.now_us - self.since_us;
        if is_begun && (elapsed < u64::from(view.rtt_us8 >> 3) || view.rtt_us8 == 0) {
            return;
        }
        if is_begun {
            let space = 2 * (view.read - self.since_read);
            if space > self.space {
                self.space = space;
                self.window = self.window.max(space.min(u64::from(self.max)) as u32);
            }
        }
        self.since_us = view.now_us;
        self.since_read = view.read;
    }

    fn window(&self) -> u32 {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_twice_the_best_round_and_never_shrinks() {
        let mut drs = Drs2012::new(Params::default());
        let mut view = View {
            now_us: 1_000_000,
            mss: 1_448,
            rtt_us8: 800_000,
            ..View::default()
        };
        drs.on_read(&view);
        for (bytes, window) in [
            (20_000, 65_535),
            (50_000, 100_000),
            (10_000, 100_000),
            (3_000_000, 3 << 20),
        ] {
            view.now_us += 100_000;
            view.read += bytes;
            drs.on_read(&view);
            assert_eq!(drs.window(), window);
        }
    }
}
