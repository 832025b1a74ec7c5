//! The largest of many, in bounded memory.

/// Keeps the `limit` entries with the largest keys; of equal keys the one with the smaller id.
#[derive(Clone, Debug)]
pub(crate) struct Leaders<T> {
    limit: usize,
    /// Boxed, because many are moved when one comes in between.
    entries: Vec<(f64, u64, Box<T>)>,
}

impl<T> Leaders<T> {
    pub(crate) fn new(limit: usize) -> Leaders<T> {
        Leaders {
            limit,
            entries: Vec::new(),
        }
    }

    /// Adds an entry; `make` is called only if the key is among the largest so far.
    pub(crate) fn offer(&mut self, key: f64, id: u64, make: impl FnOnce() -> T) {
        let before = |(k, i, _): &(f64, u64, Box<T>)| *k > key || (*k == key && *i < id);
        let is_full = self.entries.len() == self.limit;
        if is_full && self.entries.last().is_some_and(before) {
            return;
        }
        let at = self.entries.partition_point(before);
        if at < self.limit {
            self.entries.truncate(self.limit - 1);
            self.entries.insert(at, (key, id, Box::new(make())));
        }
    }

    /// Largest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().map(|(_, _, entry)| &**entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_stay_in_order_whatever_came_first() {
        let keys = [3.0, 9.0, 1.0, 9.0, 5.0, 7.0];
        for turn in 0..keys.len() {
            let mut leaders = Leaders::new(3);
            for i in 0..keys.len() {
                let id = (i + turn) % keys.len();
                leaders.offer(keys[id], id as u64, || id);
            }
            assert_eq!(leaders.iter().copied().collect::<Vec<_>>(), [1, 3, 5]);
        }
    }
}
