//! How likely a sentence is right.

use super::Confidence;
use super::claim::Claim;
use super::row::{Row, Series};

impl Confidence {
    /// The words of `docs/verdicts.md`; below low nothing is claimed.
    pub(super) fn of(probability: f64) -> Confidence {
        match probability {
            0.95.. => Confidence::High,
            0.8.. => Confidence::Medium,
            _ => Confidence::Low,
        }
    }
}

pub(super) fn of_queue(claim: &Claim, is_explained: bool) -> f64 {
    match (claim.row.series, is_explained) {
        (Series::Path, true) => 0.98,
        (Series::OneWay, true) => 0.9,
        (Series::Loop, true) => 0.9,
        (_, false) => 0.7,
    }
}

pub(super) fn of_no_queue(row: &Row) -> f64 {
    match row.floor_seen {
        true => 0.95,
        false => 0.7,
    }
}
