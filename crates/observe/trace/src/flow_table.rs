//! Live flows: found by hash, expired by silence.

use crate::expiry::Expiry;
use crate::index::{Index, prefetch};
use crate::slab::Slab;
use unbloat_units::Time;

/// A flow and what the table and the shard need to know of it.
#[derive(Debug)]
pub(crate) struct Entry<F> {
    /// The half of its hash that the index goes by.
    hash_high: u32,
    /// Slot of the user that it belongs to.
    pub(crate) user: u32,
    /// The second in which its turn at the expiry comes.
    scheduled: i64,
    pub(crate) flow: F,
}

#[derive(Debug)]
pub(crate) struct FlowTable<F> {
    index: Index,
    slab: Slab<Entry<F>>,
    expiry: Expiry,
}

/// How many flows ahead of the one that has its turn the memory is asked for.
const AHEAD: usize = 4;

impl<F> FlowTable<F> {
    pub(crate) fn new(origin: Time) -> FlowTable<F> {
        FlowTable {
            index: Index::new(),
            slab: Slab::new(),
            expiry: Expiry::new(origin),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.slab.len()
    }

    #[inline]
    pub(crate) fn prefetch_index(&self, hash: u64) {
        self.index.prefetch(hash);
    }

    /// Asks for the lines of a flow; looking at it here would wait for the first of them.
    #[inline]
    pub(crate) fn prefetch_slot(&self, slot: u32) {
        if let Some(place) = self.slab.place(slot) {
            for line in 0..size_of::<Entry<F>>() / 64 {
                prefetch(place.wrapping_add(line * 64));
            }
        }
    }

    /// The slot of the flow that most likely has this hash; any other where there is none.
    #[inline]
    pub(crate) fn likely(&self, hash: u64) -> u32 {
        self.index.likely(hash)
    }

    /// The slot of the flow of this hash that `is_it`.
    #[inline]
    pub(crate) fn find(&self, hash: u64, mut is_it: impl FnMut(&F) -> bool) -> Option<u32> {
        self.index.find(hash, |slot| {
            self.slab.get(slot).is_some_and(|e| is_it(&e.flow))
        })
    }

    #[inline]
    pub(crate) fn get(&self, slot: u32) -> Option<&Entry<F>> {
        self.slab.get(slot)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut Entry<F>> {
        self.slab.get_mut(slot)
    }

    pub(crate) fn insert(&mut self, hash: u64, user: u32, deadline: Time, flow: F) -> u32 {
        let slot = self.slab.insert(Entry {
            hash_high: (hash >> 32) as u32,
            user,
            scheduled: 0,
            flow,
        });
        self.index.insert(hash, slot);
        self.schedule(slot, deadline);
        slot
    }

    pub(crate) fn schedule(&mut self, slot: u32, deadline: Time) {
        let scheduled = self.expiry.schedule(slot, deadline);
        if let Some(entry) = self.slab.get_mut(slot) {
            entry.scheduled = scheduled;
        }
    }

    /// Forgets a flow.
    pub(crate) fn remove(&mut self, slot: u32) {
        if let Some(entry) = self.slab.get(slot) {
            let hash = u64::from(entry.hash_high) << 32;
            self.index.remove(hash, slot);
            self.slab.remove(slot);
        }
    }

    /// The next flow whose deadline, as `deadline` says, is past at `now`; to be removed by the
    /// caller.
    pub(crate) fn pop_expired(&mut self, now: Time, deadline: impl Fn(&F) -> Time) -> Option<u32> {
        while let Some((slot, second)) = self.expiry.pop_due(now) {
            if let Some(soon) = self.expiry.nth_next(AHEAD) {
                self.prefetch_slot(soon);
            }
            if let Some(due) = self.turn(slot, second, &deadline) {
                if due <= now {
                    return Some(slot);
                }
                self.schedule(slot, due);
            }
        }
        None
    }

    /// The flow that has been silent longest, to the second; to be removed by the caller.
    pub(crate) fn pop_oldest(&mut self, deadline: impl Fn(&F) -> Time) -> Option<u32> {
        while let Some((slot, second)) = self.expiry.pop_next() {
            if let Some(due) = self.turn(slot, second, &deadline) {
                self.schedule(slot, due);
                // Where it waits now is where it waited: no packet has come since.
                if self.slab.get(slot).is_some_and(|e| e.scheduled == second) {
                    return Some(slot);
                }
            }
        }
        None
    }

    fn turn(&self, slot: u32, second: i64, deadline: impl Fn(&F) -> Time) -> Option<Time> {
        let entry = self.slab.get(slot).filter(|e| e.scheduled == second)?;
        Some(deadline(&entry.flow))
    }

    /// All flows and their slots, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Entry<F>)> {
        self.slab
            .slots()
            .filter_map(|slot| Some((slot, self.slab.get(slot)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_units::Delta;

    fn at(s: i64) -> Time {
        Time::default() + Delta::secs(s)
    }

    /// Flows that are nothing but their deadline.
    fn table(deadlines: &[i64]) -> FlowTable<Time> {
        let mut table = FlowTable::new(at(0));
        for (i, &s) in deadlines.iter().enumerate() {
            table.insert(i as u64, 0, at(s), at(s));
        }
        table
    }

    fn take(table: &mut FlowTable<Time>, slot: Option<u32>) -> Option<Time> {
        let flow = table.get_mut(slot?)?.flow;
        table.remove(slot?);
        Some(flow)
    }

    fn end(table: &mut FlowTable<Time>, now: Time) -> Option<Time> {
        let slot = table.pop_expired(now, |f| *f);
        take(table, slot)
    }

    #[test]
    fn a_flow_that_lived_on_is_put_off() {
        let mut table = table(&[5, 7]);
        let slot = table.find(0, |_| true).unwrap();
        table.get_mut(slot).unwrap().flow = at(60);
        assert_eq!(end(&mut table, at(30)), Some(at(7)));
        assert_eq!(end(&mut table, at(30)), None);
        assert_eq!(end(&mut table, at(62)), Some(at(60)));
    }

    #[test]
    fn when_room_is_needed_the_longest_silent_goes_first() {
        let mut table = table(&[50, 70, 60]);
        let slot = table.find(0, |_| true).unwrap();
        table.get_mut(slot).unwrap().flow = at(90);
        let order: Vec<Time> = std::iter::from_fn(|| {
            let oldest = table.pop_oldest(|f| *f);
            take(&mut table, oldest)
        })
        .collect();
        assert_eq!(order, [at(60), at(70), at(90)]);
    }

    #[test]
    fn a_slot_with_a_new_tenant_does_not_inherit_the_old_deadline() {
        let mut table = table(&[5]);
        let slot = table.find(0, |_| true).unwrap();
        table.remove(slot);
        table.insert(9, 0, at(100), at(100));
        assert_eq!(end(&mut table, at(50)), None);
        assert_eq!(table.len(), 1);
    }
}
