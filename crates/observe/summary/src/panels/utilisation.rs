//! How much of the available bandwidth large flows use (§6.3, Fig. 21).

use crate::findings::Findings;
use crate::panel::Panel;
use crate::view::View;
use unbloat_stats::LogHistogram;
use unbloat_trace::flows::{self, BandwidthColumns, VolumeColumns};

#[derive(Default)]
pub(crate) struct Utilisation {
    percent: LogHistogram,
    sum: f64,
    below_half: u64,
    above_one: u64,
}

impl Panel for Utilisation {
    fn table(&self) -> &'static str {
        flows::NAME
    }

    fn add(&mut self, view: &View) {
        let (large, used) = (
            view.column(VolumeColumns::large_down),
            view.column(BandwidthColumns::utilisation.down),
        );
        for row in view.tcp_rows().filter(|&row| large.is_true(row)) {
            if let Some(ratio) = used.f64(row) {
                self.percent.record(100.0 * ratio);
                self.sum += ratio;
                self.below_half += u64::from(ratio < 0.5);
                self.above_one += u64::from(ratio > 1.0);
            }
        }
    }

    fn finish(&self, found: &mut Findings) {
        let doc = "Large flows alone on their user's downlink: payload over duration, divided by the mean of the flow's bandwidth estimates (one for each 250 ms).";
        let flows = self.percent.count();
        let mean = (flows > 0).then(|| 100.0 * self.sum / flows as f64);
        let mut group = found.group("Bandwidth utilisation (Fig. 21)");
        group.quantile("median", (&self.percent, 0.5), ("%", Some(19.8)), doc);
        group.number("mean", mean, ("%", Some(34.6)), flows, doc);
        group.share("flows below 50 %", (self.below_half, flows), 71.3, doc);
        group.share("flows above 100 %", (self.above_one, flows), 6.4, doc);
        found.cdf("21", "used / available", &self.percent);
        let marks = vec![(19.8, 0.5), (50.0, 0.713), (100.0, 0.936)];
        found.curve("21", "paper: used / available", marks);
    }
}
