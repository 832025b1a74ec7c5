//! Which flows get a time line.

use crate::columns::{column_of, each_batch};
use std::cmp::Ordering;
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
    for id in from.sorted() {
        if ids.len() >= until {
            return;
        }
        ids.insert(id);
    }
}

/// The ids of the largest positive keys; amortised constant time for each offer.
struct Top {
    limit: usize,
    entries: Vec<(f64, u64)>,
    /// No smaller key is among the largest any more.
    least: f64,
}

impl Top {
    fn new(limit: usize) -> Top {
        Top {
            limit,
            entries: Vec::new(),
            least: f64::MIN_POSITIVE,
        }
    }

    /// Whether it is among the largest so far, or may be.
    fn offer(&mut self, key: f64, id: u64) -> bool {
        let is_among = key >= self.least;
        if is_among {
            self.entries.push((key, id));
        }
        if self.entries.len() > 4 * self.limit + 64 {
            self.entries.sort_unstable_by(larger_first);
            self.entries.truncate(self.limit);
            let least = self.entries.last();
            self.least = least.map_or(f64::INFINITY, |entry| entry.0);
        }
        is_among
    }

    fn sorted(&self) -> impl Iterator<Item = u64> {
        let mut entries = self.entries.clone();
        entries.sort_unstable_by(larger_first);
        entries.into_iter().map(|(_, id)| id)
    }
}

fn larger_first(a: &(f64, u64), b: &(f64, u64)) -> Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
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
        assert_eq!(top.sorted().take(3).collect::<Vec<_>>(), [9, 19, 29]);
    }
}
