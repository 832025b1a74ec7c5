//! How many of a user's flows download at once (§4.1, Fig. 6).
//!
//! The paper samples points in time and counts the flows that had downlink data within the last
//! second. We sample at the end of every second of the trace in which at least one flow had.

use crate::flow::FlowCore;
use unbloat_units::Time;

#[derive(Debug, Default)]
pub(crate) struct Concurrency {
    /// The second of the trace that is being counted, and the flows with data in it.
    second: u32,
    flows: u32,
    /// Seconds with 1, 2, 3, ... flows; the last place stands for all above.
    seconds: Vec<u32>,
}

/// More flows at once than this are counted as this many.
const MOST: usize = 64;

impl Concurrency {
    /// Takes in a packet with downlink payload.
    #[inline]
    pub(crate) fn on_data(&mut self, flow: &mut FlowCore, now: Time, origin: Time) {
        let second = (now.since(origin).as_ns().max(0) / 1_000_000_000) as u32;
        if flow.counted_second == second {
            return;
        }
        flow.counted_second = second;
        if second != self.second {
            self.sample();
            self.second = second;
        }
        self.flows += 1;
    }

    fn sample(&mut self) {
        let flows = std::mem::take(&mut self.flows) as usize;
        if flows > 0 {
            let at = flows.min(MOST) - 1;
            if self.seconds.len() <= at {
                self.seconds.resize(at + 1, 0);
            }
            self.seconds[at] += 1;
        }
    }

    /// Numbers of flows that occurred, each with its seconds.
    pub(crate) fn finish(&mut self) -> impl Iterator<Item = (u64, u64)> {
        self.sample();
        let counts = self.seconds.iter().enumerate().filter(|(_, n)| **n > 0);
        counts.map(|(at, &n)| (at as u64 + 1, u64::from(n)))
    }
}
