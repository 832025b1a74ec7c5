//! Whether a cure is to stay.

use crate::proposal::Proposal;
use unbloat_responsiveness::{LoadedDirection, UNNOTICED, Verdict};
use unbloat_sqm::{KneeParams, Qdisc};
use unbloat_units::{Both, Delta, Direction, Rate};

/// Delay has to fall by that share, and by more than tests of one path differ.
const FALLS: f64 = 0.25;
const FALLS_BY: Delta = Delta::ms(5);
/// What may be paid for it: a shaper's distance to the line's rate, and its framing.
pub(crate) const PAYS: f64 = 0.15;
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
    /// Of directions that have clearly less delay, but cost too much throughput: the share of it that they lost.
    pub dear: Both<Option<f64>>,
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
    let mut dear = Both::default();
    for was in &before.directions {
        let way = was.direction;
        let Some(is) = after.of(way) else {
            because.push(format!("{}: the second test has no result", way.name()));
            is_harmed |= !proposal.treats(way);
            continue;
        };
        let found = Found::of(was, is, proposal.followed != Both::default());
        let (outcome, reason) = found.judged(proposal.treats(way));
        because.push(sentence(was, is, reason));
        outcomes[way] = outcome;
        dear[way] = found.is_dear().then_some(found.paid);
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
        dear,
        because,
    }
}

/// A direction in both tests.
struct Found {
    /// Clearly less delay.
    is_less: bool,
    is_more: bool,
    /// More delay that others notice.
    is_noticed: bool,
    /// Share of the delivered rate that is missing now.
    paid: f64,
    /// What may be.
    pays: f64,
}

impl Found {
    fn of(before: &LoadedDirection, after: &LoadedDirection, is_changing: bool) -> Found {
        let enough = |delay: Delta| FALLS_BY.max(Delta::from_secs_f64(delay.as_secs() * FALLS));
        let fell = before.added_p95 - after.added_p95;
        // Of the line: behind a cure, the cure or a busy machine may make a rate unsteady.
        let is_steady = before.is_steady && !is_changing;
        Found {
            is_less: fell >= enough(before.added_p95),
            is_more: fell <= Delta::ZERO - enough(before.added_p95),
            is_noticed: after.is_felt() && after.added - before.added >= enough(before.added),
            paid: 1.0 - after.delivered.as_bps_f64() / before.delivered.as_bps_f64().max(1.0),
            pays: if is_steady { PAYS } else { PAYS_UNSTEADY },
        }
    }

    fn is_dear(&self) -> bool {
        self.is_less && self.paid > self.pays
    }

    /// What nobody notices may differ: of a direction that was let alone, others have to notice it.
    fn judged(&self, is_treated: bool) -> (Outcome, &'static str) {
        let is_worse = self.is_more && (is_treated || self.is_noticed);
        match is_treated {
            _ if self.paid > self.pays => (Outcome::Harmed, " (costs too much throughput)"),
            _ if is_worse => (Outcome::Harmed, " (worse)"),
            true if !self.is_less => (Outcome::Same, " (not clearly less)"),
            true => (Outcome::Helped, ""),
            false => (Outcome::Same, ""),
        }
    }
}

fn sentence(before: &LoadedDirection, after: &LoadedDirection, reason: &str) -> String {
    format!(
        "{}: delay added in this direction (p95) {:.0} ms before, {:.0} ms now; {} delivered before, {} now{reason}",
        before.direction.name(),
        before.added_p95.as_ms(),
        after.added_p95.as_ms(),
        before.delivered,
        after.delivered,
    )
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
    fn a_shaper_that_costs_too_much_comes_nearer_to_the_line() {
        let before = tested(both((160, 48), (9, 9))).verdict;
        let first = Proposal {
            shaped: Both::new(Some(Rate::kbps(44_751)), None),
            ..Proposal::default()
        };
        let nearer = |proposal: &Proposal, mbps| {
            let after = tested(both((12, mbps), (9, 9))).verdict;
            proposal.nearer(judge(proposal, &before, &after).dear, &before)
        };
        // 44.751 * 0.8875 / (40 / 48) Mbit/s.
        let second = nearer(&first, 40).unwrap();
        assert_eq!(second.shaped, Both::new(Some(Rate::kbps(47_660)), None));
        // No nearer than 98 % of the line's 49.724 Mbit/s.
        let third = nearer(&second, 30).unwrap();
        assert_eq!(third.shaped.down, Some(Rate::kbps(48_729)));
        assert_eq!(nearer(&third, 30), None);
        // What stays does.
        assert_eq!(nearer(&first, 43), None);
    }

    #[test]
    fn a_cure_for_lines_that_change_may_cost_what_these_differ_by() {
        let followed = Proposal {
            followed: Both::new(true, true),
            ..Proposal::default()
        };
        let before = tested(both((1_300, 20), (1_200, 10))).verdict;
        let after = tested(both((270, 15), (300, 9))).verdict;
        let stays = judge(&followed, &before, &after).stays;
        assert_eq!(stays, Both::new(true, true));
    }

    #[test]
    fn a_rate_that_is_unsteady_only_behind_the_cure_excuses_no_cost() {
        let before = tested(both((343, 192), (1, 15))).verdict;
        let mut after = tested(both((11, 154), (1, 15))).verdict;
        after.directions[0].is_steady = false;
        assert!(!judge(&shaped(true, false), &before, &after).has_helped());
        let mut changes = before;
        changes.directions[0].is_steady = false;
        assert!(judge(&shaped(true, false), &changes, &after).stays.down);
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
