//! Whether a cure is to stay.

use crate::proposal::Proposal;
use unbloat_responsiveness::{LoadedDirection, UNNOTICED, Verdict};
use unbloat_sqm::{KneeParams, Qdisc};
use unbloat_units::{Both, Delta, Direction, Rate};

/// Delay has to fall by that share, and by more than tests of one path differ.
const FALLS: f64 = 0.25;
const FALLS_BY: Delta = Delta::ms(5);
/// What may be paid for it: a shaper's distance to the line's rate, and its framing.
const PAYS: f64 = 0.15;
/// Where the rate of the line changes by itself, two tests differ by more.
const PAYS_UNSTEADY: f64 = 0.30;

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
    /// Directions whose treatment stays.
    pub stays: Both<bool>,
    /// A sentence for each direction.
    pub because: Vec<String>,
}

impl Judgement {
    pub fn has_helped(&self) -> bool {
        self.stays != Both::default()
    }
}

/// How a direction came out of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Helped,
    /// Neither better nor worse.
    Same,
    Harmed,
}

/// The treatment of a direction stays if that direction has clearly less delay and does not pay for it with much of its rate. One treatment for both
/// directions stays if it has helped one and harmed none. None stays if a direction without treatment is worse than two tests of one path differ, or if
/// the second test is not to be trusted: then it proves nothing.
pub fn judge(proposal: &Proposal, before: &Verdict, after: &Verdict) -> Judgement {
    let mut because: Vec<String> = after
        .fatal()
        .map(|reason| format!("the second test is not valid: {reason}"))
        .collect();
    let mut is_harmed = !because.is_empty();
    let mut outcomes = Both::of(|_| Outcome::Same);
    for was in &before.directions {
        let way = was.direction;
        let Some(is) = after.of(way) else {
            because.push(format!("{}: the second test has no result", way.name()));
            is_harmed |= !proposal.treats(way);
            continue;
        };
        let (outcome, sentence) = one(proposal.treats(way), was, is);
        because.push(sentence);
        outcomes[way] = outcome;
        is_harmed |= !proposal.treats(way) && outcome == Outcome::Harmed;
    }
    let has = |outcome| {
        Direction::BOTH
            .into_iter()
            .any(|way| outcomes[way] == outcome)
    };
    let both_stay = has(Outcome::Helped) && !has(Outcome::Harmed);
    let stays = Both::of(|way| match proposal.followed == Both::default() {
        true => outcomes[way] == Outcome::Helped,
        false => both_stay,
    });
    Judgement {
        stays: Both::of(|way| stays[way] && proposal.treats(way) && !is_harmed),
        because,
    }
}

fn one(is_treated: bool, before: &LoadedDirection, after: &LoadedDirection) -> (Outcome, String) {
    let enough = |delay: Delta| FALLS_BY.max(Delta::from_secs_f64(delay.as_secs() * FALLS));
    let fell = before.added_p95 - after.added_p95;
    let is_less = fell >= enough(before.added_p95);
    // What nobody notices may differ: of a direction that was let alone, others have to notice it.
    let is_noticed = after.is_felt() && after.added - before.added >= enough(before.added);
    let is_worse = fell <= Delta::ZERO - enough(before.added_p95) && (is_treated || is_noticed);
    let pays = match before.is_steady && after.is_steady {
        true => PAYS,
        false => PAYS_UNSTEADY,
    };
    let paid = 1.0 - after.delivered.as_bps_f64() / before.delivered.as_bps_f64().max(1.0);
    let (outcome, reason) = match is_treated {
        _ if paid > pays => (Outcome::Harmed, " (costs too much throughput)"),
        _ if is_worse => (Outcome::Harmed, " (worse)"),
        true if !is_less => (Outcome::Same, " (not clearly less)"),
        true => (Outcome::Helped, ""),
        false => (Outcome::Same, ""),
    };
    let sentence = format!(
        "{}: delay added in this direction (p95) {:.0} ms before, {:.0} ms now; {} delivered before, {} now{reason}",
        before.direction.name(),
        before.added_p95.as_ms(),
        after.added_p95.as_ms(),
        before.delivered,
        after.delivered,
    );
    (outcome, sentence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{doubted, loaded, tested};

    fn both(down: (i64, u64), up: (i64, u64)) -> Vec<LoadedDirection> {
        vec![
            loaded(Direction::Down, down.0, down.1),
            loaded(Direction::Up, up.0, up.1),
        ]
    }

    fn shaped(down: bool, up: bool) -> Proposal {
        Proposal {
            shaped: Both::new(down, up).map(|is| is.then(|| Rate::mbps(9))),
            ..Proposal::default()
        }
    }

    fn judged(after: &Verdict) -> Judgement {
        let before = tested(both((160, 48), (9, 9)));
        judge(&shaped(true, false), &before.verdict, after)
    }

    #[test]
    fn less_delay_for_little_throughput_helps() {
        let judgement = judged(&tested(both((12, 43), (10, 9))).verdict);
        assert_eq!(judgement.stays, Both::new(true, false), "{judgement:?}");
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
            ((12, 43), (9, 7), "too much throughput"),
        ];
        for (down, up, word) in afters {
            let judgement = judged(&tested(both(down, up)).verdict);
            assert!(!judgement.has_helped());
            let said = judgement.because.join(" ");
            assert!(said.contains(word), "{said}");
        }
    }

    #[test]
    fn each_direction_is_kept_or_undone_by_itself() {
        let before = tested(both((151, 10), (604, 1))).verdict;
        let stays = |down, up| {
            let after = tested(both(down, up)).verdict;
            judge(&shaped(true, true), &before, &after).stays
        };
        // The upload is cured; the download pays too much for it.
        assert_eq!(stays((36, 8), (15, 1)), Both::new(false, true));
        assert_eq!(stays((36, 9), (600, 1)), Both::new(true, false));
        assert_eq!(stays((36, 9), (15, 1)), Both::new(true, true));
    }

    #[test]
    fn jitter_where_nothing_was_treated_and_that_nobody_notices_undoes_no_cure() {
        let quiet = |p95| LoadedDirection {
            added: Delta::ms(15),
            is_steady: false,
            ..loaded(Direction::Down, p95, 18)
        };
        let with = |down, up| tested(vec![down, loaded(Direction::Up, up, 31)]).verdict;
        let (before, after) = (with(quiet(43), 522), with(quiet(57), 145));
        assert!(judge(&shaped(false, true), &before, &after).stays.up);
        let noticed = with(loaded(Direction::Down, 57, 18), 145);
        assert!(!judge(&shaped(false, true), &before, &noticed).has_helped());
    }

    #[test]
    fn a_cure_of_both_directions_at_once_stays_for_both_or_none() {
        let followed = Proposal {
            followed: Both::new(true, true),
            ..Proposal::default()
        };
        let before = tested(both((300, 10), (400, 5))).verdict;
        let stays = |down, up| judge(&followed, &before, &tested(both(down, up)).verdict).stays;
        assert_eq!(stays((290, 10), (60, 5)), Both::new(true, true));
        assert_eq!(stays((290, 6), (60, 5)), Both::default());
    }

    #[test]
    fn a_second_test_that_proves_nothing_does_not_help() {
        let loads = both((12, 43), (10, 9));
        let busy = doubted(loads.clone(), &["the processor was busy"]);
        assert!(!judged(&busy.verdict).has_helped());
        assert!(!judged(&tested(loads[1..].to_vec()).verdict).has_helped());
        // Nothing is known of a direction that was let alone.
        assert!(!judged(&tested(loads[..1].to_vec()).verdict).has_helped());
    }
}
