//! How likely a sentence is right.

use super::Confidence;
use super::claim::Claim;
use super::row::Row;

impl Confidence {
    /// The word for a probability.
    pub(super) fn of(probability: f64) -> Confidence {
        match probability {
            0.95.. => Confidence::High,
            0.8.. => Confidence::Medium,
            _ => Confidence::Low,
        }
    }
}

pub(super) fn of_queue(claim: &Claim, is_explained: bool) -> f64 {
    match is_explained && claim.is_direction_told {
        true => 0.97,
        false => 0.9,
    }
}

pub(super) fn of_no_queue(row: &Row) -> f64 {
    match row.floor_seen {
        true => 0.95,
        false => 0.8,
    }
}
