//! The one trait that a path element implements, and where its packets go.

use unbloat_qdisc::{Backlog, Observer, Packet};
use unbloat_units::{Delta, Time, named};

named! {
    /// Where a packet waited.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Place with ALL {
        /// The send buffer of the socket: T_S, until the transport sends.
        Socket = "socket",
        /// The queue in front of a bottleneck.
        Queue = "queue",
        /// The queue discipline of the sending device: T_Q of Guo et al., IMC 2016.
        Qdisc = "qdisc",
        /// The driver's ring: T_D.
        Driver = "driver",
        /// The modem's buffer, until the last byte is on the air: T_F.
        Firmware = "firmware",
        /// On the air and in the receiver's reordering, until it is released in order.
        Radio = "radio",
        /// In front of a radio that was asleep.
        Sleep = "sleep",
    }
}

/// Receives what an element gives out: packets, drops, marks and waits.
pub trait Output: Observer {
    /// The packet leaves at `at`. Times never step back from one call to the next.
    fn deliver(&mut self, at: Time, packet: Packet);

    /// The packet left a place of waiting at `at`, after `wait`.
    #[inline]
    fn waited(&mut self, at: Time, place: Place, packet: &Packet, wait: Delta) {
        let _ = (at, place, packet, wait);
    }

    /// The packet left a place of the first of several hops; `waited` tells the sum over all hops later.
    #[inline]
    fn waited_first(&mut self, at: Time, place: Place, packet: &Packet, wait: Delta) {
        let _ = (at, place, packet, wait);
    }

    /// The packet came to a hop of a route, from 0, at `at`: what a router there sees of it.
    #[inline]
    fn came_to(&mut self, at: Time, hop: usize, packet: &Packet) {
        let _ = (at, hop, packet);
    }

    /// A link that is fed ([`crate::Path::feed`]) has sent a packet at `at`, and has no other: who stands in front of it may hand over
    /// the next one. It then follows the one before without a gap.
    #[inline]
    fn next(&mut self, at: Time) -> Option<Packet> {
        let _ = at;
        None
    }

    /// Whether the way of the packet ends in front of a hop of a route, from 0, because its time to live is over. It is then delivered.
    #[inline]
    fn ends_before(&mut self, hop: usize, packet: &Packet) -> bool {
        let _ = (hop, packet);
        false
    }
}

/// A piece of path, one way, in virtual time.
///
/// * `now` never steps back between calls.
/// * An element does first what fell due at or before `now`: at equal times a departure precedes
///   an arrival, whoever looks and when.
/// * Elements with randomness own their generator, so their draws do not depend on how calls to
///   different elements interleave.
///
/// Together these make every packet's fate a function of arrivals, parameters and seed alone:
/// calling late, or only for every tenth packet, changes nothing.
pub trait Element {
    /// Takes a packet that arrives at `now`.
    fn accept(&mut self, now: Time, packet: Packet, out: &mut impl Output);

    /// When `advance` must be called next for packets to leave in time; never (none) while nothing is
    /// under way.
    fn next_at(&self) -> Option<Time>;

    /// Does what is due at or before `now`.
    fn advance(&mut self, now: Time, out: &mut impl Output);

    /// The least time between a packet's arrival and its departure.
    fn latency(&self) -> Delta {
        Delta::ZERO
    }

    /// Whether it is seen otherwise than through the packets that leave: it shares state with an
    /// element on another path, or a sender counts what it holds. A path brings such an element up to
    /// date when something is due in it, not when a packet may leave the path.
    fn is_watched(&self) -> bool {
        false
    }

    /// The packet that leaves after so many others, where that is known: a hint what will be needed soon.
    fn coming(&self, after: usize) -> Option<&Packet> {
        let _ = after;
        None
    }

    /// What is inside, in a queue or under way.
    fn backlog(&self) -> Backlog;

    /// Tells what stands at each place of waiting; what is on its way between them is at none.
    fn each_layer(&self, tell: &mut dyn FnMut(Place, Backlog)) {
        let _ = tell;
    }
}
