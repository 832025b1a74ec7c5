//! Values at stable numbers, in chunks, so that growing never moves or doubles them.

/// A slab; freed numbers are used again, last freed first.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    /// Of a fixed length, so that nobody has to look how long one is.
    chunks: Vec<Box<[Option<T>; CHUNK]>>,
    free: Vec<u32>,
    /// The first slot that was never used.
    fresh: usize,
    len: usize,
}

const CHUNK: usize = 512;

impl<T> Slab<T> {
    pub(crate) fn new() -> Slab<T> {
        Slab {
            chunks: Vec::new(),
            free: Vec::new(),
            fresh: 0,
            len: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn insert(&mut self, value: T) -> u32 {
        self.len += 1;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.fresh += 1;
            (self.fresh - 1) as u32
        });
        let at = slot as usize / CHUNK;
        if at == self.chunks.len() {
            self.chunks.push(empty_chunk());
        }
        self.chunks[at][slot as usize % CHUNK] = Some(value);
        slot
    }

    pub(crate) fn remove(&mut self, slot: u32) -> Option<T> {
        let chunk = self.chunks.get_mut(slot as usize / CHUNK)?;
        let value = chunk[slot as usize % CHUNK].take()?;
        self.free.push(slot);
        self.len -= 1;
        Some(value)
    }

    #[inline]
    pub(crate) fn get(&self, slot: u32) -> Option<&T> {
        let chunk = self.chunks.get(slot as usize / CHUNK)?;
        chunk[slot as usize % CHUNK].as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut T> {
        let chunk = self.chunks.get_mut(slot as usize / CHUNK)?;
        chunk[slot as usize % CHUNK].as_mut()
    }

    /// Where the value of a slot lies, without looking whether there is one: for prefetching.
    #[inline]
    pub(crate) fn place(&self, slot: u32) -> Option<*const u8> {
        let chunk = self.chunks.get(slot as usize / CHUNK)?;
        Some(std::ptr::from_ref(&chunk[slot as usize % CHUNK]).cast())
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = u32> {
        let slots = self.chunks.iter().flat_map(|chunk| chunk.iter());
        let slots = slots.enumerate();
        slots
            .filter(|(_, value)| value.is_some())
            .map(|(slot, _)| slot as u32)
    }
}

fn empty_chunk<T>() -> Box<[Option<T>; CHUNK]> {
    let slots: Box<[Option<T>]> = std::iter::repeat_with(|| None).take(CHUNK).collect();
    let Ok(chunk) = slots.try_into() else {
        unreachable!("so many were made");
    };
    chunk
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_and_freed_ones_are_used_again() {
        let mut slab = Slab::new();
        let slots: Vec<u32> = (0..2000).map(|i| slab.insert(i)).collect();
        assert_eq!(slab.remove(slots[7]), Some(7));
        assert_eq!(slab.get(slots[7]), None);
        assert_eq!(slab.remove(slots[7]), None);
        assert_eq!(slab.insert(9999), slots[7]);
        assert_eq!((slab.len(), slab.get(slots[1999])), (2000, Some(&1999)));
    }
}
