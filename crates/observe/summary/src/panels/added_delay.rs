//! Queueing delay of flows on both sides of the capture point (§4.3).

use crate::SummaryParams;
use crate::findings::Findings;
use crate::panel::Panel;
use crate::view::View;
use unbloat_stats::LogHistogram;
use unbloat_trace::flows::{self, RttColumns};
use unbloat_units::{Both, Direction};

const STREAMS: Both<&str> = Both::new("downstream", "upstream");

pub(crate) struct AddedDelay {
    min_samples: u64,
    sides: Both<Delays>,
}

#[derive(Default)]
struct Delays {
    p50: LogHistogram,
    p95: LogHistogram,
    p99: LogHistogram,
}

impl AddedDelay {
    pub(crate) fn new(params: &SummaryParams) -> AddedDelay {
        AddedDelay {
            min_samples: params.min_rtt_samples,
            sides: Default::default(),
        }
    }
}

impl Panel for AddedDelay {
    fn table(&self) -> &'static str {
        flows::NAME
    }

    fn add(&mut self, view: &View) {
        for side in Direction::BOTH {
            let delays = &mut self.sides[side];
            let samples = view.column(RttColumns::rtt_samples[side]);
            let [p50, p95, p99] = [
                RttColumns::added_p50_ms,
                RttColumns::added_p95_ms,
                RttColumns::added_p99_ms,
            ]
            .map(|names| view.column(names[side]));
            for row in view.tcp_rows() {
                if samples.u64(row).unwrap_or(0) < self.min_samples {
                    continue;
                }
                for (histogram, column) in [
                    (&mut delays.p50, p50),
                    (&mut delays.p95, p95),
                    (&mut delays.p99, p99),
                ] {
                    if let Some(ms) = column.f64(row) {
                        histogram.record(ms);
                    }
                }
            }
        }
    }

    fn finish(&self, found: &mut Findings) {
        let mut group = found.group("Added delay (§4.3)");
        let doc = format!(
            "RTT over the flow's own floor, of flows with at least {} RTT samples on that side; median over flows.",
            self.min_samples
        );
        for (delays, side) in self.sides.iter().zip(STREAMS) {
            let rows = [
                ("p50", &delays.p50),
                ("p95", &delays.p95),
                ("p99", &delays.p99),
            ];
            for (name, histogram) in rows {
                let metric = format!("{side}, flow's {name}");
                group.quantile(&metric, (histogram, 0.5), ("ms", None), &doc);
            }
        }
    }
}
