//! `run.json`: what was run and what was counted.

use crate::bed::{BedReport, RunParams};
use crate::core::{Impairment, PathParams};
use crate::error::{LabError, at};
use serde_json::{Value, json};
use std::fs;

pub(crate) fn write(params: &RunParams, report: &BedReport) -> Result<(), LabError> {
    let summary = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "scenario": params.name,
        "seed": params.seed,
        "length_s": params.length.as_secs_f64(),
        "capture": format!("{:?}", params.capture).to_lowercase(),
        "packets": packets(report),
        "lateness": lateness(report),
        "server_capture": json!({"packets": report.tap.packets, "missed": report.tap.missed}),
        "kernel": report.kernel.map(|k| json!({"events": k.events, "lost": k.lost})),
        "path": path(&params.scenario.path),
        "traffic": params.scenario.traffic.iter().map(|t| format!("{t:?}")).collect::<Vec<_>>(),
    });
    let file = params.folder.join("run.json");
    fs::write(&file, format!("{summary:#}\n")).map_err(at(file))
}

fn packets(report: &BedReport) -> Value {
    let counts = report.counts;
    json!({
        "accepted": counts.accepted,
        "delivered": counts.delivered,
        "dropped_upstream": counts.upstream,
        "dropped_tail": counts.tail,
        "dropped_downstream": counts.downstream,
        "monitored": counts.monitored,
        "inside_at_end": report.inside,
        "foreign": report.foreign,
        "refused_by_device": report.refused,
        "dropped_by_device_queues": report.device_drops,
    })
}

fn lateness(report: &BedReport) -> Value {
    let late = report.lateness;
    json!({
        "packets": late.packets,
        "over_1_ms": late.over_1_ms,
        "over_5_ms": late.over_5_ms,
        "max_ms": late.max.as_ms(),
    })
}

/// The path without its links' rates, which are in `rate.csv`.
fn path(params: &PathParams) -> Value {
    json!({
        "clients": params.clients.len(),
        "client_tick_ms": params.client_tick_ms,
        "down_queue_bytes": params.clients.iter().map(|c| c.down_queue.as_u64()).max(),
        "up_queue_bytes": params.clients.iter().map(|c| c.up_queue.as_u64()).max(),
        "wan_down": impairment(&params.wan_down),
        "wan_up": impairment(&params.wan_up),
        "access_down": impairment(&params.access_down),
        "access_up": impairment(&params.access_up),
        "radio": params.radio.map(|radio| json!({
            "promotion_ms": radio.promotion.as_ms(),
            "tail_ms": radio.tail.as_ms(),
        })),
    })
}

fn impairment(params: &Impairment) -> Value {
    json!({
        "delay_ms": params.delay.as_ms(),
        "jitter_ms": params.jitter.as_ms(),
        "loss": params.loss,
        "reorder": params.reorder,
        "hold_ms": params.hold.as_ms(),
        "outage": params.outage.map(|outage| json!({
            "every_ms": outage.every.as_ms(),
            "shortest_ms": outage.shortest.as_ms(),
            "longest_ms": outage.longest.as_ms(),
            "loss": outage.loss,
        })),
    })
}
