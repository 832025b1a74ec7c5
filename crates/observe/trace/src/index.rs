//! Where in a slab the flow of a hash lives.
//!
//! Open addressing with the hash kept beside the slot number, because the packets of many flows
//! interleave and every look-up misses the cache: callers can ask for a line before they need it,
//! which no general table offers. Hashes are keyed per run, so nobody outside can pile up
//! collisions.

/// Hash to slot. Several entries may share a hash; the caller tells them apart.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    /// High half of the hash, which also says where the entry belongs, then slot + 1; 0 is free.
    /// So neither growing nor removing has to look at a flow.
    entries: Box<[u64]>,
    len: usize,
}

const FREE: u64 = 0;

impl Index {
    pub(crate) fn new() -> Index {
        Index {
            entries: vec![FREE; 1 << 10].into(),
            len: 0,
        }
    }

    /// Where the entry of `hash`, or the entry itself, belongs.
    fn home(&self, hash: u64) -> usize {
        (hash >> 32) as usize & (self.entries.len() - 1)
    }

    /// The slot that `hash` most likely has, without looking at the flow; some number that is no
    /// slot where nothing has its tag nearby.
    #[inline]
    pub(crate) fn likely(&self, hash: u64) -> u32 {
        let mask = self.entries.len() - 1;
        let mut at = self.home(hash);
        loop {
            let entry = self.entries[at & mask];
            // A free place is no slot either: one less than 0 is more than there are.
            if entry >> 32 == hash >> 32 || entry == FREE {
                return (entry as u32).wrapping_sub(1);
            }
            at += 1;
        }
    }

    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        prefetch(std::ptr::from_ref(&self.entries[self.home(hash)]).cast());
    }

    #[inline]
    pub(crate) fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let tag = hash >> 32;
        let mask = self.entries.len() - 1;
        let mut at = self.home(hash);
        loop {
            let entry = self.entries[at];
            if entry == FREE {
                return None;
            }
            if entry >> 32 == tag && is_it(entry as u32 - 1) {
                return Some(entry as u32 - 1);
            }
            at = (at + 1) & mask;
        }
    }

    pub(crate) fn insert(&mut self, hash: u64, slot: u32) {
        // Half full at most: a look-up then rarely has to step on from where it begins.
        if self.len * 2 >= self.entries.len() {
            self.grow();
        }
        self.place((hash >> 32 << 32) | u64::from(slot + 1));
        self.len += 1;
    }

    fn place(&mut self, entry: u64) {
        let mask = self.entries.len() - 1;
        let mut at = self.home(entry);
        while self.entries[at] != FREE {
            at = (at + 1) & mask;
        }
        self.entries[at] = entry;
    }

    fn grow(&mut self) {
        let doubled = vec![FREE; self.entries.len() * 2].into();
        let old = std::mem::replace(&mut self.entries, doubled);
        old.iter()
            .filter(|&&e| e != FREE)
            .for_each(|&entry| self.place(entry));
    }

    /// Removes the entry of `slot`, and closes the hole so that every probe still finds its way.
    pub(crate) fn remove(&mut self, hash: u64, slot: u32) {
        let mask = self.entries.len() - 1;
        let mut hole = self.home(hash);
        while self.entries[hole] as u32 != slot + 1 {
            debug_assert!(self.entries[hole] != FREE, "the slot is in the table");
            hole = (hole + 1) & mask;
        }
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let entry = self.entries[at];
            if entry == FREE {
                break;
            }
            let home = self.home(entry);
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(hole) & mask {
                self.entries[hole] = entry;
                hole = at;
            }
        }
        self.entries[hole] = FREE;
        self.len -= 1;
    }
}

/// Asks the processor to fetch the line at `place`; does nothing where there is no such request.
#[inline]
pub(crate) fn prefetch(place: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no effect but on caches, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hashes that collide on purpose: few places, equal tags.
    fn hash_of(slot: u32) -> u64 {
        u64::from(slot % 7) << 32 | u64::from(slot % 3)
    }

    #[test]
    fn what_was_put_in_is_found_until_it_is_taken_out() {
        let mut index = Index::new();
        for slot in 0..3000 {
            index.insert(hash_of(slot), slot);
        }
        for slot in (0..3000).step_by(2) {
            index.remove(hash_of(slot), slot);
        }
        for slot in 0..3000 {
            let found = index.find(hash_of(slot), |s| s == slot);
            assert_eq!(found, (slot % 2 == 1).then_some(slot));
        }
        assert_eq!(index.len, 1500);
    }
}
