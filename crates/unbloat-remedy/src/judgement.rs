//! Whether a cure is to stay.

use crate::proposal::Proposal;
use crate::tested::{Loaded, Tested};
use unbloat_responsiveness::UNNOTICED;
use unbloat_sqm::{KneeParams, Qdisc};
use unbloat_units::{Delta, Rate};
use unbloat_workload::Direction;

/// Delay has to fall by that share, and by more than tests of one path differ.
const FALLS: f64 = 0.25;
const FALLS_BY: Delta = Delta::ms(5);
/// What may be paid for it: a shaper's distance to the line's rate, and its framing.
const PAYS: f64 = 0.15;

/// What a search for a shaper's rate aims at: half of what is noticed, so that the second test, whose load is another, stays below that. Rates that
/// cost more goodput than may be paid are not tried.
pub fn searched(measured: Rate, qdisc: Qdisc) -> KneeParams {
    let usual = KneeParams::of(measured, qdisc);
    KneeParams {
        target: usual.target.max(UNNOTICED / 2),
        least_percent: (100.0 * (1.0 - PAYS)) as u64,
        ..usual
    }
}

/// What the second test says of the cure.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    pub has_helped: bool,
    /// A sentence for each direction.
    pub because: Vec<String>,
}

/// The cure has helped if each direction that it treats has clearly less delay, and no direction pays for it with more delay or
/// with much goodput. A second test that is not to be trusted proves nothing: then it has not helped.
pub fn judge(proposal: &Proposal, before: &Tested, after: &Tested) -> Judgement {
    let mut judgement = Judgement {
        has_helped: after.distrust.is_empty(),
        because: Vec::new(),
    };
    for reason in &after.distrust {
        judgement
            .because
            .push(format!("the second test is not to be trusted: {reason}"));
    }
    let ways = [
        (Direction::Down, before.down, after.down),
        (Direction::Up, before.up, after.up),
    ];
    for (way, was, is) in ways {
        let is_treated = proposal.treats(way);
        let (has_helped, sentence) = match (was, is) {
            (Some(was), Some(is)) => one(way, is_treated, was, is),
            (None, _) => continue,
            (Some(_), None) => (
                false,
                format!("{}: the second test says nothing", way.name()),
            ),
        };
        judgement.has_helped &= has_helped;
        judgement.because.push(sentence);
    }
    judgement
}

impl Proposal {
    pub fn treats(&self, way: Direction) -> bool {
        self.shaped[way as usize].is_some()
            || self.followed[way as usize]
            || (way == Direction::Down && self.holds_window)
    }
}

fn one(way: Direction, is_treated: bool, before: Loaded, after: Loaded) -> (bool, String) {
    let fell = before.added_p95 - after.added_p95;
    let enough = FALLS_BY.max(Delta::from_secs_f64(before.added_p95.as_secs() * FALLS));
    let paid = 1.0 - after.goodput.as_bps_f64() / before.goodput.as_bps_f64().max(1.0);
    let reason = if paid > PAYS {
        "and costs too much goodput"
    } else if fell < Delta::ZERO - enough {
        "and is worse"
    } else if is_treated && fell < enough {
        "which is not clearly less"
    } else {
        ""
    };
    let (name, was, is) = (
        way.name(),
        before.added_p95.as_ms(),
        after.added_p95.as_ms(),
    );
    let sentence = format!(
        "{name}: added {was:.0} ms before, {is:.0} ms now, {} before, {} now {reason}",
        before.goodput, after.goodput,
    );
    (reason.is_empty(), sentence.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(added_ms: i64, kbps: u64) -> Loaded {
        Loaded {
            goodput: Rate::kbps(kbps),
            added_p50: Delta::ms(added_ms),
            added_p95: Delta::ms(added_ms),
            is_steady: true,
        }
    }

    fn tested(down: Loaded, up: Loaded) -> Tested {
        Tested {
            down: Some(down),
            up: Some(up),
            ..Tested::default()
        }
    }

    fn judged(before: &Tested, after: &Tested) -> Judgement {
        let proposal = Proposal {
            shaped: [Some(Rate::mbps(45)), None],
            ..Proposal::default()
        };
        judge(&proposal, before, after)
    }

    #[test]
    fn less_delay_for_little_goodput_helps() {
        let before = tested(loaded(160, 48_000), loaded(9, 9_500));
        let after = tested(loaded(12, 43_000), loaded(10, 9_500));
        let judgement = judged(&before, &after);
        assert!(judgement.has_helped, "{judgement:?}");
        assert_eq!(
            judgement.because[0],
            "down: added 160 ms before, 12 ms now, 48.00 Mbit/s before, 43.00 Mbit/s now"
        );
    }

    #[test]
    fn no_less_delay_too_little_goodput_or_a_worse_neighbour_do_not_help() {
        let before = tested(loaded(160, 48_000), loaded(9, 9_500));
        let afters = [
            (loaded(140, 47_000), loaded(9, 9_500), "not clearly less"),
            (loaded(12, 30_000), loaded(9, 9_500), "too much goodput"),
            (loaded(12, 43_000), loaded(90, 9_500), "is worse"),
        ];
        for (down, up, word) in afters {
            let judgement = judged(&before, &tested(down, up));
            assert!(!judgement.has_helped);
            assert!(
                judgement.because.iter().any(|b| b.contains(word)),
                "{judgement:?}"
            );
        }
    }

    #[test]
    fn a_second_test_that_proves_nothing_does_not_help() {
        let before = tested(loaded(160, 48_000), loaded(9, 9_500));
        let mut after = tested(loaded(12, 43_000), loaded(10, 9_500));
        after.distrust = vec!["the processor was busy".into()];
        assert!(!judged(&before, &after).has_helped);
        after.distrust.clear();
        after.down = None;
        assert!(!judged(&before, &after).has_helped);
    }
}
