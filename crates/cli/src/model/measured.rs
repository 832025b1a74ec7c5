//! Reads a measured curve from a CSV file.

use std::io::Read;
use std::path::{Path, PathBuf};
use unbloat_os::files;
use unbloat_queueing::Measured;
use unbloat_units::{Delta, Rate};

const DELAY: &str = "delay_mean_ms";
const THROUGHPUT: &str = "throughput_bps";

#[derive(Debug, thiserror::Error)]
pub enum MeasuredError {
    #[error("cannot open {path}: {source}; check the path", path = path.display())]
    Open {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{path}: {source}", path = path.display())]
    Csv { path: PathBuf, source: csv::Error },
    #[error(
        "{path} has no column {column}; the first line must name {DELAY} and {THROUGHPUT}; other columns are ignored",
        path = path.display()
    )]
    NoColumn { path: PathBuf, column: &'static str },
    #[error("{path}, line {line}: {column} is {text:?}; a number above zero is needed", path = path.display())]
    NoNumber {
        path: PathBuf,
        line: u64,
        column: &'static str,
        text: String,
    },
}

pub fn read(path: &Path) -> Result<Vec<Measured>, MeasuredError> {
    let file = files::open_any(path).map_err(|source| MeasuredError::Open {
        path: path.to_owned(),
        source,
    })?;
    points(file, path)
}

fn points(text: impl Read, path: &Path) -> Result<Vec<Measured>, MeasuredError> {
    let failed = |source| MeasuredError::Csv {
        path: path.to_owned(),
        source,
    };
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(text);
    let heads = reader.headers().map_err(failed)?.clone();
    let place = |column| {
        let found = heads.iter().position(|head| head == column);
        found.ok_or_else(|| MeasuredError::NoColumn {
            path: path.to_owned(),
            column,
        })
    };
    let (delay_at, throughput_at) = (place(DELAY)?, place(THROUGHPUT)?);
    let mut measured = Vec::new();
    for record in reader.records() {
        let record = record.map_err(failed)?;
        let number = |at: usize, column| {
            let cell = record.get(at).unwrap_or_default();
            let number = cell.parse::<f64>().ok().filter(|x| *x > 0.0 && *x < 1e15);
            number.ok_or_else(|| MeasuredError::NoNumber {
                path: path.to_owned(),
                line: record.position().map_or(0, csv::Position::line),
                column,
                text: cell.to_owned(),
            })
        };
        measured.push(Measured {
            delay: Delta::from_secs_f64(number(delay_at, DELAY)? / 1e3),
            throughput: Rate::from_bps_f64(number(throughput_at, THROUGHPUT)?),
        });
    }
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Vec<Measured>, String> {
        points(text.as_bytes(), Path::new("c.csv")).map_err(|e| e.to_string())
    }

    #[test]
    fn columns_are_found_by_name_wherever_they_stand() {
        let points = of("place, throughput_bps ,delay_mean_ms\nhome,3800000, 57.5\n");
        let expected = Measured {
            delay: Delta::us(57_500),
            throughput: Rate::kbps(3800),
        };
        assert_eq!(points, Ok(vec![expected]));
    }

    #[test]
    fn errors_name_file_line_column_and_what_is_needed() {
        let error = of("delay_ms,throughput_bps\n1,2\n").expect_err("no such column");
        assert!(
            error.contains("c.csv has no column delay_mean_ms"),
            "{error}"
        );
        for bad in ["none", "", "-1", "NaN", "inf"] {
            let text = format!("delay_mean_ms,throughput_bps\n5,100\n{bad},100\n");
            let refused = of(&text).expect_err(bad);
            assert!(
                refused.contains("c.csv, line 3: delay_mean_ms is"),
                "{refused}"
            );
        }
        assert!(
            of("delay_mean_ms,throughput_bps\n5\n")
                .expect_err("short")
                .contains("c.csv")
        );
    }
}
