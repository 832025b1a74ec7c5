//! Values, column by column.

use crate::bytes::{Reader, put_u32};
use crate::{Cell, Column, ColumnType, Columns, Table, Texts, Values};

/// Where a row stands in its table, whichever shard wrote it: the number of the packet at which
/// it was written, then the number of the packet that began what it tells of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Order {
    pub written_at: u64,
    pub subject: u64,
}

impl Order {
    /// That of the row at this place of a table which one writer fills.
    pub const fn nth(row: usize) -> Order {
        Order {
            written_at: row as u64,
            subject: 0,
        }
    }
}

/// The values of one column.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnData {
    U64(Values<u64>),
    I64(Values<i64>),
    F64(Values<f64>),
    Bool(Values<bool>),
    Text(Texts),
}

/// Does the same for any type of column.
macro_rules! each {
    ($column:expr, $values:ident => $result:expr) => {
        match $column {
            ColumnData::U64($values) => $result,
            ColumnData::I64($values) => $result,
            ColumnData::F64($values) => $result,
            ColumnData::Bool($values) => $result,
            ColumnData::Text($values) => $result,
        }
    };
}

/// Column by column, because to look at each value's type anew costs more than to copy it.
macro_rules! pick {
    ($variant:ident, $values:ident, $first:ident, $sources:ident, $places:ident) => {{
        let sources: Vec<_> = $sources
            .iter()
            .map(|source| match source {
                ColumnData::$variant(values) => values,
                _ => unreachable!("rows of one table have the same column types"),
            })
            .collect();
        for (to, (source, row)) in ($first..).zip($places) {
            if let Some(value) = sources[source].get(row) {
                $values.put(to, value);
            }
        }
    }};
}

impl ColumnData {
    fn new(kind: ColumnType) -> ColumnData {
        match kind {
            ColumnType::U64 => ColumnData::U64(Values::default()),
            ColumnType::I64 => ColumnData::I64(Values::default()),
            ColumnType::F64 => ColumnData::F64(Values::default()),
            ColumnType::Bool => ColumnData::Bool(Values::default()),
            ColumnType::Text => ColumnData::Text(Texts::default()),
        }
    }

    /// Any numeric value as a float; `None` for nulls, texts and rows out of range.
    #[inline]
    pub fn as_f64(&self, row: usize) -> Option<f64> {
        match self {
            ColumnData::U64(v) => v.get(row).map(|x| x as f64),
            ColumnData::I64(v) => v.get(row).map(|x| x as f64),
            ColumnData::F64(v) => v.get(row),
            ColumnData::Bool(v) => v.get(row).map(|b| f64::from(u8::from(b))),
            ColumnData::Text(_) => None,
        }
    }

    /// A text value; `None` for nulls, other types and rows out of range.
    #[inline]
    pub fn as_text(&self, row: usize) -> Option<&str> {
        match self {
            ColumnData::Text(texts) => texts.get(row),
            _ => None,
        }
    }

    /// Puts the values at (source, row), one for each of `places`, from `first` on; the sources have this type.
    fn extend_picked(
        &mut self,
        first: usize,
        sources: &[&ColumnData],
        places: impl Iterator<Item = (usize, usize)>,
    ) {
        match self {
            ColumnData::U64(v) => pick!(U64, v, first, sources, places),
            ColumnData::I64(v) => pick!(I64, v, first, sources, places),
            ColumnData::F64(v) => pick!(F64, v, first, sources, places),
            ColumnData::Bool(v) => pick!(Bool, v, first, sources, places),
            ColumnData::Text(v) => pick!(Text, v, first, sources, places),
        }
    }

    fn drop_all(&mut self) {
        each!(self, values => values.drop_all());
    }

    fn clear(&mut self) {
        each!(self, values => values.clear());
    }
}

/// Rows of one table.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    columns: Vec<ColumnData>,
    order: Vec<Order>,
}

impl Rows {
    pub fn new(table: &Table) -> Rows {
        let columns = table
            .columns
            .iter()
            .map(|c| ColumnData::new(c.kind))
            .collect();
        Rows {
            columns,
            order: Vec::new(),
        }
    }

    /// Forgets what is written into columns that `is_read` is false of: they stay unknown.
    pub fn keep_only(&mut self, table: &Table, is_read: impl Fn(&Column) -> bool) {
        let columns = self.columns.iter_mut().zip(&table.columns);
        let unread = columns.filter(|(_, column)| !is_read(column));
        unread.for_each(|(data, _)| data.drop_all());
    }

    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub fn columns(&self) -> &[ColumnData] {
        &self.columns
    }

    pub fn order(&self) -> &[Order] {
        &self.order
    }

    /// Appends a row.
    #[inline]
    pub fn push(&mut self, order: Order, row: impl Columns) {
        self.row(order, |to| row.write(to));
    }

    /// Appends a row of several parts, which `write` writes in the table's order.
    ///
    /// # Panics
    /// The row is shorter or longer than its table, or a value is of another type: our own bug.
    #[inline]
    pub fn row(&mut self, order: Order, write: impl FnOnce(&mut RowWriter<'_>)) {
        let mut to = RowWriter {
            row: self.order.len(),
            columns: self.columns.iter_mut(),
        };
        write(&mut to);
        // Not when it is dropped: a drop with a check costs 4 % of the time to write a row.
        let left = to.columns.len();
        self.order.push(order);
        assert!(left == 0, "{left} columns of the row have no value");
    }

    /// Forgets the rows, keeps the memory.
    pub fn clear(&mut self) {
        self.columns.iter_mut().for_each(ColumnData::clear);
        self.order.clear();
    }

    /// Appends the rows with their order as bytes, for [`Rows::read`].
    pub fn write(&self, to: &mut Vec<u8>) {
        put_u32(to, self.order.len());
        for order in &self.order {
            to.extend(order.written_at.to_le_bytes());
            to.extend(order.subject.to_le_bytes());
        }
        for column in &self.columns {
            match column {
                ColumnData::U64(values) => values.write(to, |value| value),
                ColumnData::I64(values) => values.write(to, |value| value as u64),
                ColumnData::F64(values) => values.write(to, f64::to_bits),
                ColumnData::Bool(values) => values.write(to, u64::from),
                ColumnData::Text(texts) => texts.write(to),
            }
        }
    }

    /// Puts rows of the same table in place of these, from the bytes that [`Rows::write`] made; returns
    /// the bytes behind them. `None` if these are no such bytes; then no rows are left.
    pub fn read<'b>(&mut self, bytes: &'b [u8]) -> Option<&'b [u8]> {
        let mut from = Reader(bytes);
        let read = self.read_from(&mut from);
        if read.is_none() {
            self.clear();
        }
        read.map(|()| from.0)
    }

    fn read_from(&mut self, from: &mut Reader<'_>) -> Option<()> {
        let len = from.count(16)?;
        self.order.clear();
        for _ in 0..len {
            self.order.push(Order {
                written_at: from.u64()?,
                subject: from.u64()?,
            });
        }
        for column in &mut self.columns {
            match column {
                ColumnData::U64(values) => values.read(from, len, |word| word)?,
                ColumnData::I64(values) => values.read(from, len, |word| word as i64)?,
                ColumnData::F64(values) => values.read(from, len, f64::from_bits)?,
                ColumnData::Bool(values) => values.read(from, len, |word| word != 0)?,
                ColumnData::Text(texts) => texts.read(from, len)?,
            }
        }
        Some(())
    }

    /// Appends `count` rows of the same table, column by column.
    pub fn append(&mut self, columns: &[ColumnData], count: usize) {
        let first = self.len();
        for (to, from) in self.columns.iter_mut().zip(columns) {
            to.extend_picked(first, &[from], (0..count).map(|row| (0, row)));
        }
        self.order.extend((first..first + count).map(Order::nth));
    }

    /// The rows that `is_kept` is true of.
    pub fn filtered(&self, table: &Table, is_kept: impl Fn(usize) -> bool) -> Rows {
        let kept: Vec<usize> = (0..self.len()).filter(|&row| is_kept(row)).collect();
        let mut rows = Rows::new(table);
        for (to, from) in rows.columns.iter_mut().zip(&self.columns) {
            to.extend_picked(0, &[from], kept.iter().map(|&row| (0, row)));
        }
        rows.order.extend(kept.iter().map(|&row| self.order[row]));
        rows
    }

    /// Copies row `row` of `other`, which belongs to the same table.
    pub fn push_from(&mut self, other: &Rows, row: usize) {
        for (a, b) in self.columns.iter_mut().zip(&other.columns) {
            a.extend_picked(self.order.len(), &[b], std::iter::once((0, row)));
        }
        self.order.push(other.order[row]);
    }

    /// Appends the rows of `parts`, sorted by their order; rows of equal order stay as they were
    /// within their part, parts in the order given.
    pub fn append_merged<'a>(&mut self, parts: impl IntoIterator<Item = &'a Rows>) {
        let all = parts.into_iter().map(|part| (part, Order::default()));
        self.append_merged_until(all, None);
    }

    /// As [`Rows::append_merged`], of rows whose order is before `until`, and of each part those from
    /// the order on that stands with it.
    pub fn append_merged_until<'a>(
        &mut self,
        parts: impl IntoIterator<Item = (&'a Rows, Order)>,
        until: Option<Order>,
    ) {
        let parts = parts.into_iter().filter(|(part, _)| !part.is_empty());
        let (parts, firsts): (Vec<&Rows>, Vec<Order>) = parts.unzip();
        let mut index: Vec<(Order, u32, u32)> = Vec::new();
        for (part, (rows, &from)) in parts.iter().zip(&firsts).enumerate() {
            let keys = rows.order.iter().enumerate();
            let is_meant = |order| order >= from && until.is_none_or(|until| order < until);
            let keys = keys.filter(|&(_, &order)| is_meant(order));
            index.extend(keys.map(|(row, &order)| (order, part as u32, row as u32)));
        }
        index.sort_unstable();
        for (c, column) in self.columns.iter_mut().enumerate() {
            let sources: Vec<&ColumnData> = parts.iter().map(|p| &p.columns[c]).collect();
            let places = index
                .iter()
                .map(|&(_, part, row)| (part as usize, row as usize));
            column.extend_picked(self.order.len(), &sources, places);
        }
        self.order.extend(index.iter().map(|(order, ..)| order));
    }
}

/// Writes one row, column by column.
pub struct RowWriter<'a> {
    row: usize,
    columns: std::slice::IterMut<'a, ColumnData>,
}

impl RowWriter<'_> {
    // Always: with less, rows take 4 % more time.
    #[inline(always)]
    pub fn cell<T: Cell>(&mut self, value: T) {
        match self.columns.next() {
            Some(column) => T::put(Some(value), self.row, column),
            None => misplaced(T::KIND),
        }
    }

    /// Leaves these columns unknown.
    #[inline(always)]
    pub fn skip<C: Columns>(&mut self) {
        if C::COUNT > 0 {
            self.columns.nth(C::COUNT - 1);
        }
    }
}

/// A value for which its row has no column.
#[cold]
#[inline(never)]
pub(crate) fn misplaced(kind: ColumnType) -> ! {
    panic!("the schema has no {kind:?} column here");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Column;

    fn table() -> Table {
        let columns = vec![
            Column::of::<u64>("n", "a number"),
            Column::of::<&str>("name", "its name"),
        ];
        Table {
            name: "numbers",
            doc: "one row per number",
            columns,
        }
    }

    fn rows(values: &[(u64, Option<&str>)]) -> Rows {
        let mut rows = Rows::new(&table());
        for &(n, name) in values {
            rows.row(Order::nth(n as usize), |row| {
                row.cell(n);
                row.cell(name);
            });
        }
        rows
    }

    #[test]
    fn texts_and_nulls_come_back_as_written() {
        let rows = rows(&[(1, Some("one")), (2, None), (3, Some(""))]);
        let [numbers, names] = rows.columns() else {
            panic!("two columns")
        };
        assert_eq!(numbers.as_f64(2), Some(3.0));
        assert_eq!(
            (names.as_text(0), names.as_text(1), names.as_text(2)),
            (Some("one"), None, Some(""))
        );
    }

    #[test]
    fn rows_come_back_from_their_bytes_and_cut_bytes_are_refused() {
        let rows = rows(&[
            (1, Some("eins")),
            (2, None),
            (70, Some("\u{fc}")),
            (71, None),
        ]);
        let mut bytes = Vec::new();
        rows.write(&mut bytes);
        bytes.extend(*b"behind");
        let mut read = Rows::new(&table());
        assert_eq!(read.read(&bytes), Some(&b"behind"[..]));
        assert_eq!(read, rows);
        for len in 0..bytes.len() - 6 {
            assert_eq!(read.read(&bytes[..len]), None, "{len} bytes");
            assert_eq!(read, Rows::new(&table()));
        }
    }

    #[test]
    fn any_changed_byte_gives_rows_that_can_be_read_or_none() {
        let rows = rows(&[(1, Some("eins")), (2, None), (3, Some("\u{fc}"))]);
        let mut bytes = Vec::new();
        rows.write(&mut bytes);
        let mut read = Rows::new(&table());
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                read.read(&changed);
                for row in 0..read.len() + 1 {
                    let texts = read.columns().iter().map(|c| c.as_text(row).map(str::len));
                    let numbers = read.columns().iter().map(|c| c.as_f64(row).is_some());
                    assert_eq!(texts.count() + numbers.count(), 4);
                }
            }
        }
    }

    #[test]
    fn merging_does_not_depend_on_how_rows_were_split() {
        let all = rows(&[(1, Some("a")), (2, None), (3, Some("c")), (4, Some("d"))]);
        let (odd, even) = (
            rows(&[(1, Some("a")), (3, Some("c"))]),
            rows(&[(2, None), (4, Some("d"))]),
        );
        let mut merged = Rows::new(&table());
        merged.append_merged([&even, &odd]);
        assert_eq!(merged, all);
    }

    #[test]
    fn merging_in_pieces_is_merging_at_once() {
        let (odd, even) = (
            rows(&[(1, Some("a")), (3, None), (5, Some("e"))]),
            rows(&[(2, None), (4, Some("d"))]),
        );
        let at = |n| Order {
            written_at: n,
            subject: 0,
        };
        let (mut once, mut pieces) = (Rows::new(&table()), Rows::new(&table()));
        once.append_merged([&even, &odd]);
        for (from, until) in [(at(0), Some(at(2))), (at(2), Some(at(5))), (at(5), None)] {
            pieces.append_merged_until([(&even, from), (&odd, from)], until);
        }
        assert_eq!(pieces, once);
    }

    #[test]
    fn columns_that_nobody_reads_stay_unknown() {
        let mut few = Rows::new(&table());
        few.keep_only(&table(), |column| column.name == "n");
        few.append_merged([&rows(&[(7, Some("seven"))])]);
        let [numbers, names] = few.columns() else {
            panic!("two columns")
        };
        assert_eq!((numbers.as_f64(0), names.as_text(0)), (Some(7.0), None));
        assert_eq!(few.len(), 1);
    }

    #[test]
    #[should_panic(expected = "1 columns of the row have no value")]
    fn a_row_that_is_too_short_is_refused() {
        let mut rows = Rows::new(&table());
        rows.row(Order::default(), |row| row.cell(1_u64));
    }

    #[test]
    #[should_panic(expected = "no U64 column here")]
    fn a_row_that_is_too_long_is_refused() {
        let mut rows = rows(&[]);
        rows.row(Order::default(), |row| {
            row.cell(1_u64);
            row.cell("one");
            row.cell(2_u64);
        });
    }
}
