//! DNS lookup latency (§4.2, Fig. 7).

use crate::findings::Findings;
use crate::panel::Panel;
use crate::view::View;
use unbloat_stats::LogHistogram;
use unbloat_table::Row;
use unbloat_trace::tables::DnsRow;

#[derive(Default)]
pub(crate) struct Dns {
    latencies_ms: LogHistogram,
    below_10ms: u64,
    unanswered: u64,
}

impl Panel for Dns {
    fn table(&self) -> &'static str {
        DnsRow::NAME
    }

    fn add(&mut self, view: &View) {
        let latency = view.column(DnsRow::latency_ms);
        for row in view.rows() {
            match latency.f64(row) {
                Some(ms) => {
                    self.latencies_ms.record(ms);
                    self.below_10ms += u64::from(ms < 10.0);
                }
                None => self.unanswered += 1,
            }
        }
    }

    fn finish(&self, found: &mut Findings) {
        let answered = self.latencies_ms.count();
        let mut group = found.group("DNS (Fig. 7)");
        let doc = "Query to response at the capture point: the way to the resolver and back, not the client's own side.";
        group.share(
            "answered within 10 ms",
            (self.below_10ms, answered),
            87.3,
            doc,
        );
        group.quantile(
            "median latency",
            (&self.latencies_ms, 0.5),
            ("ms", None),
            doc,
        );
        let asked = answered + self.unanswered;
        group.share(
            "never answered",
            (self.unanswered, asked),
            None,
            "Queries without a response in the capture.",
        );
        found.cdf("7", "DNS", &self.latencies_ms);
        found.curve("7", "paper: DNS", vec![(10.0, 0.873)]);
    }
}
