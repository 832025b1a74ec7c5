//! What all flows of a user together carry and have in flight, in the windows of `standing`.

use super::{Carried, index_of, make_room};
use unbloat_units::{Both, Direction, Time};
use unbloat_wire::PacketHeader;

/// The last windows of a user, by direction of the data.
#[derive(Clone, Debug, Default)]
pub(crate) struct Load {
    /// The newest window, which nearly every packet asks for; most addresses of a flood or a scan have no other.
    now: Slot,
    /// Places of the ring that windows before it are at, a bit each, and what is at them, in their order.
    used: u32,
    past: Vec<Slot>,
    in_flight: Both<i64>,
    /// Whether the window before the newest was light, once somebody asked and until an older window changes.
    is_before_light: Option<Both<bool>>,
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

impl Slot {
    /// No more was sent or on its way than a first window (RFC 6928), which an idle path takes at once.
    #[inline]
    fn is_light(&self) -> Both<bool> {
        const FIRST_WINDOW: u32 = 14_600;
        Both::of(|side| self.in_flight[side].max(self.payload[side]) <= FIRST_WINDOW)
    }

    fn of(number: u32) -> Slot {
        Slot {
            number,
            ..Slot::default()
        }
    }

    fn is_at_place_of(&self, number: u32) -> bool {
        self.number % Load::SLOTS == number % Load::SLOTS
    }
}

impl Load {
    /// Flows ask for a window when their next one begins, which is later than this only for flows
    /// that were silent meanwhile; those have nothing to tell of it.
    const SLOTS: u32 = u32::BITS;

    #[inline]
    fn slot(&mut self, index: u32) -> &mut Slot {
        let number = index.saturating_add(1);
        if self.now.number != number {
            return self.other_slot(number);
        }
        &mut self.now
    }

    /// That of a window that begins, or of an older one.
    #[cold]
    fn other_slot(&mut self, number: u32) -> &mut Slot {
        self.is_before_light = None;
        if number > self.now.number {
            let before = std::mem::replace(&mut self.now, Slot::of(number));
            if before.number > 0 {
                *self.past_slot(before.number) = before;
            }
            return &mut self.now;
        }
        if self.now.is_at_place_of(number) {
            return &mut self.now;
        }
        let slot = self.past_slot(number);
        if slot.number < number {
            *slot = Slot::of(number);
        }
        slot
    }

    /// The bit of a window's place in the ring, and how many places before it are in use.
    fn place(&self, number: u32) -> (u32, usize) {
        let bit = 1 << (number % Self::SLOTS);
        (bit, (self.used & (bit - 1)).count_ones() as usize)
    }

    /// What is at the place of a window.
    fn past_slot(&mut self, number: u32) -> &mut Slot {
        let (bit, at) = self.place(number);
        if self.used & bit == 0 {
            self.used |= bit;
            make_room(&mut self.past);
            self.past.insert(at, Slot::default());
        }
        &mut self.past[at]
    }

    #[inline]
    fn known(&self, index: u32) -> Option<&Slot> {
        let number = index.saturating_add(1);
        if self.now.number == number {
            return Some(&self.now);
        }
        let (bit, at) = self.place(number);
        let slot = self.past.get(at).filter(|_| self.used & bit != 0)?;
        (slot.number == number && !self.now.is_at_place_of(number)).then_some(slot)
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

    /// Nothing of the user's can have made a queue that stands, in the window and the one before: both were light.
    #[inline]
    pub(crate) fn is_light(&mut self, index: u32) -> Both<bool> {
        let is_now = self.now.number == index.saturating_add(1);
        let before = match self.is_before_light {
            Some(before) if is_now => before,
            _ => self.look_before(index, is_now),
        };
        let now = self.is_known_light(index);
        Both::of(|side| now[side] && before[side])
    }

    #[cold]
    fn look_before(&mut self, index: u32, is_now: bool) -> Both<bool> {
        let before = self.is_known_light(index.saturating_sub(1));
        if is_now {
            self.is_before_light = Some(before);
        }
        before
    }

    #[inline]
    fn is_known_light(&self, index: u32) -> Both<bool> {
        let known = self.known(index);
        known.map_or(Both::new(true, true), Slot::is_light)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring of as many windows, all of its places made at once.
    #[derive(Default)]
    struct Whole([Option<(u32, u32)>; Load::SLOTS as usize]);

    impl Whole {
        fn carry(&mut self, index: u32, bytes: u32) {
            let place = &mut self.0[(index % Load::SLOTS) as usize];
            match place {
                Some((known, sum)) if *known >= index => *sum += bytes,
                _ => *place = Some((index, bytes)),
            }
        }

        fn known(&self, index: u32) -> Option<u32> {
            let place = self.0[(index % Load::SLOTS) as usize];
            place
                .filter(|&(known, _)| known == index)
                .map(|(_, sum)| sum)
        }
    }

    #[test]
    fn windows_are_those_of_a_whole_ring() {
        let mut random = 7_u64;
        let mut below = move |bound: u32| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            ((random >> 33) % u64::from(bound)) as u32
        };
        for most in [1, 3, 40, 200] {
            let (mut load, mut whole, mut now) = (Load::default(), Whole::default(), 0);
            for _ in 0..2_000 {
                now += below(most);
                let late = match below(4) {
                    0 => below(80),
                    _ => 0,
                };
                let index = now.saturating_sub(late);
                load.carry(index, Direction::Down, 100);
                whole.carry(index, 100);
                for asked in now.saturating_sub(70)..=now {
                    let known = load.known(asked).map(|slot| slot.bytes.down);
                    assert_eq!(known, whole.known(asked), "window {asked} of {now}");
                }
            }
        }
    }

    #[test]
    fn an_address_of_one_window_needs_no_more_memory() {
        let mut load = Load::default();
        load.carry(9, Direction::Up, 60);
        assert_eq!(load.past.capacity(), 0);
    }
}
