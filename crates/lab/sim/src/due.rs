//! Items that are all taken before time goes on.

use std::collections::VecDeque;

/// First in, first out. There is rarely more than one.
#[derive(Clone, Debug)]
pub(crate) struct Due<T> {
    first: Option<T>,
    rest: VecDeque<T>,
}

impl<T> Default for Due<T> {
    fn default() -> Due<T> {
        Due {
            first: None,
            rest: VecDeque::new(),
        }
    }
}

impl<T: Copy> Due<T> {
    #[inline]
    pub(crate) fn push(&mut self, item: T) {
        match self.first {
            None => self.first = Some(item),
            Some(_) => self.rest.push_back(item),
        }
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        let first = self.first?;
        self.first = match self.rest.is_empty() {
            true => None,
            false => self.rest.pop_front(),
        };
        Some(first)
    }
}
