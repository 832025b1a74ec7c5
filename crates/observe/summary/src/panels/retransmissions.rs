//! Downlink retransmission rate (§4.3).

use crate::findings::Findings;
use crate::panel::Panel;
use crate::view::View;
use unbloat_stats::LogHistogram;
use unbloat_trace::flows::{self, LossColumns, VolumeColumns};

#[derive(Default)]
pub(crate) struct Retransmissions {
    percent: LogHistogram,
    zero: u64,
}

impl Panel for Retransmissions {
    fn table(&self) -> &'static str {
        flows::NAME
    }

    fn add(&mut self, view: &View) {
        let (rate, payload) = (
            view.column(LossColumns::retransmission_rate.down),
            view.column(VolumeColumns::payload_down_bytes),
        );
        for row in view.tcp_rows().filter(|&row| payload.u64(row) > Some(0)) {
            if let Some(rate) = rate.f64(row) {
                self.percent.record(100.0 * rate);
                self.zero += u64::from(rate == 0.0);
            }
        }
    }

    fn finish(&self, found: &mut Findings) {
        let doc = "Repeated downlink packets over all downlink packets with payload, of flows with downlink payload.";
        let mut group = found.group("Retransmission (§4.3)");
        group.share(
            "flows without any",
            (self.zero, self.percent.count()),
            38.1,
            doc,
        );
        group.quantile("median rate", (&self.percent, 0.5), ("%", Some(0.06)), doc);
        group.quantile("p95 rate", (&self.percent, 0.95), ("%", None), doc);
    }
}
