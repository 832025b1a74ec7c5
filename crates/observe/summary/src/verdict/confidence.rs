//! How likely a sentence is right.

use super::claim::Claim;
use super::row::Row;
use super::{Confidence, Verdict, VerdictKind};
use unbloat_health::{Health, ProblemKind, Weight};

/// Of 51 verdicts on captures with clock steps 42 were right (held-out seeds of the benchmark).
const CLOCK_STEPS: f64 = 0.82;
/// Not measured.
const OUT_OF_ORDER: f64 = 0.8;

impl Verdict {
    /// Adds what ails the capture, and is less sure where that makes verdicts wrong. Most does not: of one direction only, of captures with drops, cut
    /// packets and copies as many verdicts are right as of others, because they say less (the benchmark).
    pub(crate) fn on(mut self, health: &Health) -> Verdict {
        let is_queue = matches!(self.kind, VerdictKind::Bloated | VerdictKind::Slight);
        if let Some(sentence) = health.unreadable().filter(|_| !is_queue) {
            self.unread(&sentence);
            return self;
        }
        self.caveats.extend(health.sentences());
        let problems = health.problems();
        let most = problems.iter().filter_map(|problem| match problem.kind {
            ProblemKind::ClockStep => Some(CLOCK_STEPS),
            ProblemKind::OutOfOrder if problem.weight == Weight::Doubt => Some(OUT_OF_ORDER),
            _ => None,
        });
        let most = most.fold(1.0, f64::min);
        let directions = &mut self.directions;
        let all = [
            &mut self.confidence,
            &mut directions.down.confidence,
            &mut directions.up.confidence,
        ];
        for confidence in all.into_iter().flatten() {
            *confidence = confidence.min(most);
        }
        self.confidence_word = self.confidence.map(Confidence::of);
        self
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::{Judge, Verdict};
    use unbloat_health::{ClockHealth, Health, Offload};

    fn sure() -> Verdict {
        let mut verdict = Judge::new(crate::SummaryParams::default()).verdict();
        verdict.confidence = Some(0.97);
        verdict.directions.up.confidence = Some(0.97);
        verdict
    }

    #[test]
    fn a_clock_that_stepped_makes_verdicts_less_sure_and_offloads_do_not() {
        let stepped = Health {
            clock: ClockHealth {
                steps: 1,
                first: Vec::new(),
            },
            ..Health::default()
        };
        let verdict = sure().on(&stepped);
        let said = (verdict.confidence, verdict.directions.up.confidence);
        assert_eq!(said, (Some(CLOCK_STEPS), Some(CLOCK_STEPS)));
        assert_eq!(verdict.confidence_word, Some(Confidence::Medium));
        assert_eq!(verdict.caveats.len(), 1);
        let offloaded = Health {
            offload: Offload {
                data_packets: 100,
                large_packets: 50,
                largest_bytes: 20_000,
            },
            ..Health::default()
        };
        let unmoved = sure().on(&offloaded);
        assert_eq!(unmoved.confidence_word, Some(Confidence::High));
        assert_eq!(unmoved.caveats.len(), 1);
    }
}
