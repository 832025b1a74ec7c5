//! Values of one column, some of them unknown.
//!
//! Most columns of most rows are unknown: a flow of ten packets has no bandwidth. So an unknown
//! value costs nothing; room is made for it when a known one follows. How many rows there are is
//! known to the table alone.

use crate::bytes::{Reader, put_u32};

/// A list of values of which some are unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values<T> {
    /// Up to the last known value; meaningless where it is not known.
    values: Vec<T>,
    known: Known,
}

/// A list of texts of which some are unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Texts {
    bytes: String,
    /// Where each text ends, up to the last known one; an unknown one is empty.
    ends: Vec<u32>,
    known: Known,
}

/// Which rows up to the last known one are known. Of most columns all are, and then there is nothing to keep.
#[derive(Clone, Debug, Default, PartialEq)]
struct Known {
    state: State,
    /// Where some are not.
    bits: Bits,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    #[default]
    All,
    Some,
    /// Nothing is kept.
    Nothing,
}

impl Known {
    /// `len` is the number of rows up to the last known one.
    #[inline]
    fn get(&self, row: usize, len: usize) -> bool {
        match self.state {
            State::All => row < len,
            State::Some => self.bits.get(row),
            State::Nothing => false,
        }
    }

    /// A value follows at `row`, where the one before was at `len - 1`, and it is not so that all are known. Whether to keep it.
    #[inline]
    fn set(&mut self, row: usize, len: usize) -> bool {
        match self.state {
            State::Nothing => return false,
            State::All => {
                self.bits = Bits::first(len);
                self.state = State::Some;
            }
            State::Some => {}
        }
        self.bits.set(row);
        true
    }

    /// Of so many rows those that have a bit.
    fn put(&mut self, bits: Bits, len: usize) {
        let are_all = bits == Bits::first(len);
        (self.state, self.bits) = match are_all {
            true => (State::All, Bits::default()),
            false => (State::Some, bits),
        };
    }

    fn bits(&self) -> Option<&[u8]> {
        (self.state == State::Some).then_some(&self.bits.0)
    }

    fn write(&self, to: &mut Vec<u8>, len: usize) {
        match self.state {
            State::All => Bits::first(len).write(to),
            State::Some | State::Nothing => self.bits.write(to),
        }
    }

    fn clear(&mut self) {
        self.bits.0.clear();
        if self.state == State::Some {
            self.state = State::All;
        }
    }
}

/// A bit for each row up to the last one that is set, as Arrow has them: the first is the least of its byte.
#[derive(Clone, Debug, Default, PartialEq)]
struct Bits(Vec<u8>);

impl Bits {
    /// The first `len` rows are set.
    fn first(len: usize) -> Bits {
        let mut bits = Bits(vec![u8::MAX; len.div_ceil(8)]);
        bits.keep(len);
        bits
    }

    #[inline]
    fn set(&mut self, at: usize) {
        let byte = at / 8;
        if self.0.len() <= byte {
            self.0.resize(byte + 1, 0);
        }
        self.0[byte] |= 1 << (at % 8);
    }

    #[inline]
    fn get(&self, at: usize) -> bool {
        let byte = self.0.get(at / 8);
        byte.is_some_and(|byte| byte >> (at % 8) & 1 == 1)
    }

    /// Forgets those of the rows from `len` on.
    fn keep(&mut self, len: usize) {
        self.0.truncate(len.div_ceil(8));
        if let Some(last) = self.0.get_mut(len / 8) {
            *last &= !(u8::MAX << (len % 8));
        }
        self.0.truncate(self.len().div_ceil(8));
    }

    /// How many rows there are up to the last one that is set.
    fn len(&self) -> usize {
        let last = self.0.iter().rposition(|byte| *byte != 0);
        last.map_or(0, |at| at * 8 + 8 - self.0[at].leading_zeros() as usize)
    }

    fn write(&self, to: &mut Vec<u8>) {
        let words = self.0.len().div_ceil(8);
        put_u32(to, words);
        to.extend(&self.0);
        to.extend(std::iter::repeat_n(0, words * 8 - self.0.len()));
    }

    /// The last of them is that of row `len - 1`.
    fn read(from: &mut Reader<'_>, len: usize) -> Option<Bits> {
        let words = from.count(8)?;
        let mut bits = Bits(from.take(words * 8)?.to_vec());
        bits.0.truncate(bits.len().div_ceil(8));
        (words <= len.div_ceil(64) && bits.len() == len).then_some(bits)
    }
}

impl<T: Copy + Default> Values<T> {
    /// Those of Arrow: `known` has a bit for each, the first of them the least of its byte; without, all are known.
    pub fn of(mut values: Vec<T>, known: Option<Vec<u8>>) -> Values<T> {
        let mut all = Known::default();
        if let Some(known) = known {
            let mut bits = Bits(known);
            bits.keep(values.len());
            values.truncate(bits.len());
            for (row, value) in values.iter_mut().enumerate() {
                if !bits.get(row) {
                    *value = T::default();
                }
            }
            all.put(bits, values.len());
        }
        Values { values, known: all }
    }

    /// Puts the value at `row`, behind all that were put before.
    #[inline]
    pub fn put(&mut self, row: usize, value: T) {
        if self.values.len() == row && self.known.state == State::All {
            self.values.push(value);
        } else {
            self.put_after_unknown(row, value);
        }
    }

    #[inline(never)]
    fn put_after_unknown(&mut self, row: usize, value: T) {
        if self.known.set(row, self.values.len()) {
            self.values.resize(row, T::default());
            self.values.push(value);
        }
    }

    /// The value at `row`; `None` if it is unknown or there is no such row.
    #[inline]
    pub fn get(&self, row: usize) -> Option<T> {
        self.is_known(row).then(|| self.values[row])
    }

    #[inline]
    pub fn is_known(&self, row: usize) -> bool {
        self.known.get(row, self.values.len())
    }

    /// The values from the first on; those that are unknown mean nothing, and after the last known
    /// one there are none.
    pub fn plain(&self) -> &[T] {
        &self.values
    }

    /// A bit for each row up to the last known one, the first the least of its byte; `None` if all these are known.
    pub fn known(&self) -> Option<&[u8]> {
        self.known.bits()
    }

    /// Appends it as bytes; `word` makes eight of them of a value.
    pub(crate) fn write(&self, to: &mut Vec<u8>, word: impl Fn(T) -> u64) {
        put_u32(to, self.values.len());
        self.known.write(to, self.values.len());
        to.extend(self.values.iter().flat_map(|v| word(*v).to_le_bytes()));
    }

    /// Puts in place of these values `len` others, from bytes that [`write`](Values::write) made.
    pub(crate) fn read(
        &mut self,
        from: &mut Reader<'_>,
        len: usize,
        value: impl Fn(u64) -> T,
    ) -> Option<()> {
        let count = from.count(8)?;
        let known = Bits::read(from, count)?;
        self.known.put(known, count);
        let words = from.take(count * 8)?.chunks_exact(8);
        self.values.clear();
        self.values.extend(words.map(|word| {
            let word = word.try_into().map(u64::from_le_bytes);
            value(word.unwrap_or_default())
        }));
        (count <= len).then_some(())
    }

    pub(crate) fn drop_all(&mut self) {
        self.known.state = State::Nothing;
    }

    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.known.clear();
    }
}

impl<T: Copy + Default> FromIterator<Option<T>> for Values<T> {
    fn from_iter<I: IntoIterator<Item = Option<T>>>(values: I) -> Values<T> {
        let mut list = Values::default();
        for (row, value) in values.into_iter().enumerate() {
            if let Some(value) = value {
                list.put(row, value);
            }
        }
        list
    }
}

impl Texts {
    /// Puts the text at `row`, behind all that were put before.
    #[inline]
    pub fn put(&mut self, row: usize, text: &str) {
        if self.ends.len() != row || self.known.state != State::All {
            if !self.known.set(row, self.ends.len()) {
                return;
            }
            self.ends.resize(row, self.bytes.len() as u32);
        }
        self.bytes.push_str(text);
        self.ends.push(self.bytes.len() as u32);
    }

    /// The text at `row`; `None` if it is unknown or there is no such row.
    #[inline]
    pub fn get(&self, row: usize) -> Option<&str> {
        let is_known = self.is_known(row);
        is_known.then(|| &self.bytes[self.start(row)..self.start(row + 1)])
    }

    #[inline]
    pub fn is_known(&self, row: usize) -> bool {
        self.known.get(row, self.ends.len())
    }

    /// Where the text at `row` begins in [`Texts::bytes`]; that of the next row is its end.
    #[inline]
    pub fn start(&self, row: usize) -> usize {
        match row.checked_sub(1) {
            None => 0,
            Some(before) => self
                .ends
                .get(before)
                .map_or(self.bytes.len(), |&end| end as usize),
        }
    }

    /// A bit for each row up to the last known one, the first the least of its byte; `None` if all these are known.
    pub fn known(&self) -> Option<&[u8]> {
        self.known.bits()
    }

    /// How many rows there are up to the last known one.
    pub fn stored(&self) -> usize {
        self.ends.len()
    }

    /// All texts, one behind the other.
    pub fn bytes(&self) -> &str {
        &self.bytes
    }

    /// Appends them as bytes.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        put_u32(to, self.ends.len());
        self.known.write(to, self.ends.len());
        to.extend(self.ends.iter().flat_map(|end| end.to_le_bytes()));
        put_u32(to, self.bytes.len());
        to.extend(self.bytes.as_bytes());
    }

    /// Puts in place of these texts `len` others, from bytes that [`write`](Texts::write) made.
    pub(crate) fn read(&mut self, from: &mut Reader<'_>, len: usize) -> Option<()> {
        let count = from.count(4)?;
        let known = Bits::read(from, count)?;
        self.known.put(known, count);
        self.ends.clear();
        for _ in 0..count {
            self.ends.push(from.u32()?);
        }
        let size = from.count(1)?;
        self.bytes.clear();
        self.bytes
            .push_str(std::str::from_utf8(from.take(size)?).ok()?);
        let ends = &self.ends;
        let is_inside = |end: &u32| self.bytes.is_char_boundary(*end as usize);
        (count <= len && ends.is_sorted() && ends.iter().all(is_inside)).then_some(())
    }

    pub(crate) fn drop_all(&mut self) {
        self.known.state = State::Nothing;
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.known.clear();
    }
}

impl<'t> FromIterator<Option<&'t str>> for Texts {
    fn from_iter<I: IntoIterator<Item = Option<&'t str>>>(texts: I) -> Texts {
        let mut list = Texts::default();
        for (row, text) in texts.into_iter().enumerate() {
            if let Some(text) = text {
                list.put(row, text);
            }
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_unknowns_come_back_as_pushed() {
        let pushed: Vec<Option<u64>> = (0..200).map(|i| (i % 67 == 3).then_some(i)).collect();
        let values: Values<u64> = pushed.iter().copied().collect();
        let all: Vec<_> = (0..200).map(|row| values.get(row)).collect();
        assert_eq!((all, values.get(200)), (pushed, None));
    }

    #[test]
    fn texts_and_unknowns_come_back_as_pushed() {
        let pushed = [None, Some("one"), None, Some(""), Some("zwölf"), None];
        let texts: Texts = pushed.into_iter().collect();
        let all: Vec<_> = (0..6).map(|row| texts.get(row)).collect();
        assert_eq!(all, pushed);
        assert_eq!((texts.start(5), texts.start(6)), (9, 9));
    }

    #[test]
    fn values_of_arrow_are_those_that_were_pushed() {
        for len in [0, 1, 7, 8, 9, 63, 64, 200] {
            for last in [0, 3, len, len + 9] {
                let is_known = |i: usize| i < last && i % 3 != 1;
                let pushed: Values<u64> = (0..len)
                    .map(|i| is_known(i).then_some(i as u64 + 1))
                    .collect();
                let mut known = vec![0_u8; len.div_ceil(8)];
                let set = (0..known.len() * 8).filter(|&i| is_known(i));
                set.for_each(|i| known[i / 8] |= 1 << (i % 8));
                // Beyond the last row bits mean nothing.
                if last <= len {
                    known.push(0);
                }
                let read = Values::of((1..=len as u64).collect(), Some(known));
                assert_eq!(read, pushed, "{len} rows, known to {last}");
            }
        }
    }

    #[test]
    fn unknown_values_take_no_room() {
        let values: Values<f64> = (0..100_000).map(|_| None).collect();
        assert_eq!(values.plain().len(), 0);
    }

    #[test]
    fn what_is_not_kept_is_unknown() {
        let mut values = Values::default();
        values.drop_all();
        values.put(0, 1.0);
        assert_eq!(values.get(0), None);
    }
}
