//! Passes the results of an experiment from a guest to the host: tables as a run's folder, everything else as JSON.

use super::inside::LONGEST;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;
use unbloat_api::experiment::Came;
use unbloat_api::folder::write_tables;
use unbloat_experiment::outcome::RunResult;
use unbloat_os::files;
use unbloat_run::{RunInfo, RunReader};
use unbloat_table::{Rows, Table};

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
    let text = files::read(&folder.join(REST), LONGEST).map_err(|error| error.to_string())?;
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
    for batch in reader.read(table.name).map_err(|error| error.to_string())? {
        let batch = batch.map_err(|error| error.to_string())?;
        rows.append(batch.columns(), batch.len());
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_table::{Row, columns};

    #[test]
    fn what_was_handed_over_is_read_back() {
        columns! {
            struct NumberRow<'a>: numbers = "one row per number" {
                n: Option<u64> = "a number",
                name: Option<&'a str> = "its name",
            }
        }
        let rows = [(Some(1), Some("one")), (None, None)];
        let came = Came {
            results: vec![RunResult {
                subject: "all".to_owned(),
                metric: "ratio".to_owned(),
                value: f64::INFINITY,
            }],
            notes: vec!["a note".to_owned()],
            tables: vec![NumberRow::filled(
                rows.map(|(n, name)| NumberRow { n, name }),
            )],
            facts: vec![("a".to_owned(), Value::Bool(true))],
            is_cut: true,
        };
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &came).unwrap();
        let back = read(folder.path(), vec![NumberRow::table()]).unwrap();
        assert_eq!(back.results, came.results);
        assert_eq!(
            (back.notes, back.facts, back.is_cut),
            (came.notes, came.facts, true)
        );
        assert_eq!(back.tables[0].1.columns(), came.tables[0].1.columns());
    }
}
