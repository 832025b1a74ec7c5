//! The edge of the receive window as the sender knows it.

use std::collections::VecDeque;
use unbloat_units::{Delta, Seq, Time};

/// Edges that the receiver granted, each known to the sender one monitor-to-sender round trip after
/// its ACK passed: data that the sender sent on knowing it cannot pass any earlier.
///
/// Without that delay a window looks open at the monitor while the sender, which has not heard of
/// the ACK, stands still: at a monitor near the receiver a flow that is always limited would seem
/// never to be.
#[derive(Clone, Debug)]
pub(super) struct KnownEdge {
    known: Option<Seq>,
    /// The edge granted last, and when the first was that is on its way, the end of time if none is:
    /// what nearly every packet asks for, without a look at the queue.
    newest: Option<Seq>,
    next: Time,
    on_its_way: VecDeque<(Time, Seq)>,
}

impl Default for KnownEdge {
    fn default() -> KnownEdge {
        KnownEdge::new(None)
    }
}

impl KnownEdge {
    /// ACKs in one round trip between monitor and sender beyond which they are merged; the sender
    /// is then taken to know of the later one when it hears of the earlier.
    const MAX: usize = 64;

    pub(super) fn new(known: Option<Seq>) -> KnownEdge {
        KnownEdge {
            known,
            newest: known,
            next: Time::MAX,
            on_its_way: VecDeque::new(),
        }
    }

    #[inline]
    pub(super) fn grant(&mut self, now: Time, edge: Seq) {
        if self.newest != Some(edge) {
            self.push(now, edge);
        }
    }

    fn push(&mut self, now: Time, edge: Seq) {
        self.newest = Some(edge);
        let is_crowded = self.on_its_way.len() >= Self::MAX;
        match self.on_its_way.back_mut() {
            Some((_, last)) if is_crowded => *last = edge,
            Some(_) => self.on_its_way.push_back((now, edge)),
            None => {
                self.next = now;
                self.on_its_way.push_back((now, edge));
            }
        }
    }

    /// Lets the sender learn the next edge granted until `now - delay`; gives when it did.
    #[inline]
    pub(super) fn learn(&mut self, now: Time, delay: Delta) -> Option<Time> {
        let known_at = self.next + delay;
        if known_at > now {
            return None;
        }
        self.known = Some(self.on_its_way.pop_front()?.1);
        self.next = self.on_its_way.front().map_or(Time::MAX, |next| next.0);
        Some(known_at)
    }

    /// The sender knows of all that was granted.
    pub(super) fn is_settled(&self) -> bool {
        self.on_its_way.is_empty()
    }

    pub(super) fn known(&self) -> Option<Seq> {
        self.known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sender_learns_one_round_trip_later() {
        let mut edge = KnownEdge::default();
        let at = |ms: i64| Time::from_ns(ms * 1_000_000);
        edge.grant(at(10), Seq::new(100));
        edge.grant(at(11), Seq::new(200));
        assert_eq!(edge.learn(at(29), Delta::ms(20)), None);
        assert_eq!(edge.known(), None);
        assert_eq!(edge.learn(at(35), Delta::ms(20)), Some(at(30)));
        assert_eq!(edge.known(), Some(Seq::new(100)));
        assert_eq!(edge.learn(at(35), Delta::ms(20)), Some(at(31)));
        assert_eq!(edge.learn(at(35), Delta::ms(20)), None);
        assert_eq!(edge.known(), Some(Seq::new(200)));
    }

    #[test]
    fn memory_is_bounded() {
        let mut edge = KnownEdge::default();
        for i in 0..10_000 {
            edge.grant(Time::from_ns(i64::from(i)), Seq::new(i));
        }
        assert_eq!(edge.on_its_way.len(), KnownEdge::MAX);
    }
}
