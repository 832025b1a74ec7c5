//! Values of one column, some of them unknown.
//!
//! Most columns of most rows are unknown: a flow of ten packets has no bandwidth. So an unknown
//! value costs a count; room is made for it when a known one follows.

/// A list of values of which some are unknown.
#[derive(Clone, Debug, PartialEq)]
pub struct Values<T> {
    /// Up to the last known value; meaningless where it is not known.
    values: Vec<T>,
    known: Bits,
    len: usize,
    is_kept: bool,
}

/// A list of texts of which some are unknown.
#[derive(Clone, Debug, PartialEq)]
pub struct Texts {
    bytes: String,
    /// Where each text ends, up to the last known one; an unknown one is empty.
    ends: Vec<u32>,
    known: Bits,
    len: usize,
    is_kept: bool,
}

/// A bit for each row up to the last one that is set.
#[derive(Clone, Debug, Default, PartialEq)]
struct Bits(Vec<u64>);

impl Bits {
    #[inline]
    fn set(&mut self, at: usize) {
        let word = at / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (at % 64);
    }

    #[inline]
    fn get(&self, at: usize) -> bool {
        let word = self.0.get(at / 64);
        word.is_some_and(|word| word >> (at % 64) & 1 == 1)
    }
}

impl<T> Default for Values<T> {
    fn default() -> Values<T> {
        Values {
            values: Vec::new(),
            known: Bits::default(),
            len: 0,
            is_kept: true,
        }
    }
}

impl<T: Copy + Default> Values<T> {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub fn push(&mut self, value: Option<T>) {
        if let Some(value) = value
            && self.is_kept
        {
            if self.values.len() < self.len {
                self.values.resize(self.len, T::default());
            }
            self.values.push(value);
            self.known.set(self.len);
        }
        self.len += 1;
    }

    /// The value at `row`; `None` if it is unknown or there is no such row.
    #[inline]
    pub fn get(&self, row: usize) -> Option<T> {
        self.is_known(row).then(|| self.values[row])
    }

    #[inline]
    pub fn is_known(&self, row: usize) -> bool {
        self.known.get(row)
    }

    pub fn iter(&self) -> impl Iterator<Item = Option<T>> {
        (0..self.len).map(|row| self.get(row))
    }

    /// The values from the first on; those that are unknown mean nothing, and after the last known
    /// one there are none.
    pub fn plain(&self) -> &[T] {
        &self.values
    }

    pub(crate) fn drop_all(&mut self) {
        self.is_kept = false;
    }

    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.known.0.clear();
        self.len = 0;
    }
}

impl<T: Copy + Default> FromIterator<Option<T>> for Values<T> {
    fn from_iter<I: IntoIterator<Item = Option<T>>>(values: I) -> Values<T> {
        let mut list = Values::default();
        values.into_iter().for_each(|value| list.push(value));
        list
    }
}

impl Default for Texts {
    fn default() -> Texts {
        Texts {
            bytes: String::new(),
            ends: Vec::new(),
            known: Bits::default(),
            len: 0,
            is_kept: true,
        }
    }
}

impl Texts {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub fn push(&mut self, text: Option<&str>) {
        if let Some(text) = text
            && self.is_kept
        {
            if self.ends.len() < self.len {
                self.ends.resize(self.len, self.bytes.len() as u32);
            }
            self.bytes.push_str(text);
            self.ends.push(self.bytes.len() as u32);
            self.known.set(self.len);
        }
        self.len += 1;
    }

    /// The text at `row`; `None` if it is unknown or there is no such row.
    #[inline]
    pub fn get(&self, row: usize) -> Option<&str> {
        let is_known = self.is_known(row);
        is_known.then(|| &self.bytes[self.start(row)..self.start(row + 1)])
    }

    #[inline]
    pub fn is_known(&self, row: usize) -> bool {
        self.known.get(row)
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

    /// All texts, one behind the other.
    pub fn bytes(&self) -> &str {
        &self.bytes
    }

    pub(crate) fn drop_all(&mut self) {
        self.is_kept = false;
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.known.0.clear();
        self.len = 0;
    }
}

impl<'t> FromIterator<Option<&'t str>> for Texts {
    fn from_iter<I: IntoIterator<Item = Option<&'t str>>>(texts: I) -> Texts {
        let mut list = Texts::default();
        texts.into_iter().for_each(|text| list.push(text));
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
        assert_eq!(values.iter().collect::<Vec<_>>(), pushed);
        assert_eq!((values.len(), values.get(200)), (200, None));
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
    fn unknown_values_take_no_room() {
        let values: Values<f64> = (0..100_000).map(|_| None).collect();
        assert_eq!((values.len(), values.plain().len()), (100_000, 0));
    }

    #[test]
    fn what_is_not_kept_is_unknown() {
        let mut values = Values::default();
        values.drop_all();
        values.push(Some(1.0));
        assert_eq!((values.len(), values.get(0)), (1, None));
    }
}
