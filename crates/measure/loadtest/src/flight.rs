//! Table `in_flight_series`: what senders had on the way, beside what the path needs to be full.

use crate::findings::{Findings, flight};
use crate::measured::Measured;
use unbloat_table::{Column, Order, Rows, Table};
use unbloat_units::{Bytes, Direction};

pub fn table() -> Table {
    Table {
        name: "in_flight_series",
        doc: "one row per 100 ms, stage and loaded direction: all load connections together, as the kernels of their senders tell (every 10 ms here, every 250 ms at the server)",
        columns: vec![
            Column::i64("time_ns", "when, since the test began"),
            Column::u64("stage", "number of the stage"),
            Column::text("direction", "down or up"),
            Column::u64(
                "in_flight_bytes",
                "in flight as the kernels compute it: unacknowledged - SACKed - lost + retransmitted",
            ),
            Column::u64("cwnd_bytes", "sum of the congestion windows"),
            Column::u64(
                "bdp_bytes",
                "bandwidth-delay product: the stage's delivered rate times the median idle round trip; what is in flight beyond it waits in queues",
            ),
        ],
    }
}

pub fn rows(table: &Table, measured: &Measured, findings: &Findings) -> Rows {
    let mut rows = Rows::new(table);
    for found in &findings.loads {
        for direction in Direction::BOTH {
            let product = found.bandwidth_delay_product(&findings.idle, direction);
            for flight in flight::series(measured, found.stage, direction) {
                let mut row = rows.row(Order {
                    written_at: found.stage as u64,
                    subject: 0,
                });
                row.i64(flight.at.as_ns());
                row.u64(found.stage as u64);
                row.text(direction.name());
                row.u64(flight.in_flight.as_u64());
                row.u64(flight.cwnd.as_u64());
                row.u64(product.map(Bytes::as_u64));
            }
        }
    }
    rows
}
