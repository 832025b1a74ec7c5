//! Delay as a function of packet size: measured, or from a CSV file.

use crate::events::bar_target;
use crate::print::note;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Deserialize;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use unbloat_os::files;
use unbloat_sqm::Sample;
use unbloat_units::Delta;

/// More than any sweep.
const LONGEST: u64 = 16 << 20;
const LARGEST_BYTES: u32 = 65_535;
const LONGEST_MS: f64 = 1e6;

#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    #[error(transparent)]
    Name(#[from] unbloat_loadtest::TestError),
    #[error("{0} does not answer echo requests; give another host behind the line")]
    Silent(String),
    #[error("cannot send echo requests to {host}: {source}")]
    Echo { host: String, source: io::Error },
    #[error("cannot open {path}: {source}; check the path", path = path.display())]
    Open {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{path}: {source}; its first line must be ip_bytes,rtt_ms", path = path.display())]
    Csv { path: PathBuf, source: csv::Error },
    #[error(
        "{path}: {ip_bytes} bytes, {rtt_ms} ms: out of range; packets have at most 65535 bytes, round trips less than 1000000 ms",
        path = path.display()
    )]
    Odd {
        path: PathBuf,
        ip_bytes: u32,
        rtt_ms: f64,
    },
}

/// Sends echo requests of many sizes to a host, for 75 s.
pub fn measure(host: &str) -> Result<Vec<Sample>, SweepError> {
    let address = unbloat_loadtest::answering(host, None)?;
    note!(
        "unbloat: sending echo requests of 241 sizes to {host}; nothing else should use the line"
    );
    let bar = ProgressBar::with_draw_target(Some(1_000), bar_target(false)).with_style(
        ProgressStyle::with_template("{bar:20} {percent} %").expect("a template of ours"),
    );
    let never = AtomicBool::new(false);
    let mut progress = |share: f64| bar.set_position((share * 1_000.0) as u64);
    let echoed = unbloat_loadtest::sweep(address, &never, &mut progress);
    bar.finish_and_clear();
    let echoed = echoed.map_err(|source| SweepError::Echo {
        host: host.to_owned(),
        source,
    })?;
    if echoed.is_empty() {
        return Err(SweepError::Silent(host.to_owned()));
    }
    let sample = |one: unbloat_loadtest::Echoed| Sample {
        ip_bytes: one.ip_bytes,
        delay: one.round_trip,
    };
    Ok(echoed.into_iter().map(sample).collect())
}

#[derive(Deserialize)]
struct Row {
    ip_bytes: u32,
    rtt_ms: f64,
}

pub fn read(path: &Path) -> Result<Vec<Sample>, SweepError> {
    let read = files::open_any(path).and_then(|file| files::all(file, LONGEST));
    let bytes = read.map_err(|source| SweepError::Open {
        path: path.to_owned(),
        source,
    })?;
    samples(&*bytes, path)
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
