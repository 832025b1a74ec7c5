//! Estimates of the bandwidth available (§6.1, Fig. 19, 20 and 22).

use crate::findings::Findings;
use crate::panel::Panel;
use crate::view::View;
use std::collections::BTreeMap;
use unbloat_stats::LogHistogram;
use unbloat_table::Row;
use unbloat_trace::tables::BandwidthRow;

/// Flows followed at once, and points kept of each.
const FLOWS: usize = 128;
const POINTS: usize = 1024;

#[derive(Default)]
pub(crate) struct Bandwidth {
    estimates_bps: LogHistogram,
    sending_bps: LogHistogram,
    resolution_percent: LogHistogram,
    series: BTreeMap<u64, Series>,
    dropped: bool,
}

/// One flow's estimates, thinned to every `stride`-th when there are too many.
struct Series {
    seen: u64,
    stride: u64,
    latest_ns: i64,
    points: Vec<Estimate>,
}

#[derive(Clone, Copy)]
struct Estimate {
    time_ns: i64,
    bandwidth_bps: f64,
    sending_bps: f64,
}

impl Series {
    fn add(&mut self, estimate: Estimate) {
        self.latest_ns = self.latest_ns.max(estimate.time_ns);
        if self.seen.is_multiple_of(self.stride) {
            self.points.push(estimate);
        }
        self.seen += 1;
        if self.points.len() > POINTS {
            self.stride *= 2;
            let mut index = 0;
            self.points.retain(|_| {
                index += 1;
                index % 2 == 1
            });
        }
    }

    /// Seconds since the flow's first estimate against the rates given by `value`, in Mbit/s.
    fn curve(&self, value: impl Fn(&Estimate) -> f64) -> Vec<(f64, f64)> {
        let mut sorted = self.points.clone();
        sorted.sort_by_key(|e| e.time_ns);
        let first = sorted.first().map_or(0, |e| e.time_ns);
        let seconds = |e: &Estimate| e.time_ns.saturating_sub(first) as f64 / 1e9;
        sorted
            .iter()
            .map(|e| (seconds(e), value(e) / 1e6))
            .collect()
    }
}

impl Bandwidth {
    fn follow(&mut self, flow: u64, estimate: Estimate) {
        if !self.series.contains_key(&flow) && self.series.len() >= FLOWS {
            // The flow with the fewest estimates goes, of those the one silent for longest: a
            // large flow that has just begun outlives small ones that have ended.
            let least = self
                .series
                .iter()
                .min_by_key(|(_, s)| (s.seen, s.latest_ns));
            if let Some((&least, _)) = least {
                self.series.remove(&least);
                self.dropped = true;
            }
        }
        let series = self.series.entry(flow).or_insert(Series {
            seen: 0,
            stride: 1,
            latest_ns: i64::MIN,
            points: Vec::new(),
        });
        series.add(estimate);
    }

    /// Flows by the number of their estimates, most first.
    fn longest(&self) -> Vec<(u64, &Series)> {
        let mut flows: Vec<(u64, &Series)> = self.series.iter().map(|(&id, s)| (id, s)).collect();
        flows.sort_by_key(|&(id, series)| (std::cmp::Reverse(series.seen), id));
        flows
    }
}

impl Panel for Bandwidth {
    fn table(&self) -> &'static str {
        BandwidthRow::NAME
    }

    fn add(&mut self, view: &View) {
        let (flow, side, time) = (
            view.column(BandwidthRow::flow_id),
            view.column(BandwidthRow::side),
            view.column(BandwidthRow::time_ns),
        );
        let (bandwidth, sending) = (
            view.column(BandwidthRow::bandwidth_bps),
            view.column(BandwidthRow::sending_bps),
        );
        let resolution = view.column(BandwidthRow::resolution);
        for row in view.rows().filter(|&row| side.is(row, "down")) {
            let (Some(flow), Some(time_ns), Some(bandwidth_bps)) =
                (flow.u64(row), time.i64(row), bandwidth.f64(row))
            else {
                continue;
            };
            let sending_bps = sending.f64(row).unwrap_or(0.0);
            self.estimates_bps.record(bandwidth_bps);
            self.sending_bps.record(sending_bps);
            if let Some(error) = resolution.f64(row) {
                self.resolution_percent.record(100.0 * error);
            }
            self.follow(
                flow,
                Estimate {
                    time_ns,
                    bandwidth_bps,
                    sending_bps,
                },
            );
        }
    }

    fn finish(&self, found: &mut Findings) {
        let doc = "Formula 2 on windows that the server sends faster than the link carries: bytes over the time between their ACKs on the client's timestamp clock.";
        let mut group = found.group("Available bandwidth (Fig. 19, 20, 22)");
        for (metric, q) in [("p5", 0.05), ("median", 0.5), ("p95", 0.95)] {
            group.quantile(metric, (&self.estimates_bps, q), ("bit/s", None), doc);
        }
        group.quantile(
            "median resolution",
            (&self.resolution_percent, 0.5),
            ("%", None),
            "One timestamp tick over the window: the error that the clock's grain alone can make.",
        );
        found.cdf("19", "estimated bandwidth", &self.estimates_bps);
        found.cdf("19", "sending rate in the same windows", &self.sending_bps);
        let longest = self.longest();
        if let Some((_, series)) = longest.first() {
            found.curve(
                "20",
                "estimated bandwidth",
                series.curve(|e| e.bandwidth_bps),
            );
            found.curve("20", "sending rate", series.curve(|e| e.sending_bps));
        }
        for (id, series) in longest.iter().take(2) {
            found.curve(
                "22",
                &format!("flow {id}"),
                series.curve(|e| e.bandwidth_bps),
            );
        }
        if self.dropped {
            found.note(format!("Figures 20 and 22 show the flows with most estimates among {FLOWS} followed at once; a flow with more may have been let go early."));
        }
    }
}
