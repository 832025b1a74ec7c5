//! What runs gave.

use std::collections::BTreeMap;
use unbloat_table::{ColumnData, ColumnView, Rows, Table};

/// Results of one run by name, `SUBJECT.METRIC`.
pub type RunResults = BTreeMap<String, f64>;

/// The outcome of one [`Request`](crate::Request).
#[derive(Clone, Default)]
pub struct Evidence {
    /// The points of its sweep that were asked for, in order; one without a sweep.
    pub points: Vec<EvidencePoint>,
    /// What casts doubt on it, one sentence each.
    pub notes: Vec<String>,
}

/// One combination of swept values.
#[derive(Clone, Default)]
pub struct EvidencePoint {
    /// Swept keys and their values.
    pub values: BTreeMap<String, String>,
    /// Of each repeat.
    pub runs: Vec<RunResults>,
    /// Series of the first repeat, if they were asked for.
    pub tables: Vec<(Table, Rows)>,
}

/// What the runs of a figure gave, by their names in its recipe.
pub type Runs<'a> = BTreeMap<String, &'a Evidence>;

impl Evidence {
    /// The points at which the sweep has these values.
    pub fn at<'a>(
        &'a self,
        at: &'a BTreeMap<String, String>,
    ) -> impl Iterator<Item = &'a EvidencePoint> {
        let points = self.points.iter();
        points.filter(|point| EvidencePoint::is_at(&point.values, at))
    }

    /// The values of a swept key, in the order of the sweep.
    pub fn values_of(&self, key: &str) -> Vec<&str> {
        let mut seen = Vec::new();
        for value in self.points.iter().filter_map(|point| point.values.get(key)) {
            if !seen.contains(&value.as_str()) {
                seen.push(value);
            }
        }
        seen
    }
}

impl EvidencePoint {
    /// Whether the point with these values has those.
    pub(crate) fn is_at(values: &BTreeMap<String, String>, at: &BTreeMap<String, String>) -> bool {
        at.iter().all(|(key, value)| {
            let here = values.get(key);
            here.is_some_and(|here| is_same(here, value))
        })
    }

    /// A column at each time, relative to that of the reference rows, in percent: 0 where they are equal. Times before `from_s`, and those at
    /// which the reference has nothing, are left out.
    pub fn errors(
        &self,
        table: &str,
        column: &str,
        [only, reference]: [&BTreeMap<String, String>; 2],
        from_s: f64,
    ) -> Option<Vec<f64>> {
        let own = by_time(self.rows(table, ["time_ns", column], only)?);
        let truth = by_time(self.rows(table, ["time_ns", column], reference)?);
        let from = (from_s * 1e9) as i64;
        let known = truth
            .into_iter()
            .filter(|(time, value)| *time >= from && *value > 0.0);
        let errors = known.map(|(time, value)| {
            let seen = own.get(&time).copied().unwrap_or(0.0);
            100.0 * (seen / value - 1.0)
        });
        Some(errors.collect())
    }

    /// The rows of a table where all named columns have these texts: a name, and a number. None without such a table.
    pub fn named_rows(
        &self,
        table: &str,
        [name, number]: [&str; 2],
        only: &BTreeMap<String, String>,
    ) -> Option<Vec<(String, f64)>> {
        let (schema, rows) = self.tables.iter().find(|(one, _)| one.name == table)?;
        let column = |one: &str| Some(&rows.columns()[schema.column(one)?]);
        let (names, numbers) = (column(name)?, ColumnView::of(column(number)));
        let fits = filter(schema, rows, only)?;
        let kept = (0..rows.len()).filter(|row| fits(*row));
        let named = kept.filter_map(|row| Some((said(names, row)?, numbers.f64(row)?)));
        Some(named.collect())
    }

    /// The rows of a table where all named columns have these texts: numbers of the columns asked for. None without such a table.
    pub fn rows<const N: usize>(
        &self,
        table: &str,
        columns: [&str; N],
        only: &BTreeMap<String, String>,
    ) -> Option<Vec<[f64; N]>> {
        let (schema, rows) = self.tables.iter().find(|(one, _)| one.name == table)?;
        let mut wanted = Vec::new();
        for name in columns {
            wanted.push(ColumnView::of(Some(&rows.columns()[schema.column(name)?])));
        }
        let fits = filter(schema, rows, only)?;
        let kept = (0..rows.len()).filter(|row| fits(*row));
        let numbers = kept.filter_map(|row| {
            let values: Vec<f64> = wanted.iter().filter_map(|view| view.f64(row)).collect();
            values.try_into().ok()
        });
        Some(numbers.collect())
    }
}

/// By time, the sum of a column.
fn by_time(rows: Vec<[f64; 2]>) -> BTreeMap<i64, f64> {
    let mut sums = BTreeMap::new();
    for [time, value] in rows {
        *sums.entry(time as i64).or_insert(0.0) += value;
    }
    sums
}

/// A test of rows: do these columns hold these texts? None if the table lacks one of the columns.
fn filter<'a>(
    schema: &Table,
    rows: &'a Rows,
    only: &'a BTreeMap<String, String>,
) -> Option<impl Fn(usize) -> bool + 'a> {
    let mut columns = Vec::new();
    for (name, text) in only {
        columns.push((&rows.columns()[schema.column(name)?], text));
    }
    Some(move |row| {
        let mut all = columns.iter();
        all.all(|(data, text)| said(data, row).as_deref() == Some(text.as_str()))
    })
}

/// Whether two values are the same but for spaces and quotes: `{ kind = "drwa" }` and `{kind=drwa}`.
fn is_same(a: &str, b: &str) -> bool {
    fn plain(text: &str) -> impl Iterator<Item = char> {
        text.chars().filter(|c| !c.is_whitespace() && *c != '"')
    }
    plain(a).eq(plain(b))
}

/// A cell as text.
fn said(data: &ColumnData, row: usize) -> Option<String> {
    match data.as_text(row) {
        Some(text) => Some(text.to_owned()),
        None => data.as_f64(row).map(|number| number.to_string()),
    }
}
