//! Undesired slow starts in large flows (§5).

use crate::findings::Findings;
use crate::panel::Panel;
use crate::view::View;
use unbloat_trace::flows::{self, LossColumns, RtoColumns, SlowStartColumns, VolumeColumns};

#[derive(Default)]
pub(crate) struct SlowStarts {
    large: u64,
    with_loss: u64,
    affected: u64,
    timeouts: u64,
    avoidable: u64,
}

impl Panel for SlowStarts {
    fn table(&self) -> &'static str {
        flows::NAME
    }

    fn add(&mut self, view: &View) {
        let (large, lost) = (
            view.column(VolumeColumns::large_down),
            view.column(LossColumns::retransmitted_packets.down),
        );
        let slow_starts = view.column(SlowStartColumns::slow_starts.down);
        let (rtos, avoidable) = (
            view.column(RtoColumns::rtos.down),
            view.column(RtoColumns::avoidable_rtos.down),
        );
        for row in view.tcp_rows().filter(|&row| large.is_true(row)) {
            let has = |n: Option<u64>| u64::from(n > Some(0));
            self.large += 1;
            self.with_loss += has(lost.u64(row));
            self.affected += has(slow_starts.u64(row));
            self.timeouts += rtos.u64(row).unwrap_or(0);
            self.avoidable += avoidable.u64(row).unwrap_or(0);
        }
    }

    fn finish(&self, found: &mut Findings) {
        let doc = "Large flows in which some train of duplicate ACKs was followed by a slow start: Rss, the rate in [100, 200] ms over that in [0, 100] ms after the last duplicate ACK, above its threshold (1.5).";
        let mut group = found.group("Undesired slow start (§5)");
        group.share(
            "of large flows with loss",
            (self.affected, self.with_loss),
            20.1,
            doc,
        );
        group.share("of all large flows", (self.affected, self.large), 12.3, doc);
        group.share("timeouts that SACK-fed RTT would avoid", (self.avoidable, self.timeouts), 95.0, "Timeouts before which RTT samples taken from duplicate ACKs with SACK would have raised the timer enough. The study says more than 95 %, of undesired slow starts.");
    }
}
