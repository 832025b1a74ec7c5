//! How long packets wait on the line, seen from beside it by the timestamps of TCP (RFC 7323).
//!
//! A packet from the line carries its sender's clock: how much later it comes by that clock than the earliest of its flow did is
//! what it waited on the way here, in that direction alone. And it echoes the clock of a packet that went out: the time
//! since that one passed is a round trip over the line, what is beyond the least one waited in either direction, and without
//! the wait on the way here it is the wait on the way out.
//!
//! # Where we differ
//! Kathleen Nichols' pping takes the same round trips; the one-way part and its subtraction are ours. Clocks are taken to
//! tick each millisecond, as those of Linux, Android, Apple and Windows 11 do; a flow whose clock is seen to do otherwise is left alone.

use crate::flows::Flows;
use crate::pairing::Heard;
use unbloat_stats::WindowedMin;
use unbloat_units::{Both, Delta, Seq, Time};

/// What one packet told. Waits are beyond the least of the flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Reading {
    pub down: Option<Delta>,
    pub up: Option<Delta>,
    /// Least round trip of the flow over the line and on to its other end.
    pub least: Option<Delta>,
}

/// The least delay is that of this long: routes change and clocks drift (50 ppm are half a ms).
const BASE: Delta = Delta::secs(30);
/// A clock is judged once it was watched for this long, by how far it is off.
const JUDGED_AFTER: Delta = Delta::secs(2);
const TOLERATED: f64 = 0.05;

pub(crate) struct Passive {
    flows: Flows<Flow>,
}

struct Flow {
    /// First packet from the line: its time and clock.
    first: Option<(Time, u32)>,
    is_odd: bool,
    one_way: WindowedMin<i64>,
    round_trip: WindowedMin<i64>,
}

impl Passive {
    pub(crate) fn new() -> Passive {
        Passive {
            flows: Flows::default(),
        }
    }

    /// A packet came from the line. A flow that was not heard before begins with the waits of the others, `usual`: the queue does not
    /// start anew for it.
    pub(crate) fn heard(&mut self, now: Time, heard: &Heard, usual: Both<Delta>) -> Reading {
        let flow = self.flows.see(heard.flow, now, Flow::new);
        let down = flow.one_way(now, heard.value, usual.down);
        let trip = heard
            .sent
            .map(|sent| flow.round_trip(now, sent, down, usual));
        Reading {
            down,
            up: trip.map(|trip| trip.wait),
            least: trip.map(|trip| trip.least),
        }
    }
}

/// A round trip over the line.
#[derive(Clone, Copy)]
struct Trip {
    /// On the way out.
    wait: Delta,
    /// The least one of the flow.
    least: Delta,
}

impl Flow {
    fn new() -> Flow {
        Flow {
            first: None,
            is_odd: false,
            one_way: WindowedMin::new(BASE),
            round_trip: WindowedMin::new(BASE),
        }
    }

    fn one_way(&mut self, now: Time, value: u32, usual: Delta) -> Option<Delta> {
        let (began, origin) = *self.first.get_or_insert((now, value));
        let (passed, ticks) = (now.since(began), Seq::new(value).since(Seq::new(origin)));
        let late = passed - Delta::ms(i64::from(ticks));
        if passed > JUDGED_AFTER {
            // An old clock comes with a retransmission or a long wait; an odd one is off for good.
            let off = late.as_secs().abs() / passed.as_secs();
            self.is_odd = off > TOLERATED && late.as_secs().abs() > 5.0;
        }
        if self.is_odd {
            return None;
        }
        if self.one_way.at(now).is_none() {
            self.one_way.push(now, late.as_ns() - usual.as_ns());
        }
        let least = self.one_way.push(now, late.as_ns());
        Some(Delta::ns(late.as_ns() - least))
    }

    fn round_trip(
        &mut self,
        now: Time,
        sent: Time,
        down: Option<Delta>,
        usual: Both<Delta>,
    ) -> Trip {
        let rtt = now.since(sent).as_ns();
        if self.round_trip.at(now).is_none() {
            let waits = usual.down + usual.up;
            self.round_trip.push(now, rtt - waits.as_ns());
        }
        let least = self.round_trip.push(now, rtt);
        let both = Delta::ns(rtt - least);
        let up = (both - down.unwrap_or(usual.down)).max(Delta::ZERO);
        Trip {
            wait: up,
            least: Delta::ns(least.max(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::FLOWS;

    fn at(ms: i64) -> Time {
        Time::from_ns(0) + Delta::ms(ms)
    }

    fn heard(flow: u64, value: i64, sent: Option<i64>) -> Heard {
        Heard {
            flow,
            value: value as u32,
            sent: sent.map(at),
        }
    }

    const NONE: Both<Delta> = Both::new(Delta::ZERO, Delta::ZERO);

    /// A packet every 10 ms that takes 20 ms each way and waits as told, and its echo.
    fn drive(passive: &mut Passive, ms: i64, up: i64, down: i64) -> Reading {
        let (answered, arrives) = (ms + 20 + up, ms + 40 + up + down);
        passive.heard(at(arrives), &heard(1, 90_000 + answered, Some(ms)), NONE)
    }

    #[test]
    fn waits_are_told_apart_by_direction() {
        let mut passive = Passive::new();
        drive(&mut passive, 0, 0, 0);
        let waits = |reading: Reading| (reading.down, reading.up);
        let ms = |down, up| (Some(Delta::ms(down)), Some(Delta::ms(up)));
        assert_eq!(waits(drive(&mut passive, 100, 0, 30)), ms(30, 0));
        assert_eq!(waits(drive(&mut passive, 200, 70, 0)), ms(0, 70));
        assert_eq!(waits(drive(&mut passive, 400, 15, 40)), ms(40, 15));
    }

    #[test]
    fn a_flow_that_begins_while_others_wait_is_not_taken_for_undelayed() {
        let mut passive = Passive::new();
        let usual = Both::new(Delta::ms(80), Delta::ZERO);
        let first = passive.heard(at(100), &heard(7, 50, None), usual);
        assert_eq!(first.down, Some(Delta::ms(80)));
        let later = passive.heard(at(200), &heard(7, 230, None), usual);
        assert_eq!(later.down, Some(Delta::ZERO), "80 ms sooner than the first");
    }

    #[test]
    fn a_clock_that_does_not_tick_each_millisecond_says_nothing() {
        let mut passive = Passive::new();
        let mut last = None;
        for ms in (0..12_000).step_by(10) {
            last = passive.heard(at(ms), &heard(3, ms / 10, None), NONE).down;
        }
        assert_eq!(last, None);
    }

    #[test]
    fn memory_is_bounded_however_many_flows_come() {
        let mut passive = Passive::new();
        for key in 0..10_000 {
            passive.heard(at(key as i64), &heard(key, 1, None), NONE);
        }
        assert_eq!(passive.flows.len(), FLOWS);
    }
}
