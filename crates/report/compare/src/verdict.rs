//! What a comparison comes to.

use crate::estimate::Noise;
use crate::metric::Topic;
use crate::row::{Outcome, Row};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// In one word, by the key results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Overall {
    Better,
    Worse,
    /// Better in some, worse in others.
    Mixed,
    /// Different in what is neither good nor bad.
    Changed,
    CannotTell,
    Same,
    /// The runs have no quantity in common.
    NothingInCommon,
}

/// How many quantities came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
    pub better: u64,
    pub worse: u64,
    pub changed: u64,
    pub cannot_tell: u64,
    pub same: u64,
    /// Of those that differ, the ones whose noise is not known.
    pub unrepeated: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Verdict {
    pub overall: Overall,
    /// Over key results.
    pub key: Counts,
    /// Over all quantities.
    pub all: Counts,
    /// Places in the list of quantities of those that say most, one for each topic and way.
    pub leading: Vec<usize>,
}

impl Counts {
    fn of<'r>(rows: impl Iterator<Item = &'r Row>) -> Counts {
        let mut counts = Counts::default();
        for row in rows {
            let count = match row.outcome {
                Outcome::Better => &mut counts.better,
                Outcome::Worse => &mut counts.worse,
                Outcome::Changed => &mut counts.changed,
                Outcome::CannotTell => &mut counts.cannot_tell,
                Outcome::Same => &mut counts.same,
            };
            *count += 1;
            counts.unrepeated += u64::from(row.outcome.differs() && row.noise == Noise::Unknown);
        }
        counts
    }
}

impl Verdict {
    /// Of quantities in their final order.
    pub(crate) fn of(rows: &[Row]) -> Verdict {
        let key = Counts::of(rows.iter().filter(|row| row.is_key));
        let all = Counts::of(rows.iter());
        let deciding = deciding(rows);
        let decided = Counts::of(deciding.iter().map(|(_, row)| *row));
        let overall = match (decided.better, decided.worse, decided.changed) {
            _ if rows.is_empty() => Overall::NothingInCommon,
            (1.., 1.., _) => Overall::Mixed,
            (1.., 0, _) => Overall::Better,
            (0, 1.., _) => Overall::Worse,
            (0, 0, 1..) => Overall::Changed,
            _ if key.cannot_tell > 0 => Overall::CannotTell,
            _ => Overall::Same,
        };
        Verdict {
            overall,
            key,
            all,
            leading: leading(&deciding),
        }
    }
}

/// The key results that the verdict rests on, and their places. Single values whose noise is not known are of them only where no other of
/// their topic differs by more than its noise.
fn deciding(rows: &[Row]) -> Vec<(usize, &Row)> {
    let key = rows.iter().enumerate().filter(|(_, row)| row.is_key);
    let is_known = |row: &Row| row.noise != Noise::Unknown;
    let sure = key
        .clone()
        .filter(|(_, row)| row.outcome.differs() && is_known(row));
    let sure: BTreeSet<Topic> = sure.map(|(_, row)| row.topic).collect();
    key.filter(|(_, row)| is_known(row) || !sure.contains(&row.topic))
        .collect()
}

/// For each topic the key result that is most worse and the one that is most better.
fn leading(deciding: &[(usize, &Row)]) -> Vec<usize> {
    let mut leading = Vec::new();
    for topic in Topic::ALL {
        for outcome in [Outcome::Worse, Outcome::Better, Outcome::Changed] {
            let of_topic = deciding
                .iter()
                .filter(|(_, row)| row.topic == topic && row.outcome == outcome);
            let most =
                of_topic.max_by(|(i, x), (j, y)| weight(x).total_cmp(&weight(y)).then(j.cmp(i)));
            leading.extend(most.map(|(index, _)| index));
        }
    }
    leading
}

/// Results of the whole run and of a direction before those of one flow. Delays weigh what they differ by, as people wait; all else relative to the
/// smaller of the two values.
fn weight(row: &Row) -> f64 {
    let smaller = row.a.value.abs().min(row.b.value.abs()).max(row.margin);
    let size = match row.topic {
        Topic::Delay => row.difference.abs(),
        _ => row.difference.abs() / smaller.max(f64::MIN_POSITIVE),
    };
    let size = size.min(1e6);
    let is_wide = matches!(row.subject.as_str(), "all" | "down" | "up");
    size + if is_wide { 1e7 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::Goal;
    use crate::row::Side;

    fn delay(outcome: Outcome, noise: Noise, of_b: f64) -> Row {
        let side = |value| Side {
            value,
            interval: None,
            count: 1,
        };
        Row {
            topic: Topic::Delay,
            point: String::new(),
            subject: "up".to_owned(),
            metric: "added_up_ms".to_owned(),
            statistic: "mean",
            unit: "ms".to_owned(),
            goal: Goal::Less,
            is_key: true,
            a: side(100.0),
            b: side(of_b),
            difference: of_b - 100.0,
            interval: None,
            relative: None,
            margin: 1.0,
            noise,
            outcome,
        }
    }

    #[test]
    fn a_single_value_takes_nothing_from_what_is_sure() {
        let worse = |noise| delay(Outcome::Worse, noise, 120.0);
        let sure = delay(Outcome::Better, Noise::Blocks, 5.0);
        let overall = |rows: &[Row]| Verdict::of(rows).overall;
        let found = Verdict::of(&[worse(Noise::Unknown), sure.clone()]);
        assert_eq!((found.overall, found.leading), (Overall::Better, vec![1]));
        assert_eq!(found.key.worse, 1);
        // The longer wait leads, however short the other became.
        let better = |of_a: f64, of_b: f64| Row {
            a: Side {
                value: of_a,
                interval: None,
                count: 1,
            },
            difference: of_b - of_a,
            ..delay(Outcome::Better, Noise::Blocks, of_b)
        };
        let two = Verdict::of(&[better(327.0, 0.9), better(533.0, 1.9)]);
        assert_eq!(two.leading, [1]);
        // As sure, or nothing else of the topic.
        assert_eq!(overall(&[worse(Noise::Blocks), sure]), Overall::Mixed);
        assert_eq!(overall(&[worse(Noise::Unknown)]), Overall::Worse);
    }
}
