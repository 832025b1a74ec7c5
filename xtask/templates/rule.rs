//! NAME: what window it offers, in one line.
//!
//! # References
//! Author, "Title", venue, year, section; RFC; Linux file.
//!
//! # Where we differ
//! 1. What, and why.

use super::{Rule, View, bounds};
use unbloat_params::{Read, Settings};
use unbloat_units::Bytes;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    pub initial: Bytes,
    pub max: Bytes,
}

impl Default for Params {
    /// As in the reference.
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
pub struct TYPE {
    params: Params,
    window: u32,
}

impl TYPE {
    pub fn new(params: Params) -> TYPE {
        TYPE {
            window: params.initial.as_u64() as u32,
            params,
        }
    }
}

impl Rule for TYPE {
    /// Twice what has been read.
    fn on_read(&mut self, view: &View) {
        let wanted = u32::try_from(2 * view.read).unwrap_or(u32::MAX);
        let max = self.params.max.as_u64() as u32;
        self.window = wanted.clamp(self.window, max.max(self.window));
    }

    fn window(&self) -> u32 {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_grows_with_what_is_read_up_to_its_maximum() {
        let params = Params::default();
        let mut rule = TYPE::new(params.clone());
        for (read, window) in [(1_000, params.initial), (100_000, Bytes::new(200_000)), (1 << 40, params.max)] {
            rule.on_read(&View { read, ..View::default() });
            assert_eq!(u64::from(rule.window()), window.as_u64());
        }
    }
}
