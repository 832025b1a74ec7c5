//! Promotion delay of the radio (§4.2, Fig. 9).

use crate::findings::Findings;
use crate::panel::Panel;
use crate::view::View;
use unbloat_stats::LogHistogram;
use unbloat_table::Row;
use unbloat_trace::tables::PromotionRow;

#[derive(Default)]
pub(crate) struct Promotion {
    delays_ms: LogHistogram,
}

impl Panel for Promotion {
    fn table(&self) -> &'static str {
        PromotionRow::NAME
    }

    fn add(&mut self, view: &View) {
        let delay = view.column(PromotionRow::promotion_ms);
        for row in view.rows() {
            if let Some(ms) = delay.f64(row) {
                self.delays_ms.record(ms);
            }
        }
    }

    fn finish(&self, found: &mut Findings) {
        let doc = "Handshakes after at least T of radio silence: time on the client's timestamp clock from SYN to ACK, less the path's own t3-t1. (The study prints the difference with its sign reversed.)";
        let mut group = found.group("Radio promotion (§4.2)");
        for (metric, q, paper) in [
            ("first quartile", 0.25, 319.0),
            ("median", 0.5, 435.0),
            ("third quartile", 0.75, 558.0),
        ] {
            group.quantile(metric, (&self.delays_ms, q), ("ms", Some(paper)), doc);
        }
    }
}
