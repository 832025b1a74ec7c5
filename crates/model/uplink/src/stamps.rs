//! Echoes from the TCP headers that pass a device: when segments came, by the clock of whoever they came to (RFC 7323).
//!
//! An acknowledgement carries its sender's clock. One that covers more than a full segment was sent as soon as that came (RFC 9293
//! section 3.8.6.3); any other may have waited for a timer, and says nothing.
//!
//! # Limits
//! 1. Clocks are taken to tick each millisecond, as those of Linux, Android, Apple and Windows 11 do; a flow whose clock is seen to do
//!    otherwise is left alone.
//! 2. After a loss the segments behind the hole are acknowledged late, and seem to have waited.

use crate::echo::{Echo, Echoes};
use crate::valve::Occupancy;
use std::collections::{BTreeMap, VecDeque};
use unbloat_units::{Bytes, Delta, Seq, Time};

/// More than these are not listened to; the one that was silent for longest gives way.
const FLOWS: usize = 256;
/// Ends of segments under way that are kept of a flow.
const ENDS: usize = 16_384;
/// More than one segment of Ethernet.
const AT_ONCE: u64 = 1_500;
/// A flow that was not heard for so long leaves the word to others.
const SILENT: Delta = Delta::ms(200);
/// A clock is judged after this, by how far it is off: the next usual ones tick each 4 and 10 ms.
const JUDGED_AFTER: Delta = Delta::secs(1);
const TOLERATED: f64 = 0.5;

/// All flows of a device. What was noted first speaks: a flow that began while the modem was full never saw it empty, and takes what it
/// holds for the way.
#[derive(Clone, Debug, Default)]
pub struct Listener {
    /// Bytes that have left, of all packets.
    total: Bytes,
    flows: BTreeMap<u64, Flow>,
    begun: u64,
}

#[derive(Clone, Debug)]
struct Flow {
    /// Its turn among all flows.
    number: u64,
    seen: Time,
    heard: Option<Time>,
    /// The last byte that was sent for the first time, and its place in the stream.
    highest: Seq,
    sent: u64,
    acked: u64,
    ends: VecDeque<u64>,
    echoes: Echoes,
    clock: Option<Clock>,
}

/// A far end's clock, from its first word on.
#[derive(Clone, Copy, Debug)]
struct Clock {
    first: Time,
    value: u32,
    ticks: i64,
}

impl Listener {
    /// A packet has left the discipline, whatever it is.
    pub fn left(&mut self, bytes: Bytes) {
        self.total += bytes;
    }

    /// The packet that left last was a segment with data, up to `end`.
    pub fn sent(&mut self, now: Time, flow: u64, end: Seq) {
        if !self.flows.contains_key(&flow) && self.flows.len() >= FLOWS {
            let oldest = self.flows.iter().min_by_key(|(_, other)| other.seen);
            if let Some(key) = oldest.map(|(key, _)| *key) {
                self.flows.remove(&key);
            }
        }
        let begun = &mut self.begun;
        let noted = self.flows.entry(flow).or_insert_with(|| {
            *begun += 1;
            Flow::new(*begun, now, end)
        });
        noted.sent(now, end, self.total);
    }

    /// An acknowledgement has come, with its sender's clock.
    pub fn heard(&mut self, now: Time, flow: u64, ack: Seq, clock: u32) -> Option<Occupancy> {
        let acked = self.flows.get_mut(&flow)?;
        let occupancy = acked.heard(now, ack, clock)?;
        let number = acked.number;
        let speaks = |other: &&Flow| other.heard.is_some_and(|heard| now - heard <= SILENT);
        let first = self.flows.values().filter(speaks).map(|other| other.number);
        (first.min() == Some(number)).then_some(occupancy)
    }
}

impl Flow {
    fn new(number: u64, now: Time, end: Seq) -> Flow {
        Flow {
            number,
            seen: now,
            heard: None,
            highest: end,
            // Below it are acknowledgements of what was sent before.
            sent: 1 << 32,
            acked: 1 << 32,
            ends: VecDeque::new(),
            echoes: Echoes::default(),
            clock: None,
        }
    }

    fn sent(&mut self, now: Time, end: Seq, total: Bytes) {
        self.seen = now;
        let more = i64::from(end.since(self.highest));
        // What is sent again came when it was lost, for all that we know.
        if more <= 0 || self.ends.len() == ENDS {
            return;
        }
        self.sent += more as u64;
        self.highest = end;
        self.ends.push_back(self.sent);
        self.echoes.sent(self.sent, now, total);
    }

    fn heard(&mut self, now: Time, ack: Seq, value: u32) -> Option<Occupancy> {
        let acked = self
            .sent
            .saturating_add_signed(ack.since(self.highest).into())
            .min(self.sent);
        let more = acked.checked_sub(self.acked).filter(|more| *more > 0)?;
        self.acked = acked;
        let mut last = None;
        while let Some(end) = self.ends.front().filter(|end| **end <= acked) {
            last = Some(*end);
            self.ends.pop_front();
        }
        let clock = self.clock.get_or_insert(Clock {
            first: now,
            value,
            ticks: 0,
        });
        let came = clock.tell(now, value)?;
        let number = last.filter(|_| more > AT_ONCE)?;
        self.heard = Some(now);
        self.echoes.heard(Echo { number, came })
    }
}

impl Clock {
    /// None where it does not tick each millisecond.
    fn tell(&mut self, now: Time, value: u32) -> Option<Time> {
        self.ticks += i64::from(value.wrapping_sub(self.value).cast_signed());
        self.value = value;
        let (by_it, by_us) = (Delta::ms(self.ticks), now - self.first);
        let off = (by_it - by_us).as_secs().abs();
        let is_odd = by_us >= JUDGED_AFTER && off > TOLERATED * by_us.as_secs();
        (!is_odd).then_some(self.first + by_it)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: i64) -> Time {
        Time::from_ns(0) + Delta::ms(ms)
    }

    fn seq(bytes: u32) -> Seq {
        // Wraps on the way.
        Seq::new(u32::MAX - 2_000) + bytes
    }

    /// Ten flights of two segments, one each 10 ms, that wait for `waits` on the way; answers take 20 ms, or 80 for odd ones.
    fn flights(
        listener: &mut Listener,
        flow: u64,
        waits: i64,
        tick: i64,
    ) -> Vec<Option<Occupancy>> {
        let mut heard = Vec::new();
        for flight in 0..10u32 {
            let left = i64::from(flight) * 10;
            for half in 1..=2 {
                listener.left(Bytes::new(1_500));
                listener.sent(at_ms(left), flow, seq(flight * 2_896 + half * 1_448));
            }
            let came = left + 20 + if flight == 0 { 0 } else { waits };
            let back = 20 + 60 * i64::from(flight % 2);
            let clock = (7_000 + came / tick) as u32;
            let ack = seq((flight + 1) * 2_896);
            heard.push(listener.heard(at_ms(came + back), flow, ack, clock));
        }
        heard
    }

    #[test]
    fn what_waited_is_told_by_the_far_clock_whatever_the_way_back_takes() {
        let mut listener = Listener::default();
        // The first segment of a flow is its beginning.
        listener.sent(at_ms(0), 1, seq(0));
        let heard = flights(&mut listener, 1, 30, 1);
        let drained = |at: i64, total: u64, waited: i64| {
            Some(Occupancy::Drained {
                at: at_ms(at),
                total: Bytes::new(total),
                waited: Delta::ms(waited),
            })
        };
        assert_eq!(heard[0], drained(0, 3_000, 0));
        assert_eq!(heard[1], drained(40, 6_000, 30));
        assert_eq!(heard[9], drained(120, 30_000, 30));
    }

    #[test]
    fn a_single_segment_an_old_answer_and_an_unknown_flow_say_nothing() {
        let mut listener = Listener::default();
        listener.sent(at_ms(0), 1, seq(0));
        listener.sent(at_ms(0), 1, seq(1_448));
        assert_eq!(listener.heard(at_ms(40), 1, seq(1_448), 5), None);
        listener.sent(at_ms(50), 1, seq(5_000));
        assert_eq!(listener.heard(at_ms(80), 1, seq(1_448), 45), None);
        assert_eq!(listener.heard(at_ms(80), 2, seq(5_000), 45), None);
        assert!(listener.heard(at_ms(90), 1, seq(5_000), 50).is_some());
    }

    #[test]
    fn the_flow_that_began_first_speaks_until_it_is_silent() {
        let mut listener = Listener::default();
        listener.sent(at_ms(0), 1, seq(0));
        listener.sent(at_ms(0), 2, seq(0));
        assert!(flights(&mut listener, 1, 0, 1).iter().all(Option::is_some));
        let heard = flights(&mut listener, 2, 0, 1);
        assert!(heard.iter().all(Option::is_none), "{heard:?}");
        listener.sent(at_ms(500), 2, seq(40_000));
        assert!(listener.heard(at_ms(550), 2, seq(40_000), 7_530).is_some());
    }

    #[test]
    fn a_clock_that_ticks_each_ten_milliseconds_is_found_out() {
        let mut listener = Listener::default();
        listener.sent(at_ms(0), 1, seq(0));
        let mut told = Vec::new();
        for flight in 1..=20u32 {
            let left = i64::from(flight) * 100;
            listener.sent(at_ms(left), 1, seq(flight * 2_896));
            let heard = listener.heard(at_ms(left + 40), 1, seq(flight * 2_896), flight * 10);
            told.push(heard.is_some());
        }
        assert!(told[..10].iter().all(|told| *told));
        assert!(told[10..].iter().all(|told| !*told), "{told:?}");
    }

    #[test]
    fn flows_without_end_are_forgotten() {
        let mut listener = Listener::default();
        for flow in 0..10_000 {
            listener.sent(at_ms(flow as i64), flow, seq(1_448));
        }
        assert_eq!(listener.flows.len(), FLOWS);
    }
}
