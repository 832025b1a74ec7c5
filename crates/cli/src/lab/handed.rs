//! Passes the results of an experiment from a guest to the host: tables as a run's folder, everything else as JSON.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs;
use std::path::Path;
use unbloat_api::experiment::{Came, order};
use unbloat_api::folder::write_tables;
use unbloat_experiment::outcome::RunResult;
use unbloat_os::files;
use unbloat_run::{RunInfo, RunReader};
use unbloat_table::{ColumnData, Rows, Table};

const TABLES: &str = "tables";
const REST: &str = "came.json";

#[derive(Serialize, Deserialize)]
struct Rest {
    /// Subject, metric, bits of the value: numbers of JSON know no infinity.
    results: Vec<(String, String, u64)>,
    notes: Vec<String>,
    facts: Vec<(String, Value)>,
    is_cut: bool,
}

/// In the guest.
pub fn write(folder: &Path, came: &Came) -> Result<(), String> {
    let rest = Rest {
        results: came
            .results
            .iter()
            .map(|one| (one.subject.clone(), one.metric.clone(), one.value.to_bits()))
            .collect(),
        notes: came.notes.clone(),
        facts: came.facts.clone(),
        is_cut: came.is_cut,
    };
    let text = serde_json::to_vec(&rest).map_err(|error| error.to_string())?;
    files::replace(&folder.join(REST), text).map_err(|error| error.to_string())?;
    let info = RunInfo::new("unbloat lab run", env!("CARGO_PKG_VERSION"), Vec::new());
    let written = write_tables(&folder.join(TABLES), &info, &came.tables);
    written.map(|_| ()).map_err(|error| error.to_string())
}

/// On the host. `tables` are all possible tables; those that exist are returned in this order.
pub fn read(folder: &Path, tables: Vec<Table>) -> Result<Came, String> {
    let text = fs::read(folder.join(REST)).map_err(|error| error.to_string())?;
    let rest: Rest = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    let reader = RunReader::open(&folder.join(TABLES)).map_err(|error| error.to_string())?;
    let is_there = |table: &Table| {
        reader
            .tables()
            .iter()
            .any(|one| one.schema.name == table.name)
    };
    let tables = tables.into_iter().filter(is_there).map(|table| {
        let rows = rows(&reader, &table)?;
        Ok((table, rows))
    });
    let results = rest.results.into_iter();
    Ok(Came {
        results: results
            .map(|(subject, metric, bits)| RunResult {
                subject,
                metric,
                value: f64::from_bits(bits),
            })
            .collect(),
        notes: rest.notes,
        tables: tables.collect::<Result<_, String>>()?,
        facts: rest.facts,
        is_cut: rest.is_cut,
    })
}

/// A table of a run, with all its rows.
pub fn rows(reader: &RunReader, table: &Table) -> Result<Rows, String> {
    let mut rows = Rows::new(table);
    let mut number = 0;
    for batch in reader.read(table.name).map_err(|error| error.to_string())? {
        let batch = batch.map_err(|error| error.to_string())?;
        for at in 0..batch.len() {
            let mut row = rows.row(order(number));
            for column in batch.columns() {
                match column {
                    ColumnData::U64(values) => row.u64(values.get(at)),
                    ColumnData::I64(values) => row.i64(values.get(at)),
                    ColumnData::F64(values) => row.f64(values.get(at)),
                    ColumnData::Bool(values) => row.bool(values.get(at)),
                    ColumnData::Text(texts) => row.text(texts.get(at)),
                }
            }
            number += 1;
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_table::Column;

    #[test]
    fn what_was_handed_over_is_read_back() {
        let table = || Table {
            name: "numbers",
            doc: "one row per number",
            columns: vec![
                Column::u64("n", "a number"),
                Column::text("name", "its name"),
            ],
        };
        let mut rows = Rows::new(&table());
        for (n, name) in [(Some(1), Some("one")), (None, None)] {
            let mut row = rows.row(order(0));
            row.u64(n);
            row.text(name);
        }
        let came = Came {
            results: vec![RunResult {
                subject: "all".to_owned(),
                metric: "ratio".to_owned(),
                value: f64::INFINITY,
            }],
            notes: vec!["a note".to_owned()],
            tables: vec![(table(), rows)],
            facts: vec![("a".to_owned(), Value::Bool(true))],
            is_cut: true,
        };
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &came).unwrap();
        let back = read(folder.path(), vec![table()]).unwrap();
        assert_eq!(back.results, came.results);
        assert_eq!(
            (back.notes, back.facts, back.is_cut),
            (came.notes, came.facts, true)
        );
        assert_eq!(back.tables[0].1.columns(), came.tables[0].1.columns());
    }
}
