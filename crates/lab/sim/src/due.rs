//! Items that are all taken before time goes on.

/// First in, first out, in memory that is used again once all are out.
#[derive(Clone, Debug)]
pub(crate) struct Due<T> {
    items: Vec<T>,
    taken: usize,
}

impl<T> Default for Due<T> {
    fn default() -> Due<T> {
        Due {
            items: Vec::new(),
            taken: 0,
        }
    }
}

impl<T: Copy> Due<T> {
    #[inline]
    pub(crate) fn push(&mut self, item: T) {
        self.items.push(item);
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        let first = *self.items.get(self.taken)?;
        self.taken += 1;
        if self.taken == self.items.len() {
            self.items.clear();
            self.taken = 0;
        }
        Some(first)
    }
}
