//! A snapshot as one line of JSON, for scripts.

use crate::Live;
use schemars::JsonSchema;
use serde::Serialize;
use unbloat_units::{Bytes, Delta, Direction, Rate};

/// Units stand in the names. Counters count from the run's beginning, rates are of the last second; null is unknown.
#[derive(Serialize, JsonSchema)]
pub struct Line<'a> {
    time_ns: i64,
    left_ms: Option<f64>,
    down: PathLine,
    up: PathLine,
    flows: Vec<FlowLine<'a>>,
    lateness: Option<LatenessLine>,
}

#[derive(Serialize, JsonSchema)]
struct PathLine {
    backlog_bytes: u64,
    backlog_packets: u64,
    wait_ms: Option<f64>,
    rate_bps: Option<u64>,
    delivered_bytes: u64,
    drops: u64,
    marks: u64,
}

#[derive(Serialize, JsonSchema)]
struct FlowLine<'a> {
    name: &'a str,
    connections: u64,
    rate_bps: Option<u64>,
    cwnd_bytes: Option<u64>,
    in_flight_bytes: Option<u64>,
    srtt_ms: Option<f64>,
    delivered_bytes: u64,
    retransmissions: u64,
}

#[derive(Serialize, JsonSchema)]
struct LatenessLine {
    p50_us: f64,
    p99_us: f64,
    max_us: f64,
    is_too_late: bool,
}

/// What is seen now as one line of JSON, without a line feed.
pub fn line(live: &Live) -> String {
    let now = live.now();
    let us = |late: Delta| late.as_ms() * 1e3;
    let flow = |flow: &'_ unbloat_experiment::outcome::FlowSnapshot| {
        live.flow_rate(&flow.name).map(Rate::as_bps)
    };
    let flows = now.flows.iter().map(|seen| FlowLine {
        name: &seen.name,
        connections: seen.connections,
        rate_bps: flow(seen),
        cwnd_bytes: seen.cwnd_bytes.map(Bytes::as_u64),
        in_flight_bytes: seen.in_flight_bytes.map(Bytes::as_u64),
        srtt_ms: seen.srtt.map(Delta::as_ms),
        delivered_bytes: seen.delivered_bytes.as_u64(),
        retransmissions: seen.retransmissions,
    });
    let whole = Line {
        time_ns: now.at.as_ns(),
        left_ms: live.left().map(Delta::as_ms),
        down: path(live, Direction::Down),
        up: path(live, Direction::Up),
        flows: flows.collect(),
        lateness: now.lateness.map(|late| LatenessLine {
            p50_us: us(late.p50),
            p99_us: us(late.p99),
            max_us: us(late.max),
            is_too_late: late.is_too_late,
        }),
    };
    // Numbers and texts: there is nothing that JSON could refuse.
    serde_json::to_string(&whole).unwrap_or_default()
}

fn path(live: &Live, direction: Direction) -> PathLine {
    let seen = &live.now().paths[direction];
    PathLine {
        backlog_bytes: seen.backlog_bytes.as_u64(),
        backlog_packets: seen.backlog_packets,
        wait_ms: seen.wait.map(Delta::as_ms),
        rate_bps: live.path_rate(direction).map(Rate::as_bps),
        delivered_bytes: seen.delivered_bytes.as_u64(),
        drops: seen.drops,
        marks: seen.marks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_experiment::outcome::{FlowSnapshot, LatenessSnapshot, Snapshot};
    use unbloat_units::Time;

    #[test]
    fn a_line_is_one_object_whose_names_tell_units() {
        let mut live = Live::new("x");
        live.take(Snapshot {
            at: Time::from_ns(2_500_000_000),
            duration: Some(Delta::secs(10)),
            flows: vec![FlowSnapshot {
                name: "evil\n\"name\"".into(),
                srtt: Some(Delta::ms(42)),
                ..FlowSnapshot::default()
            }],
            lateness: Some(LatenessSnapshot {
                p99: Delta::ns(23_500),
                ..LatenessSnapshot::default()
            }),
            ..Snapshot::default()
        });
        let text = line(&live);
        assert!(!text.contains('\n'), "{text}");
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["time_ns"], 2_500_000_000_i64);
        assert_eq!(read["left_ms"], 7_500.0);
        assert_eq!(read["flows"][0]["srtt_ms"], 42.0);
        assert_eq!(read["flows"][0]["name"], "evil\n\"name\"");
        assert_eq!(read["lateness"]["p99_us"], 23.5);
        assert!(read["down"]["rate_bps"].is_null());
        let page = include_str!("../../../../docs/live.md");
        for object in [&read, &read["down"], &read["flows"][0], &read["lateness"]] {
            for name in object.as_object().unwrap().keys() {
                assert!(
                    page.contains(&format!("`{name}`")),
                    "docs/live.md lacks {name}"
                );
            }
        }
    }
}
