//! A short list of numbers that takes 16 bytes where it is held while it holds no more than three.
//!
//! There are two such lists for each of millions of flows, most of which have few samples or none.

use smallvec::SmallVec;
use std::ops::Deref;

#[derive(Clone, Debug)]
pub(crate) enum Values {
    Few {
        len: u8,
        values: [f32; FEW],
    },
    /// One allocation for up to ten, which is what a flow of twenty packets has.
    More(Box<SmallVec<[f32; 10]>>),
}

const FEW: usize = 3;

impl Default for Values {
    fn default() -> Values {
        Values::Few {
            len: 0,
            values: [0.0; FEW],
        }
    }
}

impl Values {
    #[inline]
    pub(crate) fn push(&mut self, value: f32) {
        match self {
            Values::Few { len, values } if usize::from(*len) < FEW => {
                values[usize::from(*len)] = value;
                *len += 1;
            }
            Values::Few { values, .. } => {
                let mut more = Box::new(SmallVec::new());
                more.extend_from_slice(values);
                more.push(value);
                *self = Values::More(more);
            }
            Values::More(values) => values.push(value),
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Values::Few { .. } => 0,
            Values::More(values) if values.spilled() => {
                size_of_val(values.as_ref()) + values.capacity() * size_of::<f32>()
            }
            Values::More(values) => size_of_val(values.as_ref()),
        }
    }
}

impl Deref for Values {
    type Target = [f32];

    #[inline]
    fn deref(&self) -> &[f32] {
        match self {
            Values::Few { len, values } => &values[..usize::from(*len)],
            Values::More(values) => values,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_in_their_order_however_many() {
        let mut values = Values::default();
        for n in 0..64 {
            assert_eq!(values.len(), n);
            values.push(n as f32);
        }
        assert!(values.iter().enumerate().all(|(n, &v)| v == n as f32));
    }

    #[test]
    fn three_values_take_16_bytes_and_ten_one_allocation() {
        assert_eq!(size_of::<Values>(), 16);
        let mut values = Values::default();
        (0..3).for_each(|_| values.push(1.0));
        assert_eq!(values.heap_bytes(), 0);
        (3..10).for_each(|_| values.push(1.0));
        assert_eq!(values.heap_bytes(), 48);
    }
}
