//! Duplicate ACKs and reordering in large flows (§5, Fig. 14).

use crate::findings::Findings;
use crate::panel::Panel;
use crate::view::View;
use unbloat_stats::LogHistogram;
use unbloat_trace::flows::{self, LossColumns, VolumeColumns};

#[derive(Default)]
pub(crate) struct DupAcks {
    dup_acks: LogHistogram,
    out_of_order: LogHistogram,
    over_100: u64,
    ratio_over_25: u64,
}

impl Panel for DupAcks {
    fn table(&self) -> &'static str {
        flows::NAME
    }

    fn add(&mut self, view: &View) {
        let (large, dup_acks) = (
            view.column(VolumeColumns::large_down),
            view.column(LossColumns::dup_acks.down),
        );
        let ratio = view.column(LossColumns::dup_ack_ratio.down);
        let causes = [
            LossColumns::retransmitted_packets,
            LossColumns::reordered_packets,
            LossColumns::upstream_loss_packets,
            LossColumns::ambiguous_packets,
        ]
        .map(|names| view.column(names.down));
        for row in view.tcp_rows().filter(|&row| large.is_true(row)) {
            let dup_acks = dup_acks.u64(row).unwrap_or(0);
            let out_of_order: u64 = causes.iter().filter_map(|c| c.u64(row)).sum();
            self.dup_acks.record(dup_acks as f64);
            self.out_of_order.record(out_of_order as f64);
            self.over_100 += u64::from(dup_acks > 100);
            self.ratio_over_25 += u64::from(ratio.f64(row) > Some(25.0));
        }
    }

    fn finish(&self, found: &mut Findings) {
        let large = "Large flows: more than 5 s of data transfer and 1 MB down.";
        let out_of_order = "Data packets below the highest byte seen, whatever the cause (repeated, reordered, lost before the capture point), in large flows.";
        let flows = self.dup_acks.count();
        let mut group = found.group("Duplicate ACKs in large flows (Fig. 14)");
        group.quantile(
            "median duplicate ACKs",
            (&self.dup_acks, 0.5),
            ("", Some(17.0)),
            large,
        );
        group.share("flows with over 100", (self.over_100, flows), 29.0, large);
        group.quantile(
            "median packets out of order",
            (&self.out_of_order, 0.5),
            ("", Some(2.0)),
            out_of_order,
        );
        group.share(
            "flows with a ratio over 25",
            (self.ratio_over_25, flows),
            24.7,
            "Duplicate ACKs over packets out of order, in large flows.",
        );
        found.cdf("14", "duplicate ACKs", &self.dup_acks);
        found.cdf("14", "packets out of order", &self.out_of_order);
        found.curve(
            "14",
            "paper: duplicate ACKs",
            vec![(17.0, 0.5), (100.0, 0.71)],
        );
        found.curve("14", "paper: packets out of order", vec![(2.0, 0.5)]);
    }
}
