//! Throughput of large flows without pauses, and handshake RTT (§4.4, Table 1).

use crate::findings::Findings;
use crate::panel::Panel;
use crate::view::View;
use unbloat_stats::LogHistogram;
use unbloat_trace::flows::{self, HandshakeColumns, VolumeColumns};

const PEP: &str = "flows not on ports 80 and 8080";

#[derive(Default)]
pub(crate) struct Table1 {
    down_kbps: LogHistogram,
    up_kbps: LogHistogram,
    handshake_ms: LogHistogram,
}

impl Panel for Table1 {
    fn table(&self) -> &'static str {
        flows::NAME
    }

    fn add(&mut self, view: &View) {
        let (pep, gap) = (
            view.column(HandshakeColumns::pep),
            view.column(VolumeColumns::max_gap_ms),
        );
        let (up, down) = (
            view.column(VolumeColumns::payload_up_bytes),
            view.column(VolumeColumns::payload_down_bytes),
        );
        let (up_rate, down_rate) = (
            view.column(VolumeColumns::rate_up_bps),
            view.column(VolumeColumns::rate_down_bps),
        );
        let handshake = view.column(HandshakeColumns::handshake);
        let (hs_up, hs_down) = (
            view.column(HandshakeColumns::handshake_up_ms),
            view.column(HandshakeColumns::handshake_down_ms),
        );
        for row in view.tcp_rows().filter(|&row| !pep.is_true(row)) {
            if gap.f64(row).is_some_and(|ms| ms < 1000.0) {
                if let (Some(1_000_000..), Some(bps)) = (down.u64(row), down_rate.f64(row)) {
                    self.down_kbps.record(bps / 1e3);
                }
                if let (Some(200_000..), Some(bps)) = (up.u64(row), up_rate.f64(row)) {
                    self.up_kbps.record(bps / 1e3);
                }
            }
            if let (true, Some(a), Some(b)) = (
                handshake.is(row, "complete"),
                hs_up.f64(row),
                hs_down.f64(row),
            ) {
                self.handshake_ms.record(a + b);
            }
        }
    }

    fn finish(&self, found: &mut Findings) {
        let down =
            format!("Rate of {PEP}, with at least 1 MB down and no silence of a second or more.");
        let up =
            format!("Rate of {PEP}, with at least 200 KB up and no silence of a second or more.");
        let handshake = format!("t3-t1 of complete handshakes without repetition, {PEP}.");
        let rows = [
            (
                "TCP DL",
                &self.down_kbps,
                "kbit/s",
                [569.0, 9185.0, 24229.0],
                down,
            ),
            (
                "TCP UL",
                &self.up_kbps,
                "kbit/s",
                [38.0, 2286.0, 8361.0],
                up,
            ),
            (
                "HS RTT",
                &self.handshake_ms,
                "ms",
                [30.0, 70.0, 467.0],
                handshake,
            ),
        ];
        let mut group = found.group("Table 1");
        for (name, histogram, unit, papers, doc) in rows {
            for ((percent, q), paper) in [("5 %", 0.05), ("50 %", 0.5), ("95 %", 0.95)]
                .into_iter()
                .zip(papers)
            {
                let metric = format!("{percent} {name}");
                group.quantile(&metric, (histogram, q), (unit, Some(paper)), &doc);
            }
        }
    }
}
