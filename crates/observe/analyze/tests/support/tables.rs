//! All rows of a run, compared cell by cell.

use std::collections::BTreeMap;
use unbloat_table::{ColumnData, Rows, Table};
use unbloat_trace::{Output, all_tables};

pub struct Tables {
    schema: Vec<Table>,
    rows: Vec<Rows>,
}

impl Tables {
    pub fn new() -> Tables {
        let schema = all_tables();
        let rows = schema.iter().map(Rows::new).collect();
        Tables { schema, rows }
    }

    pub fn take(&mut self, output: &Output) {
        for (all, new) in self.rows.iter_mut().zip(output.tables()) {
            (0..new.len()).for_each(|row| all.push_from(new, row));
        }
    }

    pub fn column(&self, table: &str, column: &str) -> &ColumnData {
        let at = self
            .schema
            .iter()
            .position(|t| t.name == table)
            .expect(table);
        let column = self.schema[at].column(column).expect(column);
        &self.rows[at].columns()[column]
    }

    /// Sum of a column of whole numbers; nulls count as nothing.
    pub fn sum(&self, table: &str, column: &str) -> u64 {
        match self.column(table, column) {
            ColumnData::U64(values) => (0..self.len(table)).filter_map(|row| values.get(row)).sum(),
            other => panic!("{table}.{column} is {other:?}"),
        }
    }

    /// Rows whose text in this column is `text`.
    pub fn count(&self, table: &str, column: &str, text: &str) -> usize {
        let column = self.column(table, column);
        (0..self.len(table))
            .filter(|&row| column.as_text(row) == Some(text))
            .count()
    }

    pub fn len(&self, table: &str) -> usize {
        let at = self
            .schema
            .iter()
            .position(|t| t.name == table)
            .expect(table);
        self.rows[at].len()
    }

    /// The first cell that is not as in `other`, once the texts that `names` knows are exchanged
    /// for what it says.
    pub fn difference(&self, other: &Tables, names: &BTreeMap<String, String>) -> Option<String> {
        let pairs = self.schema.iter().zip(self.rows.iter().zip(&other.rows));
        pairs
            .into_iter()
            .find_map(|(table, (a, b))| difference(table, a, b, names))
    }

    /// Numbers that no reader of a table could make sense of.
    pub fn nonsense(&self) -> Option<String> {
        self.schema
            .iter()
            .zip(&self.rows)
            .find_map(|(table, rows)| {
                table
                    .columns
                    .iter()
                    .zip(rows.columns())
                    .find_map(|(column, data)| match data {
                        ColumnData::F64(values) => {
                            let mut known = (0..rows.len()).filter_map(|row| values.get(row));
                            let bad = known.find(|v| !v.is_finite())?;
                            Some(format!("{}.{} is {bad}", table.name, column.name))
                        }
                        _ => None,
                    })
            })
    }
}

fn difference(
    table: &Table,
    a: &Rows,
    b: &Rows,
    names: &BTreeMap<String, String>,
) -> Option<String> {
    if names.is_empty() && a.columns() == b.columns() {
        return None;
    }
    for row in 0..a.len().min(b.len()) {
        for ((column, x), y) in table.columns.iter().zip(a.columns()).zip(b.columns()) {
            let (x, y) = (cell(x, row), cell(y, row));
            if names.get(&x).unwrap_or(&x) != &y {
                return Some(format!(
                    "{}.{} in row {row}: {x} and {y}",
                    table.name, column.name
                ));
            }
        }
    }
    (a.len() != b.len()).then(|| format!("{}: {} and {} rows", table.name, a.len(), b.len()))
}

fn cell(column: &ColumnData, row: usize) -> String {
    match column {
        ColumnData::U64(values) => format!("{:?}", values.get(row)),
        ColumnData::I64(values) => format!("{:?}", values.get(row)),
        ColumnData::F64(values) => format!("{:?}", values.get(row)),
        ColumnData::Bool(values) => format!("{:?}", values.get(row)),
        ColumnData::Text(texts) => texts.get(row).unwrap_or("null").to_owned(),
    }
}
