//! What a comparison comes to.

use crate::estimate::Noise;
use crate::metric::Topic;
use crate::row::{Outcome, Row};
use schemars::JsonSchema;
use serde::Serialize;

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
        let overall = match (key.better, key.worse, key.changed) {
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
            leading: leading(rows),
        }
    }
}

/// For each topic the key result that is most worse and the one that is most better, relative to the smaller of the two values.
fn leading(rows: &[Row]) -> Vec<usize> {
    let mut leading = Vec::new();
    for topic in Topic::ALL {
        for outcome in [Outcome::Worse, Outcome::Better, Outcome::Changed] {
            let of_topic = rows.iter().enumerate();
            let of_topic = of_topic
                .filter(|(_, row)| row.is_key && row.topic == topic && row.outcome == outcome);
            let most =
                of_topic.max_by(|(i, x), (j, y)| weight(x).total_cmp(&weight(y)).then(j.cmp(i)));
            leading.extend(most.map(|(index, _)| index));
        }
    }
    leading
}

/// Sure ones before others; results of the whole run and of a direction before those of one flow.
fn weight(row: &Row) -> f64 {
    let smaller = row.a.value.abs().min(row.b.value.abs()).max(row.margin);
    let size = (row.difference.abs() / smaller.max(f64::MIN_POSITIVE)).min(1e6);
    let is_wide = matches!(row.subject.as_str(), "all" | "down" | "up");
    let sure = if row.noise == Noise::Unknown {
        0.0
    } else {
        1e9
    };
    size + sure + if is_wide { 1e7 } else { 0.0 }
}
