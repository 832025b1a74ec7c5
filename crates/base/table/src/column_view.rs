//! A column of a table that may lack it.

use crate::ColumnData;

/// The values of one column; all null when the table has no such column. Numbers convert to the type that is asked for.
#[derive(Clone, Copy)]
pub struct ColumnView<'a>(Option<&'a ColumnData>);

impl<'a> ColumnView<'a> {
    pub fn of(column: Option<&'a ColumnData>) -> ColumnView<'a> {
        ColumnView(column)
    }

    /// Null where it is not finite.
    #[inline]
    pub fn f64(&self, row: usize) -> Option<f64> {
        self.0?.as_f64(row).filter(|x| x.is_finite())
    }

    #[inline]
    pub fn u64(&self, row: usize) -> Option<u64> {
        match self.0? {
            ColumnData::U64(values) => values.get(row),
            other => other.as_f64(row).map(|x| x as u64),
        }
    }

    #[inline]
    pub fn i64(&self, row: usize) -> Option<i64> {
        match self.0? {
            ColumnData::I64(values) => values.get(row),
            other => other.as_f64(row).map(|x| x as i64),
        }
    }

    #[inline]
    pub fn text(&self, row: usize) -> Option<&'a str> {
        self.0?.as_text(row)
    }

    #[inline]
    pub fn is(&self, row: usize, text: &str) -> bool {
        self.text(row) == Some(text)
    }

    #[inline]
    pub fn is_true(&self, row: usize) -> bool {
        matches!(self.0, Some(ColumnData::Bool(values)) if values.get(row) == Some(true))
    }
}
