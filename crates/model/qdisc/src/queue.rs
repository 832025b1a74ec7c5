//! The one trait that a queue discipline implements.

use crate::event::{Event, Observer, Reason};
use crate::packet::{Ecn, Packet};
use fastrand::Rng;
use unbloat_units::{Bytes, Time};

/// What stands in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    pub packets: u32,
    pub bytes: Bytes,
}

/// What a queue is given besides the packet.
pub struct Context<'a> {
    pub rng: &'a mut Rng,
    pub observer: &'a mut dyn Observer,
}

impl Context<'_> {
    pub fn dropped(&mut self, now: Time, packet: Packet, reason: Reason) {
        self.observer.event(now, Event::Dropped { packet, reason });
    }

    /// Marks the packet, which must be ECN-capable.
    pub fn mark(&mut self, now: Time, packet: &mut Packet, reason: Reason) {
        debug_assert!(
            packet.ecn.is_capable(),
            "only ECN-capable packets are marked"
        );
        packet.ecn = Ecn::Ce;
        let packet = *packet;
        self.observer.event(now, Event::Marked { packet, reason });
    }
}

/// A queue discipline in virtual time.
///
/// `now` never steps back between calls. A discipline that works by timer in its reference catches
/// up with the ticks that fell due at the beginning of each call: nothing changes in a queue
/// between calls, so that is exact.
pub trait Queue {
    /// Takes a packet. If it, or another one in its place, is not kept, the observer is told.
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Context<'_>);

    /// The next packet to send, or none if the queue is empty or its shaper holds it back.
    fn dequeue(&mut self, now: Time, cx: &mut Context<'_>) -> Option<Packet>;

    fn backlog(&self) -> Backlog;

    /// When `dequeue` is worth asking again: at once (`now`) for a queue without a shaper, later
    /// while a shaper holds packets back, never (none) while the queue is empty.
    fn ready_at(&self, now: Time) -> Option<Time> {
        (self.backlog().packets > 0).then_some(now)
    }

    /// Whether it has no place to wait at all, so that a packet passes if the link is free and is lost if not.
    fn is_roomless(&self) -> bool {
        false
    }
}
