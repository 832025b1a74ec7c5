//! A trace generated and analysed at once, without a file between.

use crate::score::{BandwidthSeen, FlowSeen, PromotionSeen, Seen};
use crate::source::{ORIGIN, TraceSource};
use crate::{FlowName, Params, UserTruth};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::net::Ipv4Addr;
use unbloat_analyze::{Control, PipelineError, Settings, run};
use unbloat_capture::CaptureError;
use unbloat_summary::{Summary, SummaryParams};
use unbloat_table::{ColumnView, Rows, Table};
use unbloat_trace::all_tables;
use unbloat_units::{Both, Delta};

/// The study counts bytes in flight packet by packet (Fig. 10, 13), so its figures come from bins that are finer than usual.
const BIN: Delta = Delta::ms(10);

/// Generates a trace on so many threads and analyses it on as many. Returns what the analysis says, and what happened.
pub fn analyse(
    params: &Params,
    seed: u64,
    threads: u32,
) -> Result<(Seen, Vec<UserTruth>), CaptureError> {
    let mut source = TraceSource::start(params, seed, threads);
    let tables = all_tables();
    let mut summary = Summary::new(&tables, SummaryParams::default());
    let mut reads = summary.reads(&tables);
    Collected::ask(&mut reads);
    let settings = Settings {
        params: unbloat_trace::Params {
            bin: BIN,
            ..Default::default()
        },
        parser: Default::default(),
        client_nets: Vec::new(),
        threads: threads.max(1) as usize,
        hash_seed: 1,
        summary_only: false,
        reads: Some(reads),
    };
    let mut collected = Collected::default();
    let outcome = run::<Infallible>(&mut source, &settings, &mut |output, _| {
        for (table, rows) in tables.iter().zip(output.tables()) {
            summary.add(table.name, rows);
            collected.take(table, rows);
        }
        Ok(Control::Continue)
    });
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(PipelineError::Capture(error)) => return Err(error),
        Err(PipelineError::Sink(never)) => match never {},
    };
    summary.set_health(outcome.health.clone());
    let first = outcome.origin.map_or(0, |at| at.since(ORIGIN).as_ns());
    let seen = Seen {
        packets: outcome.packets,
        skipped: outcome.skipped.total(),
        first_ns: first,
        flows: collected.flows,
        promotions: collected.promotions,
        bandwidth: collected.bandwidth,
        summary: summary.finish(),
    };
    Ok((seen, source.into_truth()))
}

#[derive(Default)]
struct Collected {
    flows: Vec<FlowSeen>,
    promotions: Vec<PromotionSeen>,
    bandwidth: Vec<BandwidthSeen>,
}

const FLOWS: &[&str] = &[
    "flow_id",
    "client",
    "client_port",
    "server",
    "server_port",
    "protocol",
    "end_cause",
    "packets_down",
    "packets_up",
    "unique_down_bytes",
    "unique_up_bytes",
    "retransmitted_down_packets",
    "retransmitted_up_packets",
    "upstream_loss_down_packets",
    "reordered_down_packets",
    "ambiguous_down_packets",
    "slow_starts_down",
    "rtos_down",
    "large_down",
    "tick_down_raw_ms",
    "handshake_up_ms",
    "full_window_down_share",
];
const PROMOTIONS: &[&str] = &["flow_id", "promotion_ms"];
const BANDWIDTH: &[&str] = &["flow_id", "side", "time_ns", "bandwidth_bps"];

impl Collected {
    /// Adds the columns that are read here.
    fn ask(reads: &mut BTreeMap<&'static str, BTreeSet<&'static str>>) {
        for (table, columns) in [
            ("flows", FLOWS),
            ("promotions", PROMOTIONS),
            ("bandwidth", BANDWIDTH),
        ] {
            reads.entry(table).or_default().extend(columns);
        }
    }

    fn take(&mut self, table: &Table, rows: &Rows) {
        let column = |name: &str| {
            let index = table.column(name);
            ColumnView::of(index.map(|index| &rows.columns()[index]))
        };
        match table.name {
            "flows" => self.flows.extend(flows(rows.len(), column)),
            "promotions" => {
                let (flow, ms) = (column("flow_id"), column("promotion_ms"));
                let seen = (0..rows.len()).filter_map(|row| {
                    Some(PromotionSeen {
                        flow_id: flow.u64(row)?,
                        promotion_ms: ms.f64(row)?,
                    })
                });
                self.promotions.extend(seen);
            }
            "bandwidth" => {
                let (flow, side, time) = (column("flow_id"), column("side"), column("time_ns"));
                let rate = column("bandwidth_bps");
                let down = (0..rows.len()).filter(|row| side.is(*row, "down"));
                let seen = down.filter_map(|row| {
                    Some(BandwidthSeen {
                        flow_id: flow.u64(row)?,
                        time_ns: time.i64(row)?,
                        bandwidth_bps: rate.f64(row)?,
                    })
                });
                self.bandwidth.extend(seen);
            }
            _ => {}
        }
    }
}

fn flows<'r>(rows: usize, column: impl Fn(&str) -> ColumnView<'r>) -> Vec<FlowSeen> {
    let [
        id,
        client,
        client_port,
        server,
        server_port,
        protocol,
        cause,
    ] = [0, 1, 2, 3, 4, 5, 6].map(|index| column(FLOWS[index]));
    let both = |name: fn(&str) -> String| Both::new(column(&name("down")), column(&name("up")));
    let packets = both(|way| format!("packets_{way}"));
    let unique = both(|way| format!("unique_{way}_bytes"));
    let retransmitted = both(|way| format!("retransmitted_{way}_packets"));
    let [upstream, reordered, ambiguous] = ["upstream_loss", "reordered", "ambiguous"]
        .map(|kind| column(&format!("{kind}_down_packets")));
    let [slow_starts, rtos, large] = ["slow_starts_down", "rtos_down", "large_down"].map(&column);
    let [raw, up_ms, full] = [
        "tick_down_raw_ms",
        "handshake_up_ms",
        "full_window_down_share",
    ]
    .map(&column);
    let count = |view: &ColumnView<'_>, row| view.u64(row).unwrap_or(0);
    let counts = |views: &Both<ColumnView<'_>>, row| Both::of(|way| count(&views[way], row));
    let address = |view: &ColumnView<'_>, row| view.text(row)?.parse::<Ipv4Addr>().ok();
    let tcp = (0..rows).filter(|row| protocol.is(*row, "tcp"));
    let seen = tcp.filter_map(|row| {
        Some(FlowSeen {
            flow_id: id.u64(row)?,
            name: FlowName {
                client: address(&client, row)?,
                client_port: client_port.u64(row)? as u16,
                server: address(&server, row)?,
                server_port: server_port.u64(row)? as u16,
            },
            is_closed: cause.is(row, "fin") || cause.is(row, "rst"),
            packets: counts(&packets, row),
            unique_bytes: counts(&unique, row),
            retransmitted: counts(&retransmitted, row),
            upstream_loss_down: count(&upstream, row),
            reordered_down: count(&reordered, row),
            ambiguous_down: count(&ambiguous, row),
            slow_starts_down: count(&slow_starts, row),
            rtos_down: count(&rtos, row),
            is_large: large.is_true(row),
            tick_raw_ms: raw.f64(row),
            handshake_up_ms: up_ms.f64(row),
            full_window_share: full.f64(row),
        })
    });
    seen.collect()
}
