//! What all flows of a user together carry and have in flight, in the windows of `standing`.

use super::{Carried, index_of};
use unbloat_units::{Both, Direction, Time};
use unbloat_wire::PacketHeader;

/// The last windows of a user, by direction of the data.
#[derive(Clone, Debug, Default)]
pub(crate) struct Load {
    ring: Vec<Slot>,
    in_flight: Both<i64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// The window, counted from one, so that zero is none.
    number: u32,
    bytes: Both<u32>,
    /// Of these, what applications sent.
    payload: Both<u32>,
    in_flight: Both<u32>,
}

impl Load {
    /// Flows ask for a window when their next one begins, which is later than this only for flows
    /// that were silent meanwhile; those have nothing to tell of it.
    const SLOTS: usize = 32;

    #[inline]
    fn slot(&mut self, index: u32) -> &mut Slot {
        if self.ring.is_empty() {
            self.ring.resize(Self::SLOTS, Slot::default());
        }
        let slot = &mut self.ring[index as usize % Self::SLOTS];
        let number = index.saturating_add(1);
        if slot.number < number {
            *slot = Slot {
                number,
                ..Slot::default()
            };
        }
        slot
    }

    #[inline]
    fn known(&self, index: u32) -> Option<&Slot> {
        let slot = self.ring.get(index as usize % Self::SLOTS);
        slot.filter(|slot| slot.number == index.saturating_add(1))
    }

    /// A packet of any flow of the user.
    #[inline]
    pub(crate) fn count(&mut self, side: Direction, header: &PacketHeader, origin: Time) {
        let in_flight = self
            .in_flight
            .map(|n| n.clamp(0, i64::from(u32::MAX)) as u32);
        let slot = self.slot(index_of(header.time, origin));
        slot.bytes[side] = slot.bytes[side].saturating_add(header.wire_len);
        slot.payload[side] = slot.payload[side].saturating_add(header.payload_len);
        for at in Direction::BOTH {
            slot.in_flight[at] = slot.in_flight[at].max(in_flight[at]);
        }
    }

    /// Bytes of a window that were not captured themselves.
    #[inline]
    pub(crate) fn carry(&mut self, index: u32, side: Direction, bytes: u32) {
        let slot = self.slot(index);
        slot.bytes[side] = slot.bytes[side].saturating_add(bytes);
        slot.payload[side] = slot.payload[side].saturating_add(bytes);
    }

    /// A flow has so much more in flight.
    #[inline]
    pub(crate) fn in_flight(&mut self, side: Direction, more: i64) {
        self.in_flight[side] += more;
    }

    /// Nothing of the user's can have made a queue that stands, in the window and the one before: no more was sent
    /// or on its way than a first window (RFC 6928), which an idle path takes at once.
    #[inline]
    pub(crate) fn is_light(&self, index: u32, side: Direction) -> bool {
        const FIRST_WINDOW: u32 = 14_600;
        let of = |window: u32| {
            let slot = self.known(window);
            slot.map_or(0, |slot| slot.in_flight[side].max(slot.payload[side]))
        };
        of(index).max(of(index.saturating_sub(1))) <= FIRST_WINDOW
    }

    /// Adds what is known of the window to a flow's own account of it.
    pub(crate) fn tell(&self, index: u32, both: &mut Both<Carried>) {
        let slot = self.known(index);
        for at in Direction::BOTH {
            let carried = &mut both[at];
            let (bytes, in_flight) = slot.map_or((0, 0), |s| (s.bytes[at], s.in_flight[at]));
            carried.user_bytes = bytes.max(carried.own_bytes);
            carried.user_in_flight = in_flight.max(carried.own_in_flight);
        }
    }
}
