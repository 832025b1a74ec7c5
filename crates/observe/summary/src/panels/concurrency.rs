//! How many flows of a user download at once (§4.1, Fig. 6).

use crate::findings::Findings;
use crate::panel::Panel;
use crate::view::View;
use std::collections::BTreeMap;
use unbloat_stats::Cdf;
use unbloat_table::Row;
use unbloat_trace::tables::ConcurrencyRow;

/// More concurrent flows than this are counted as this many.
const MOST: u64 = 4096;

#[derive(Default)]
pub(crate) struct Concurrency {
    seconds: BTreeMap<u64, u64>,
}

impl Panel for Concurrency {
    fn table(&self) -> &'static str {
        ConcurrencyRow::NAME
    }

    fn add(&mut self, view: &View) {
        let (flows, seconds) = (
            view.column(ConcurrencyRow::concurrent_flows),
            view.column(ConcurrencyRow::seconds),
        );
        for row in view.rows() {
            if let Some(n @ 1..) = flows.u64(row) {
                *self.seconds.entry(n.min(MOST)).or_default() += seconds.u64(row).unwrap_or(0);
            }
        }
    }

    fn finish(&self, found: &mut Findings) {
        let mut total = 0;
        let cumulate = |(&flows, &seconds): (&u64, &u64)| {
            total += seconds;
            (flows as f64, total)
        };
        let steps: Vec<(f64, u64)> = self.seconds.iter().map(cumulate).collect();
        let one = self.seconds.get(&1).copied().unwrap_or(0);
        let doc = "Of the seconds in which a user downloads at all (any flow with downlink payload within the last second), those with exactly one such flow.";
        let mut group = found.group("Concurrency (Fig. 6)");
        group.share("time with one active flow", (one, total), 72.1, doc);
        let points = Cdf::from_steps(&steps);
        let points = points.points().iter().map(|p| (p.value, p.share));
        found.curve("6", "active flows per user", points.collect());
        found.curve("6", "paper: active flows per user", vec![(1.0, 0.721)]);
    }
}
