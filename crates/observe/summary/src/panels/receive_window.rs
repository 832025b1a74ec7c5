//! Flows held back by the client's receive window (§7.2).

use crate::findings::Findings;
use crate::panel::Panel;
use crate::view::View;
use unbloat_stats::LogHistogram;

#[derive(Default)]
pub(crate) struct ReceiveWindow {
    known: u64,
    unknown: u64,
    full: u64,
    early: u64,
    initial: LogHistogram,
}

impl Panel for ReceiveWindow {
    fn title(&self) -> &'static str {
        "the receive window (§7.2)"
    }

    fn needs(&self) -> &'static [(&'static str, &'static [&'static str])] {
        const COLUMNS: &[&str] = &[
            "protocol",
            "payload_down_bytes",
            "window_scale_down_known",
            "window_down_initial_bytes",
            "full_window_down_share",
            "full_window_down_first_pct",
        ];
        &[("flows", COLUMNS)]
    }

    fn add(&mut self, _: &str, view: &View) {
        let (payload, known) = (
            view.column("payload_down_bytes"),
            view.column("window_scale_down_known"),
        );
        let initial = view.column("window_down_initial_bytes");
        let (share, first) = (
            view.column("full_window_down_share"),
            view.column("full_window_down_first_pct"),
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
