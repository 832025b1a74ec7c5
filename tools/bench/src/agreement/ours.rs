//! What unbloat says, from its tables `flows` and `rtt`.

use super::flow::{Connection, Direction, Flows, Keys};
use crate::error::BenchError;
use crate::peak::analyse;
use std::collections::BTreeMap;
use std::net::SocketAddrV4;
use std::path::Path;
use unbloat_table::{Rows, Table};
use unbloat_units::{Both, Direction as Side};

/// `None` for what is no IPv4 TCP connection.
pub fn read(capture: &Path) -> Result<Flows, BenchError> {
    let tables = unbloat_trace::all_tables();
    let rtt_table = tables
        .iter()
        .position(|t| t.name == "rtt")
        .expect("a table of ours");
    let mut found = Vec::new();
    let mut rtt = BTreeMap::new();
    analyse(capture, false, |output| {
        let rows = output.tables();
        found.extend((0..rows[0].len()).filter_map(|i| {
            flow(&View {
                table: &tables[0],
                rows: rows[0],
                i,
            })
        }));
        for i in 0..rows[rtt_table].len() {
            add_rtt(
                &mut rtt,
                &View {
                    table: &tables[rtt_table],
                    rows: rows[rtt_table],
                    i,
                },
            );
        }
    })?;
    // Rows come as flows end; keys are given as they begin.
    found.sort_by_key(|flow| flow.id);
    let mut keys = Keys::default();
    let mut flows = Flows::new();
    for flow in found {
        let (key, up) = keys.next(flow.client, flow.server);
        let mut connection = Connection::default();
        for (side, at) in [(Side::Up, up), (Side::Down, 1 - up)] {
            connection[at] = flow.sides[side];
            let sum: Option<&(f64, u64)> = rtt.get(&(flow.id, side));
            connection[at].rtt_avg_ms = sum.map(|(ms, n)| ms / *n as f64);
        }
        flows.insert(key, connection);
    }
    Ok(flows)
}

struct Found {
    id: u64,
    client: SocketAddrV4,
    server: SocketAddrV4,
    sides: Both<Direction>,
}

/// One row of a table, columns by name.
struct View<'a> {
    table: &'a Table,
    rows: &'a Rows,
    i: usize,
}

impl View<'_> {
    fn column(&self, name: &str) -> &unbloat_table::ColumnData {
        let at = self.table.column(name);
        &self.rows.columns()
            [at.unwrap_or_else(|| panic!("no column {name} in {}", self.table.name))]
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.column(name).as_f64(self.i)
    }

    fn count(&self, name: &str) -> u64 {
        self.number(name).unwrap_or(0.0) as u64
    }

    fn text(&self, name: &str) -> &str {
        self.column(name).as_text(self.i).unwrap_or_default()
    }
}

fn flow(row: &View<'_>) -> Option<Found> {
    if row.text("protocol") != "tcp" {
        return None;
    }
    let end = |side: &str| -> Option<SocketAddrV4> {
        let ip = row.text(side).parse().ok()?;
        Some(SocketAddrV4::new(
            ip,
            row.count(&format!("{side}_port")) as u16,
        ))
    };
    Some(Found {
        id: row.count("flow_id"),
        client: end("client")?,
        server: end("server")?,
        sides: Both::of(|side| direction(row, side)),
    })
}

fn direction(row: &View<'_>, side: Side) -> Direction {
    let count = |before: &str, after: &str| row.count(&format!("{before}_{side}{after}"));
    Direction {
        packets: count("packets", ""),
        payload_bytes: count("payload", "_bytes"),
        unique_bytes: row
            .number(&format!("unique_{side}_bytes"))
            .map(|n| n as u64),
        retransmitted: count("retransmitted", "_packets"),
        out_of_order: count("reordered", "_packets")
            + count("upstream_loss", "_packets")
            + count("ambiguous", "_packets"),
        dup_acks: count("dup_acks", ""),
        zero_windows: count("zero_windows", ""),
        rtt_samples: count("rtt", "_samples"),
        rtt_min_ms: row.number(&format!("rtt_{side}_min_ms")),
        rtt_avg_ms: None,
        handshake_ms: row.number(&format!("handshake_{side}_ms")),
    }
}

/// Sums samples of Karn's kind by flow and side.
fn add_rtt(sums: &mut BTreeMap<(u64, Side), (f64, u64)>, row: &View<'_>) {
    if row.text("method") != "ack" {
        return;
    }
    let side = match row.text("side") == Side::Up.name() {
        true => Side::Up,
        false => Side::Down,
    };
    let sum = sums.entry((row.count("flow_id"), side)).or_default();
    let samples = row.count("samples");
    sum.0 += row.number("rtt_ms").unwrap_or(0.0) * samples as f64;
    sum.1 += samples;
}
