//! What the tests of this crate share.

use crate::seam::{Element, Output, Place};
use unbloat_qdisc::discipline::droptail::{self, DropTail};
use unbloat_qdisc::{Event, FlowHash, IpLen, Observer, Packet, Reason};
use unbloat_units::{Bytes, Delta, Time};

pub(crate) fn at_us(us: i64) -> Time {
    Time::from_ns(us * 1_000)
}

pub(crate) fn at_ms(ms: i64) -> Time {
    at_us(ms * 1_000)
}

pub(crate) fn packet(handle: u32, len: u32) -> Packet {
    Packet::new(handle, IpLen::new(len), FlowHash(1))
}

/// Keeps all that an element gives out.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) delivered: Vec<(Time, Packet)>,
    pub(crate) events: Vec<(Time, Event)>,
    pub(crate) waits: Vec<(Place, u32, Delta)>,
}

impl Observer for Log {
    fn event(&mut self, now: Time, event: Event) {
        self.events.push((now, event));
    }
}

impl Output for Log {
    fn deliver(&mut self, at: Time, packet: Packet) {
        self.delivered.push((at, packet));
    }

    fn waited(&mut self, _at: Time, place: Place, packet: &Packet, wait: Delta) {
        self.waits.push((place, packet.handle, wait));
    }
}

impl Log {
    /// When which packet left.
    pub(crate) fn departures(&self) -> Vec<(Time, u32)> {
        let handles = self.delivered.iter();
        handles.map(|(at, packet)| (*at, packet.handle)).collect()
    }

    pub(crate) fn drops(&self) -> Vec<(Time, u32, Reason)> {
        let dropped = self.events.iter().filter_map(|(at, event)| match event {
            Event::Dropped { packet, reason } => Some((*at, packet.handle, *reason)),
            Event::Marked { .. } => None,
        });
        dropped.collect()
    }

    pub(crate) fn waits_at(&self, place: Place) -> Vec<(u32, Delta)> {
        let there = self.waits.iter().filter(|(at, ..)| *at == place);
        there.map(|(_, handle, wait)| (*handle, *wait)).collect()
    }

    /// Packets and bytes that came out or were dropped.
    pub(crate) fn accounted(&self) -> (u64, Bytes) {
        let out = self.delivered.iter().map(|(_, packet)| packet.len.bytes());
        let dropped = self.events.iter().filter_map(|(_, event)| match event {
            Event::Dropped { packet, .. } => Some(packet.len.bytes()),
            Event::Marked { .. } => None,
        });
        let all: Vec<Bytes> = out.chain(dropped).collect();
        (all.len() as u64, all.into_iter().sum())
    }
}

/// Lets a driver work that wakes exactly when it is asked to, until nothing is under way or `until`.
pub(crate) fn run_until(element: &mut impl Element, until: Time, log: &mut Log) {
    while let Some(at) = element.next_at()
        && at <= until
    {
        element.advance(at, log);
        assert!(
            element.next_at().is_none_or(|next| next > at),
            "an element that was advanced to {at:?} has nothing left to do then"
        );
    }
}

/// Offers arrivals in order of time to an element with a driver that wakes when asked to.
pub(crate) fn drive(element: &mut impl Element, arrivals: &[(Time, Packet)], log: &mut Log) {
    for (at, packet) in arrivals {
        run_until(element, *at, log);
        element.accept(*at, *packet, log);
    }
}

/// A drop-tail queue that holds this many packets.
pub(crate) fn droptail(packets: u32) -> DropTail {
    DropTail::new(droptail::Params {
        limit_bytes: None,
        limit_packets: Some(packets),
    })
}
