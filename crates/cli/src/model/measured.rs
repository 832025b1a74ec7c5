//! Reads a measured curve from a CSV file.

use crate::exit::Failure;
use std::io::Read;
use std::path::Path;
use unbloat_os::files;
use unbloat_queueing::Measured;
use unbloat_units::{Delta, Rate};

const DELAY: &str = "delay_mean_ms";
const THROUGHPUT: &str = "throughput_bps";

pub fn read(path: &Path) -> Result<Vec<Measured>, Failure> {
    let file = files::open_any(path).map_err(|source| {
        format!(
            "cannot open {path}: {source}; check the path",
            path = path.display()
        )
    })?;
    points(file, path)
}

fn points(text: impl Read, path: &Path) -> Result<Vec<Measured>, Failure> {
    let failed = |source| format!("{}: {source}", path.display());
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(text);
    let heads = reader.headers().map_err(failed)?.clone();
    let place = |column| {
        let found = heads.iter().position(|head| head == column);
        found.ok_or_else(|| format!("{} has no column {column}; the first line must name {DELAY} and {THROUGHPUT}; other columns are ignored", path.display()))
    };
    let (delay_at, throughput_at) = (place(DELAY)?, place(THROUGHPUT)?);
    let mut measured = Vec::new();
    for record in reader.records() {
        let record = record.map_err(failed)?;
        let number = |at: usize, column| {
            let cell = record.get(at).unwrap_or_default();
            let number = cell.parse::<f64>().ok().filter(|x| *x > 0.0 && *x < 1e15);
            number.ok_or_else(|| {
                format!(
                    "{}, line {}: {column} is {cell:?}; a number above zero is needed",
                    path.display(),
                    record.position().map_or(0, csv::Position::line)
                )
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
