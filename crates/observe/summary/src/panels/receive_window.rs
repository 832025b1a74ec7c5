//! Flows held back by the client's receive window (§7.2).

use crate::findings::Findings;
use crate::panel::Panel;
use crate::view::View;
use unbloat_stats::LogHistogram;
use unbloat_trace::flows::{self, VolumeColumns, WindowColumns};

#[derive(Default)]
pub(crate) struct ReceiveWindow {
    known: u64,
    unknown: u64,
    full: u64,
    early: u64,
    initial: LogHistogram,
}

impl Panel for ReceiveWindow {
    fn table(&self) -> &'static str {
        flows::NAME
    }

    fn add(&mut self, view: &View) {
        let (payload, known) = (
            view.column(VolumeColumns::payload_down_bytes),
            view.column(WindowColumns::window_scale_known.down),
        );
        let initial = view.column(WindowColumns::window_initial_bytes.down);
        let (share, first) = (
            view.column(WindowColumns::full_window_share.down),
            view.column(WindowColumns::full_window_first_pct.down),
        );
        for row in view.tcp_rows().filter(|&row| payload.u64(row) > Some(0)) {
            if !known.is_true(row) {
                self.unknown += 1;
                continue;
            }
            self.known += 1;
            if let Some(bytes) = initial.u64(row) {
                self.initial.record(bytes as f64);
            }
            if share.f64(row) > Some(0.0) {
                self.full += 1;
                self.early += u64::from(first.f64(row).is_some_and(|percent| percent <= 10.0));
            }
        }
    }

    fn finish(&self, found: &mut Findings) {
        let doc = "Flows with downlink payload in which at some time less than one segment was left of the window that the client allowed (the study's own example stalls at 816 bytes).";
        let mut group = found.group("Receive window (§7.2)");
        group.share(
            "downlink flows that filled it",
            (self.full, self.known),
            52.6,
            doc,
        );
        group.share(
            "of those, within the first 10 % of the flow",
            (self.early, self.full),
            91.2,
            doc,
        );
        group.quantile(
            "median initial window",
            (&self.initial, 0.5),
            ("B", Some(131_712.0)),
            "The first window that the client advertises, scaled.",
        );
        let all = self.known + self.unknown;
        group.share(
            "flows whose window is unknown",
            (self.unknown, all),
            None,
            "Without both SYNs the window's scale is unknown; these flows are in no other row.",
        );
    }
}
