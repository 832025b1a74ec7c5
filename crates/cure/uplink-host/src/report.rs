//! A modem's report: a line of JSON.

use serde::{Deserialize, Serialize};
use unbloat_units::Bytes;
use unbloat_uplink::{Bsr, Occupancy};

/// A longer line is no report.
pub(crate) const LONGEST: usize = 4_096;
/// More than any modem holds; a report beyond it is an error of its sender.
const MOST: u64 = 1 << 30;

/// What a modem tells. Unknown fields are ignored: who bridges a real modem may add some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// On CLOCK_MONOTONIC; for people, not for control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<i64>,
    /// IP bytes that wait for a grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffered_bytes: Option<u64>,
    /// Index of 3GPP TS 36.321 table 6.1.3.1-1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bsr: Option<u8>,
}

#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error("the line is longer than 4096 bytes")]
    TooLong,
    #[error("the line is not a JSON report: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the report has no {0}")]
    Without(&'static str),
    #[error("{name} {value} is out of range; the maximum is {most}")]
    Range {
        name: &'static str,
        value: u64,
        most: u64,
    },
}

impl Report {
    pub fn parse(line: &str) -> Result<Report, ReportError> {
        match line.len() <= LONGEST {
            true => Ok(serde_json::from_str(line)?),
            false => Err(ReportError::TooLong),
        }
    }

    /// What it says exactly.
    pub fn bytes(&self) -> Result<Occupancy, ReportError> {
        let name = "buffered_bytes";
        match self.buffered_bytes {
            None => Err(ReportError::Without(name)),
            Some(value) if value > MOST => Err(ReportError::Range {
                name,
                value,
                most: MOST,
            }),
            Some(value) => Ok(Occupancy::Bytes(Bytes::new(value))),
        }
    }

    /// What its level says.
    pub fn level(&self) -> Result<Occupancy, ReportError> {
        let index = self.bsr.ok_or(ReportError::Without("bsr"))?;
        let level = Bsr::from_index(index).ok_or(ReportError::Range {
            name: "bsr",
            value: index.into(),
            most: Bsr::TOP.index().into(),
        })?;
        Ok(Occupancy::Level(level))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_says_what_the_source_asks_for() {
        let line = r#"{"time_ns":12,"buffered_bytes":20000,"bsr":50,"rsrp_dbm":-101}"#;
        let report = Report::parse(line).unwrap();
        assert_eq!(
            report.bytes().unwrap(),
            Occupancy::Bytes(Bytes::new(20_000))
        );
        let Occupancy::Level(level) = report.level().unwrap() else {
            panic!("{report:?}");
        };
        assert_eq!(level.upper_bound(), Some(Bytes::new(22_624)));
    }

    #[test]
    fn hostile_lines_are_refused_with_the_reason() {
        let long = format!("{{\"bsr\":1{}", " ".repeat(LONGEST));
        let faults = [
            "",
            "17",
            "{\"bsr\":300}",
            "{\"buffered_bytes\":-1}",
            "\u{0}",
            &long,
        ];
        for line in faults {
            assert!(Report::parse(line).is_err(), "{line:?}");
        }
        let said = |line: &str| {
            Report::parse(line)
                .unwrap()
                .level()
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            said("{\"bsr\":64}"),
            "bsr 64 is out of range; the maximum is 63"
        );
        assert_eq!(said("{\"buffered_bytes\":1}"), "the report has no bsr");
        let much = Report::parse("{\"buffered_bytes\":18446744073709551615}").unwrap();
        assert!(much.bytes().is_err());
    }
}
