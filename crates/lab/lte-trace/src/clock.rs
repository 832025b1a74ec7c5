//! Timestamps of hosts: whole milliseconds inside, ticks of their own clocks on the wire.

use crate::plan::Device;
use unbloat_units::{Delta, Seq};

/// A host's timestamp clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    tick_ns: i64,
    phase_ns: i64,
    rate: f64,
}

impl Clock {
    /// None for a device without timestamps.
    pub(crate) fn of(device: &Device) -> Option<Clock> {
        device.tick.map(|tick| Clock {
            tick_ns: tick.as_ns(),
            phase_ns: device.phase.as_ns(),
            rate: 1.0 + device.clock_ppm / 1e6,
        })
    }

    /// A server's: a tick each millisecond.
    pub(crate) fn server(phase: Delta) -> Clock {
        Clock {
            tick_ns: 1_000_000,
            phase_ns: phase.as_ns(),
            rate: 1.0,
        }
    }

    /// What the clock shows at a time that TCP gives in milliseconds. Each such time has one value, so echoes keep theirs.
    pub(crate) fn ticks(&self, ms: Seq) -> u32 {
        let ns = (f64::from(ms.raw()) * 1e6 * self.rate) as i64;
        ((ns + self.phase_ns) / self.tick_ns) as u32
    }

    /// A tick by the monitor's clock, in seconds.
    pub(crate) fn tick_s(&self) -> f64 {
        self.tick_ns as f64 / 1e9 / self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coarse_clock_shows_one_value_for_each_of_its_ticks() {
        let device = Device {
            tick: Some(Delta::ms(10)),
            phase: Delta::ms(5),
            clock_ppm: 0.0,
            window: 0,
        };
        let clock = Clock::of(&device).unwrap();
        let shown = [0, 4, 5, 14, 15, 1_000].map(|ms| clock.ticks(Seq::new(ms)));
        assert_eq!(shown, [0, 0, 1, 1, 2, 100]);
    }
}
