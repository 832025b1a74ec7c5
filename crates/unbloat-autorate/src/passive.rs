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

use std::collections::{BTreeMap, VecDeque};
use unbloat_stats::WindowedMin;
use unbloat_units::{Delta, Seq, Time};
use unbloat_wire::{PacketFlags, PacketHeader, protocol};

/// What the header of a TCP packet says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamps {
    /// TSval.
    pub value: u32,
    /// TSecr; 0 for none.
    pub echo: u32,
    pub ack: u32,
    pub payload: u32,
}

impl Stamps {
    /// None: no TCP, or without timestamps.
    pub fn of(header: &PacketHeader) -> Option<Stamps> {
        let has = header.protocol == protocol::TCP && header.flags.has(PacketFlags::TIMESTAMPS);
        has.then(|| Stamps {
            value: header.tsval.raw(),
            echo: header.tsecr.raw(),
            ack: header.ack.raw(),
            payload: header.payload_len,
        })
    }
}

/// What one packet told. Waits are beyond the least of the flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Reading {
    pub down: Option<Delta>,
    pub up: Option<Delta>,
    /// Least round trip of the flow over the line and on to its other end.
    pub least: Option<Delta>,
    /// When the packet left that is answered now, if none that left later was answered before.
    pub answers: Option<Time>,
    /// Payload bytes sent up that the other end has now.
    pub acked: u32,
}

/// The least delay is that of this long: routes change and clocks drift (50 ppm are half a ms).
const BASE: Delta = Delta::secs(30);
/// Flows beyond these are not looked at; the one that was silent for longest gives way.
const FLOWS: usize = 4_096;
/// Clock values of a flow that were sent and not yet echoed.
const SENT: usize = 512;
/// A clock is judged once it was watched for this long, by how far it is off.
const JUDGED_AFTER: Delta = Delta::secs(2);
const TOLERATED: f64 = 0.05;

pub(crate) struct Passive {
    flows: BTreeMap<u64, Flow>,
}

struct Flow {
    seen: Time,
    /// First packet from the line: its time and clock.
    first: Option<(Time, u32)>,
    is_odd: bool,
    one_way: WindowedMin<i64>,
    round_trip: WindowedMin<i64>,
    sent: VecDeque<(Time, Seq)>,
    echoed: Option<Seq>,
    acked: Option<Seq>,
    /// What this end acknowledged.
    taken: Option<Seq>,
}

impl Passive {
    pub(crate) fn new() -> Passive {
        Passive {
            flows: BTreeMap::new(),
        }
    }

    fn flow(&mut self, key: u64, now: Time) -> &mut Flow {
        if !self.flows.contains_key(&key) && self.flows.len() >= FLOWS {
            let oldest = self.flows.iter().min_by_key(|(_, flow)| flow.seen);
            if let Some(silent) = oldest.map(|(other, _)| *other) {
                self.flows.remove(&silent);
            }
        }
        let flow = self.flows.entry(key).or_insert_with(Flow::new);
        flow.seen = now;
        flow
    }

    /// A packet leaves for the line. How many payload bytes it acknowledges, which calls for as many.
    pub(crate) fn outgoing(&mut self, now: Time, key: u64, stamps: &Stamps) -> u32 {
        let flow = self.flow(key, now);
        let value = Seq::new(stamps.value);
        if flow.sent.back().is_none_or(|(_, last)| value.after(*last)) {
            if flow.sent.len() == SENT {
                flow.sent.pop_front();
            }
            flow.sent.push_back((now, value));
        }
        advance(&mut flow.taken, stamps.ack)
    }

    /// A packet comes from the line. A flow that was not seen before begins with the waits of the others, `usual`: the queue does not
    /// start anew for it.
    pub(crate) fn incoming(
        &mut self,
        now: Time,
        key: u64,
        stamps: &Stamps,
        usual: [Delta; 2],
    ) -> Reading {
        let flow = self.flow(key, now);
        let down = flow.one_way(now, stamps.value, usual[0]);
        let trip = flow.round_trip(now, stamps.echo, down, usual);
        Reading {
            down,
            up: trip.map(|trip| trip.wait),
            least: trip.map(|trip| trip.least),
            answers: trip.map(|trip| trip.sent),
            acked: advance(&mut flow.acked, stamps.ack),
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
    /// When what is answered left.
    sent: Time,
}

impl Flow {
    fn new() -> Flow {
        Flow {
            seen: Time::MIN,
            first: None,
            is_odd: false,
            one_way: WindowedMin::new(BASE),
            round_trip: WindowedMin::new(BASE),
            sent: VecDeque::new(),
            echoed: None,
            acked: None,
            taken: None,
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
        echo: u32,
        down: Option<Delta>,
        usual: [Delta; 2],
    ) -> Option<Trip> {
        let echo = Seq::new(echo);
        if echo.raw() == 0 || self.echoed.is_some_and(|last| !echo.after(last)) {
            return None;
        }
        while self
            .sent
            .front()
            .is_some_and(|(_, value)| value.before(echo))
        {
            self.sent.pop_front();
        }
        let (sent, _) = *self.sent.front().filter(|(_, value)| *value == echo)?;
        self.echoed = Some(echo);
        let rtt = now.since(sent).as_ns();
        if self.round_trip.at(now).is_none() {
            let waits = usual[0] + usual[1];
            self.round_trip.push(now, rtt - waits.as_ns());
        }
        let least = self.round_trip.push(now, rtt);
        let both = Delta::ns(rtt - least);
        let up = (both - down.unwrap_or(usual[0])).max(Delta::ZERO);
        Some(Trip {
            wait: up,
            least: Delta::ns(least.max(0)),
            sent,
        })
    }
}

/// Takes an acknowledgement in: how much more it acknowledges.
fn advance(known: &mut Option<Seq>, ack: u32) -> u32 {
    const IMPLAUSIBLE: i32 = 1 << 24;
    let ack = Seq::new(ack);
    let last = known.unwrap_or(ack);
    let more = ack.since(last);
    *known = Some(ack.later(last));
    if (0..IMPLAUSIBLE).contains(&more) {
        more as u32
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Time {
        Time::from_ns(0) + Delta::ms(ms)
    }

    fn stamps(value: i64, echo: i64) -> Stamps {
        Stamps {
            value: value as u32,
            echo: echo as u32,
            ack: 0,
            payload: 1_448,
        }
    }

    const NONE: [Delta; 2] = [Delta::ZERO; 2];

    /// A packet every 10 ms that takes 20 ms each way and waits as told, and its echo.
    fn drive(passive: &mut Passive, ms: i64, up: i64, down: i64) -> Reading {
        passive.outgoing(at(ms), 1, &stamps(5_000 + ms, 0));
        let (answered, arrives) = (ms + 20 + up, ms + 40 + up + down);
        passive.incoming(at(arrives), 1, &stamps(90_000 + answered, 5_000 + ms), NONE)
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
        let usual = [Delta::ms(80), Delta::ZERO];
        let first = passive.incoming(at(100), 7, &stamps(50, 0), usual);
        assert_eq!(first.down, Some(Delta::ms(80)));
        let later = passive.incoming(at(200), 7, &stamps(230, 0), usual);
        assert_eq!(later.down, Some(Delta::ZERO), "80 ms sooner than the first");
    }

    #[test]
    fn a_clock_that_does_not_tick_each_millisecond_says_nothing() {
        let mut passive = Passive::new();
        let mut last = None;
        for ms in (0..12_000).step_by(10) {
            last = passive.incoming(at(ms), 3, &stamps(ms / 10, 0), NONE).down;
        }
        assert_eq!(last, None);
    }

    #[test]
    fn what_is_acknowledged_is_counted_once_over_the_wrap() {
        let mut passive = Passive::new();
        let mut acked = |ms, ack| {
            let stamps = Stamps {
                ack,
                ..stamps(ms, 0)
            };
            passive.incoming(at(ms), 1, &stamps, NONE).acked
        };
        assert_eq!(acked(0, u32::MAX - 999), 0);
        assert_eq!(acked(1, 500), 1_500);
        assert_eq!(acked(2, 0), 0, "an old one");
        assert_eq!(acked(3, 700), 200);
    }

    #[test]
    fn memory_is_bounded_however_many_flows_come() {
        let mut passive = Passive::new();
        for key in 0..10_000 {
            passive.outgoing(at(key as i64), key, &stamps(1, 0));
        }
        assert_eq!(passive.flows.len(), FLOWS);
    }
}
