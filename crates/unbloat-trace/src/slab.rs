//! Values at stable numbers, in chunks, so that growing never moves or doubles them.

/// A slab; freed numbers are used again, last freed first.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    chunks: Vec<Vec<Option<T>>>,
    free: Vec<u32>,
    len: usize,
}

const CHUNK: usize = 512;

impl<T> Slab<T> {
    pub(crate) fn new() -> Slab<T> {
        Slab {
            chunks: Vec::new(),
            free: Vec::new(),
            len: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn insert(&mut self, value: T) -> u32 {
        self.len += 1;
        if let Some(slot) = self.free.pop() {
            self.chunks[slot as usize / CHUNK][slot as usize % CHUNK] = Some(value);
            return slot;
        }
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let at = self.chunks.len() - 1;
        let chunk = &mut self.chunks[at];
        chunk.push(Some(value));
        (at * CHUNK + chunk.len() - 1) as u32
    }

    pub(crate) fn remove(&mut self, slot: u32) -> Option<T> {
        let value = self
            .chunks
            .get_mut(slot as usize / CHUNK)?
            .get_mut(slot as usize % CHUNK)?
            .take()?;
        self.free.push(slot);
        self.len -= 1;
        Some(value)
    }

    #[inline]
    pub(crate) fn get(&self, slot: u32) -> Option<&T> {
        self.chunks
            .get(slot as usize / CHUNK)?
            .get(slot as usize % CHUNK)?
            .as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut T> {
        self.chunks
            .get_mut(slot as usize / CHUNK)?
            .get_mut(slot as usize % CHUNK)?
            .as_mut()
    }

    /// Where the value of a slot lies, without looking whether there is one: for prefetching.
    #[inline]
    pub(crate) fn place(&self, slot: u32) -> Option<*const u8> {
        let chunk = self.chunks.get(slot as usize / CHUNK)?;
        Some(
            chunk
                .get(slot as usize % CHUNK)
                .map(std::ptr::from_ref)?
                .cast(),
        )
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = u32> {
        let slots = self.chunks.iter().flatten().enumerate();
        slots
            .filter(|(_, value)| value.is_some())
            .map(|(slot, _)| slot as u32)
    }
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
