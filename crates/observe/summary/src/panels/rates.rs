//! Flow rates and how size, duration and rate go together (§4.1, Fig. 5).

use crate::findings::{Findings, Group};
use crate::panel::Panel;
use crate::view::View;
use unbloat_stats::{Correlation, LogHistogram};
use unbloat_trace::flows::{self, VolumeColumns};

/// The classes of downlink size that Figure 5 draws apart.
const CLASSES: [(u64, &str); 4] = [
    (0, "downlink"),
    (10_000, "downlink > 10 KB"),
    (100_000, "downlink > 100 KB"),
    (1_000_000, "downlink > 1 MB"),
];

#[derive(Default)]
pub(crate) struct Rates {
    down: [LogHistogram; CLASSES.len()],
    up: LogHistogram,
    down_logs: Logs,
    up_logs: Logs,
}

/// Correlations of the logs of size, duration and rate.
#[derive(Default)]
struct Logs {
    size_duration: Correlation,
    duration_rate: Correlation,
    rate_size: Correlation,
}

impl Logs {
    fn add(&mut self, size: f64, duration: f64, rate: f64) {
        let (s, d, r) = (size.ln(), duration.ln(), rate.ln());
        self.size_duration.record(s, d);
        self.duration_rate.record(d, r);
        self.rate_size.record(r, s);
    }

    fn finish(&self, group: &mut Group, way: &str, paper: [f64; 3]) {
        let doc = "Pearson's correlation of the natural logs over flows with payload in this direction and a duration above zero.";
        let pairs = [
            ("size, duration", &self.size_duration),
            ("duration, rate", &self.duration_rate),
            ("rate, size", &self.rate_size),
        ];
        for ((name, correlation), published) in pairs.into_iter().zip(paper) {
            let (r, n) = (correlation.coefficient(), correlation.count());
            group.number(
                &format!("log {name}, {way}"),
                r,
                ("r", Some(published)),
                n,
                doc,
            );
        }
    }
}

impl Panel for Rates {
    fn table(&self) -> &'static str {
        flows::NAME
    }

    fn add(&mut self, view: &View) {
        let (up_bytes, down_bytes) = (
            view.column(VolumeColumns::payload_up_bytes),
            view.column(VolumeColumns::payload_down_bytes),
        );
        let (up_rate, down_rate) = (
            view.column(VolumeColumns::rate_up_bps),
            view.column(VolumeColumns::rate_down_bps),
        );
        let duration = view.column(VolumeColumns::duration_ms);
        for row in view.tcp_rows() {
            let ms = duration.f64(row).unwrap_or(0.0);
            if let (Some(size @ 1..), Some(rate)) = (down_bytes.u64(row), down_rate.f64(row)) {
                for (class, (above, _)) in self.down.iter_mut().zip(CLASSES) {
                    if size > above {
                        class.record(rate);
                    }
                }
                self.down_logs.add(size as f64, ms, rate);
            }
            if let (Some(size @ 1..), Some(rate)) = (up_bytes.u64(row), up_rate.f64(row)) {
                self.up.record(rate);
                self.up_logs.add(size as f64, ms, rate);
            }
        }
    }

    fn finish(&self, found: &mut Findings) {
        let mut group = found.group("Flow rate (Fig. 5)");
        let doc = "Rate: payload in one direction over the flow's duration.";
        group.quantile(
            "median rate, down",
            (&self.down[0], 0.5),
            ("bit/s", None),
            doc,
        );
        group.quantile("median rate, up", (&self.up, 0.5), ("bit/s", None), doc);
        self.down_logs
            .finish(&mut group, "down", [0.196, -0.885, 0.392]);
        self.up_logs
            .finish(&mut group, "up", [0.030, -0.986, 0.445]);
        for (class, (_, name)) in self.down.iter().zip(CLASSES) {
            found.cdf("5", name, class);
        }
        found.cdf("5", "uplink", &self.up);
    }
}
