//! Which flows get a time line.

use crate::columns::{column_of, each_batch};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use unbloat_run::{RunError, RunReader};
use unbloat_summary::{SummaryParams, Verdict};
use unbloat_table::ColumnView;

/// The flows with a time line, and how many there are in all.
pub(crate) struct Chosen {
    pub(crate) ids: BTreeSet<u64>,
    pub(crate) of: u64,
}

/// Of the places that the verdict's own flows leave, this part goes to the flows that suffer most
/// and the rest to the largest.
const SUFFERERS: f64 = 0.75;

/// At most `limit` flows: those that the verdict names, those with the largest added delay at p95,
/// and those with the most payload.
pub(crate) fn choose(
    run: &RunReader,
    verdict: Option<&Verdict>,
    limit: usize,
) -> Result<Chosen, RunError> {
    let mut candidates = Candidates::new(limit);
    let mut of = 0;
    each_batch(run, "flows", Candidates::COLUMNS, |batch| {
        of += batch.len() as u64;
        candidates.offer(|name| column_of(batch, name), batch.len());
    })?;
    let Candidates { worst, largest } = candidates;
    let mut ids: BTreeSet<u64> = verdict
        .map(|v| v.named_flows().collect())
        .unwrap_or_default();
    let free = limit.saturating_sub(ids.len());
    fill(
        &mut ids,
        &worst,
        limit - (free as f64 * (1.0 - SUFFERERS)) as usize,
    );
    fill(&mut ids, &largest, limit);
    fill(&mut ids, &worst, limit);
    Ok(Chosen { ids, of })
}

/// The flows that are not named by a verdict and may yet be shown.
pub struct Candidates {
    worst: Top,
    largest: Top,
}

impl Candidates {
    /// The columns of `flows` that [`Candidates::offer`] reads.
    pub const COLUMNS: &[&str] = &[
        "flow_id",
        "rtt_down_samples",
        "rtt_up_samples",
        "added_down_p95_ms",
        "added_up_p95_ms",
        "payload_down_bytes",
        "payload_up_bytes",
    ];

    /// At most `limit` of each kind are shown.
    pub fn new(limit: usize) -> Candidates {
        Candidates {
            worst: Top::new(limit),
            largest: Top::new(limit),
        }
    }

    /// Adds flows. Returns for each whether it is a candidate so far.
    pub fn offer<'a>(&mut self, column: impl Fn(&str) -> ColumnView<'a>, rows: usize) -> Vec<bool> {
        let min_samples = SummaryParams::default().min_rtt_samples;
        let [id, down_n, up_n, down_ms, up_ms, down, up] =
            std::array::from_fn(|i| column(Candidates::COLUMNS[i]));
        let each = (0..rows).map(|row| {
            let id = id.u64(row).unwrap_or_default();
            let judged = |n: &ColumnView, ms: &ColumnView| {
                let enough = n.u64(row).is_some_and(|n| n >= min_samples);
                ms.f64(row).filter(|_| enough).unwrap_or(0.0)
            };
            let delay = judged(&down_n, &down_ms).max(judged(&up_n, &up_ms));
            let payload = down.f64(row).unwrap_or(0.0) + up.f64(row).unwrap_or(0.0);
            self.worst.offer(delay, id) | self.largest.offer(payload, id)
        });
        each.collect()
    }
}

fn fill(ids: &mut BTreeSet<u64>, from: &Top, until: usize) {
    for id in from.ids() {
        if ids.len() >= until {
            return;
        }
        ids.insert(id);
    }
}

/// The ids of the largest positive keys.
struct Top {
    limit: usize,
    /// The largest key first, then the first flow; positive numbers are in the order of their bits.
    entries: BTreeSet<(Reverse<u64>, u64)>,
}

impl Top {
    fn new(limit: usize) -> Top {
        Top {
            limit,
            entries: BTreeSet::new(),
        }
    }

    /// Whether it is among the largest so far.
    fn offer(&mut self, key: f64, id: u64) -> bool {
        let new = (Reverse(key.to_bits()), id);
        let is_full = self.entries.len() >= self.limit;
        let is_among = key > 0.0 && (!is_full || self.entries.last() > Some(&new));
        if is_among {
            self.entries.insert(new);
            if is_full {
                self.entries.pop_last();
            }
        }
        is_among
    }

    fn ids(&self) -> impl Iterator<Item = u64> {
        self.entries.iter().map(|&(_, id)| id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_stay_and_ties_go_to_the_first_flow() {
        let mut top = Top::new(3);
        for id in 0..1000 {
            top.offer(f64::from(id as u32 % 10), id);
        }
        assert_eq!(top.ids().collect::<Vec<_>>(), [9, 19, 29]);
        assert_eq!(
            [top.offer(9.0, 5), top.offer(9.0, 25), top.offer(0.0, 0)],
            [true, false, false]
        );
        assert_eq!(top.ids().collect::<Vec<_>>(), [5, 9, 19]);
    }
}
