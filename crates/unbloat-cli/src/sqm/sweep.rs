//! Delays over packet sizes out of a CSV file.

use serde::Deserialize;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use unbloat_sqm::Sample;
use unbloat_units::Delta;

/// More than any sweep.
const LONGEST: u64 = 16 << 20;
const LARGEST_BYTES: u32 = 65_535;
const LONGEST_MS: f64 = 1e6;

#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    #[error("cannot open {path}: {source}; check the path", path = path.display())]
    Open {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{path}: {source}; its first line must be ip_bytes,rtt_ms", path = path.display())]
    Csv { path: PathBuf, source: csv::Error },
    #[error(
        "{path}: {ip_bytes} bytes in {rtt_ms} ms is no round trip of a packet",
        path = path.display()
    )]
    Odd {
        path: PathBuf,
        ip_bytes: u32,
        rtt_ms: f64,
    },
}

#[derive(Deserialize)]
struct Row {
    ip_bytes: u32,
    rtt_ms: f64,
}

pub fn read(path: &Path) -> Result<Vec<Sample>, SweepError> {
    let file = File::open(path).map_err(|source| SweepError::Open {
        path: path.to_owned(),
        source,
    })?;
    samples(file.take(LONGEST), path)
}

fn samples(text: impl Read, path: &Path) -> Result<Vec<Sample>, SweepError> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(text);
    let mut samples = Vec::new();
    for row in reader.deserialize() {
        let Row { ip_bytes, rtt_ms } = row.map_err(|source| SweepError::Csv {
            path: path.to_owned(),
            source,
        })?;
        if ip_bytes > LARGEST_BYTES || !(0.0..LONGEST_MS).contains(&rtt_ms) {
            return Err(SweepError::Odd {
                path: path.to_owned(),
                ip_bytes,
                rtt_ms,
            });
        }
        let delay = Delta::from_secs_f64(rtt_ms / 1e3);
        samples.push(Sample { ip_bytes, delay });
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Vec<Sample>, String> {
        samples(text.as_bytes(), Path::new("s.csv")).map_err(|e| e.to_string())
    }

    #[test]
    fn sizes_and_round_trips_are_read() {
        let expected = Sample {
            ip_bytes: 44,
            delay: Delta::us(30_500),
        };
        assert_eq!(of("ip_bytes, rtt_ms\n44, 30.5\n"), Ok(vec![expected]));
    }

    #[test]
    fn what_is_no_round_trip_is_refused() {
        for odd in ["-1,1", "44,-1", "44,NaN", "44,", "99999,1", "44,1e9", "a,b"] {
            let read = of(&format!("ip_bytes,rtt_ms\n{odd}\n"));
            assert!(read.is_err(), "{odd}");
        }
    }
}
