//! How many of a user's flows download at once (§4.1, Fig. 6).
//!
//! The paper samples points in time and counts the TCP flows that had downlink data within the last
//! second. We sample at the end of every second of the trace in which at least one flow had.

use crate::flow::FlowCore;
use unbloat_params::defaults;
use unbloat_units::{Delta, Time};

defaults! {
    #[derive(Clone, Debug)]
    pub(crate) struct Concurrency {
        /// The second of the trace that is being counted, and the flows with data in it.
        second: u32 = 0;
        /// When it is over: to divide each packet's time would cost more than all else here.
        ends: Time = Time::MIN;
        flows: u32 = 0;
        /// Seconds with one flow, all that most users have.
        alone: u32 = 0;
        more: Option<Box<Vec<u32>>> = None;
    }
}

/// More flows at once than this are counted as this many.
const MOST: usize = 64;

impl Concurrency {
    /// Takes in a packet with downlink payload.
    #[inline]
    pub(crate) fn on_data(&mut self, flow: &mut FlowCore, now: Time, origin: Time) {
        // Captures merged from several interfaces step back in time now and then.
        let second = if now < self.ends {
            self.second
        } else {
            let second = (now.since(origin).as_ns().max(0) / 1_000_000_000) as u32;
            second.max(self.second)
        };
        if flow.counted_second == second {
            return;
        }
        flow.counted_second = second;
        if second != self.second {
            self.sample();
            self.second = second;
        }
        self.ends = origin + Delta::secs(i64::from(second) + 1);
        self.flows += 1;
    }

    fn sample(&mut self) {
        match std::mem::take(&mut self.flows) as usize {
            0 => {}
            1 => self.alone += 1,
            flows => {
                let at = flows.min(MOST) - 2;
                let more = self.more.get_or_insert_default();
                if more.len() <= at {
                    more.resize(at + 1, 0);
                }
                more[at] += 1;
            }
        }
    }

    /// Numbers of flows that occurred, each with its seconds.
    pub(crate) fn finish(&mut self) -> impl Iterator<Item = (u64, u64)> {
        self.sample();
        let more = self.more.iter().flat_map(|more| more.iter());
        let counts = std::iter::once(&self.alone).chain(more);
        let numbered = (1..).zip(counts.map(|&n| u64::from(n)));
        numbered.filter(|(_, n)| *n > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::orientation::Evidence;
    use unbloat_wire::PacketHeader;

    /// Samples of a user whose flows have downlink data at these times in seconds.
    fn sampled(data: &[(f64, usize)]) -> Vec<(u64, u64)> {
        let header = PacketHeader::default();
        let mut flows = vec![FlowCore::new(&header, 0, 0, Evidence::Port); 100];
        let mut concurrency = Concurrency::default();
        for &(s, flow) in data {
            let now = Time::default() + Delta::from_secs_f64(s);
            concurrency.on_data(&mut flows[flow], now, Time::default());
        }
        concurrency.finish().collect()
    }

    #[test]
    fn flows_with_data_in_the_same_second_are_concurrent() {
        let data = [(0.1, 0), (0.2, 1), (0.9, 0), (1.1, 1), (7.5, 2), (7.6, 0)];
        assert_eq!(sampled(&data), [(1, 1), (2, 2)]);
    }

    #[test]
    fn seconds_without_data_are_not_sampled() {
        assert_eq!(sampled(&[]), []);
        assert_eq!(sampled(&[(3.0, 0), (99.0, 0)]), [(1, 2)]);
    }

    #[test]
    fn a_step_back_in_time_begins_no_new_sample() {
        assert_eq!(sampled(&[(4.001, 0), (3.999, 1), (4.002, 0)]), [(2, 1)]);
    }

    #[test]
    fn more_flows_than_are_told_apart_count_as_the_most() {
        let data: Vec<(f64, usize)> = (0..100).map(|flow| (0.5, flow)).collect();
        assert_eq!(sampled(&data), [(MOST as u64, 1)]);
    }
}
