//! Whether a cure is to stay.

use crate::proposal::Proposal;
use unbloat_responsiveness::{LoadedDirection, UNNOTICED, Verdict};
use unbloat_sqm::{KneeParams, Qdisc};
use unbloat_units::{Delta, Rate};

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
pub fn judge(proposal: &Proposal, before: &Verdict, after: &Verdict) -> Judgement {
    let mut judgement = Judgement {
        has_helped: after.fatal().next().is_none(),
        because: Vec::new(),
    };
    for reason in after.fatal() {
        judgement
            .because
            .push(format!("the second test is not valid: {reason}"));
    }
    for was in &before.directions {
        let way = was.direction;
        let (has_helped, sentence) = match after.of(way) {
            Some(is) => one(proposal.treats(way), was, is),
            None => (
                false,
                format!("{}: the second test has no result", way.name()),
            ),
        };
        judgement.has_helped &= has_helped;
        judgement.because.push(sentence);
    }
    judgement
}

fn one(is_treated: bool, before: &LoadedDirection, after: &LoadedDirection) -> (bool, String) {
    let fell = before.added_p95 - after.added_p95;
    let enough = FALLS_BY.max(Delta::from_secs_f64(before.added_p95.as_secs() * FALLS));
    let paid = 1.0 - after.delivered.as_bps_f64() / before.delivered.as_bps_f64().max(1.0);
    let reason = if paid > PAYS {
        " (costs too much throughput)"
    } else if fell < Delta::ZERO - enough {
        " (worse)"
    } else if is_treated && fell < enough {
        " (not clearly less)"
    } else {
        ""
    };
    let sentence = format!(
        "{}: delay added in this direction (p95) {:.0} ms before, {:.0} ms now; {} delivered before, {} now{reason}",
        before.direction.name(),
        before.added_p95.as_ms(),
        after.added_p95.as_ms(),
        before.delivered,
        after.delivered,
    );
    (reason.is_empty(), sentence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{doubted, loaded, tested};
    use unbloat_units::{Both, Direction};

    fn both(down: (i64, u64), up: (i64, u64)) -> Vec<LoadedDirection> {
        vec![
            loaded(Direction::Down, down.0, down.1),
            loaded(Direction::Up, up.0, up.1),
        ]
    }

    fn judged(after: &Verdict) -> Judgement {
        let proposal = Proposal {
            shaped: Both::new(Some(Rate::mbps(45)), None),
            ..Proposal::default()
        };
        let before = tested(both((160, 48), (9, 9)));
        judge(&proposal, &before.verdict, after)
    }

    #[test]
    fn less_delay_for_little_throughput_helps() {
        let judgement = judged(&tested(both((12, 43), (10, 9))).verdict);
        assert!(judgement.has_helped, "{judgement:?}");
        assert_eq!(
            judgement.because[0],
            "down: delay added in this direction (p95) 160 ms before, 12 ms now; 48.00 Mbit/s delivered before, 43.00 Mbit/s now"
        );
    }

    #[test]
    fn no_less_delay_too_little_throughput_or_a_worse_neighbour_do_not_help() {
        let afters = [
            ((140, 47), (9, 9), "not clearly less"),
            ((12, 30), (9, 9), "too much throughput"),
            ((12, 43), (90, 9), "worse"),
        ];
        for (down, up, word) in afters {
            let judgement = judged(&tested(both(down, up)).verdict);
            assert!(!judgement.has_helped);
            let said = judgement.because.join(" ");
            assert!(said.contains(word), "{said}");
        }
    }

    #[test]
    fn a_second_test_that_proves_nothing_does_not_help() {
        let loads = both((12, 43), (10, 9));
        let busy = doubted(loads.clone(), &["the processor was busy"]);
        assert!(!judged(&busy.verdict).has_helped);
        assert!(!judged(&tested(loads[1..].to_vec()).verdict).has_helped);
    }
}
