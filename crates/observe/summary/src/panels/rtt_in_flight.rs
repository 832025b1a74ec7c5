//! RTT against bytes in flight (§4.3, Fig. 10).

use crate::findings::{Findings, Point};
use crate::panel::Panel;
use crate::view::View;
use unbloat_stats::Histogram2d;
use unbloat_table::Row;
use unbloat_trace::tables::RttRow;

const BINS_PER_DOUBLING: u8 = 4;

pub(crate) struct RttInFlight {
    map: Histogram2d,
}

impl RttInFlight {
    pub(crate) fn new() -> RttInFlight {
        RttInFlight {
            map: Histogram2d::new(BINS_PER_DOUBLING),
        }
    }
}

impl Panel for RttInFlight {
    fn table(&self) -> &'static str {
        RttRow::NAME
    }

    fn add(&mut self, view: &View) {
        let (side, rtt) = (view.column(RttRow::side), view.column(RttRow::rtt_ms));
        let in_flight = view.column(RttRow::in_flight_bytes);
        for row in view.rows().filter(|&row| side.is(row, "down")) {
            if let (Some(bytes), Some(ms)) = (in_flight.f64(row), rtt.f64(row)) {
                self.map.record(bytes, ms);
            }
        }
    }

    fn finish(&self, found: &mut Findings) {
        let cells = self.map.cells().map(|cell| Point {
            x: cell.x,
            y: cell.y,
            weight: Some(cell.count as f64),
        });
        found.points("10", "bins", cells.collect());
        found.curve("10", "median RTT", self.map.quantile_by_x(0.5));
        found.curve("10", "p95 RTT", self.map.quantile_by_x(0.95));
    }
}
