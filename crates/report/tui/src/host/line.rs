//! Layers as one line of JSON, for scripts.

use schemars::JsonSchema;
use serde::Serialize;
use unbloat_units::{Bytes, Delta, Rate};
use unbloat_watch::layers::{QueueLayer, Rates, RoundTrip, SocketLayer};
use unbloat_watch::{FlowLayers, InterfaceLayers, Layers, Wait};

/// Layers of this host: units stand in the names; null is unknown.
#[derive(Serialize, JsonSchema)]
pub struct HostLine<'a> {
    time_ns: i64,
    span_ms: f64,
    is_measured: bool,
    interfaces: Vec<InterfaceLine<'a>>,
    flows: Vec<FlowLine<'a>>,
    more_flows: u64,
}

#[derive(Serialize, JsonSchema)]
struct InterfaceLine<'a> {
    interface: &'a str,
    index: u32,
    queue: Option<QueueLine<'a>>,
    t_q: Option<WaitLine>,
    t_d: Option<WaitLine>,
    driver_bytes: Option<u64>,
    driver_limit_bytes: Option<u64>,
    drops: u64,
    rates: RatesLine,
}

#[derive(Serialize, JsonSchema)]
struct QueueLine<'a> {
    kind: &'a str,
    backlog_bytes: u64,
    backlog_packets: u64,
    backlog_ms: Option<f64>,
    drops: u64,
}

#[derive(Serialize, JsonSchema)]
struct FlowLine<'a> {
    protocol: String,
    from: String,
    to: String,
    interface: Option<&'a str>,
    process: Option<&'a str>,
    pid: Option<u32>,
    worst: Option<&'static str>,
    total_ms: f64,
    socket: Option<SocketLine>,
    t_q: Option<WaitLine>,
    t_d: Option<WaitLine>,
    rtt_q: Option<WaitLine>,
    rtt_f: Option<WaitLine>,
    rtt_b_ms: Option<f64>,
    rtt_floor_ms: Option<f64>,
    below_ms: Option<f64>,
    rates: RatesLine,
    held_bytes: Option<u64>,
    untimed_packets: u64,
}

#[derive(Serialize, JsonSchema)]
struct SocketLine {
    unsent_bytes: u64,
    unsent_ms: Option<f64>,
    in_flight_bytes: u64,
    cwnd_bytes: u64,
    retransmissions: u64,
}

#[derive(Serialize, JsonSchema)]
struct WaitLine {
    is_measured: bool,
    samples: Option<u64>,
    mean_ms: f64,
    p50_ms: Option<f64>,
    p95_ms: Option<f64>,
    p99_ms: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
struct RatesLine {
    written_bps: Option<u64>,
    sent_bps: Option<u64>,
    entered_bps: Option<u64>,
    left_bps: Option<u64>,
    done_bps: Option<u64>,
    acknowledged_bps: Option<u64>,
}

/// Layers as one line of JSON, without a line feed.
pub fn host_line(layers: &Layers, is_measured: bool) -> String {
    let whole = HostLine {
        time_ns: layers.at.as_ns(),
        span_ms: layers.span.as_ms(),
        is_measured,
        interfaces: layers.interfaces.iter().map(interface).collect(),
        flows: layers.flows.iter().map(flow).collect(),
        more_flows: layers.more_flows,
    };
    // Numbers and texts: there is nothing that JSON could refuse.
    serde_json::to_string(&whole).unwrap_or_default()
}

fn interface(seen: &InterfaceLayers) -> InterfaceLine<'_> {
    let driver = seen
        .driver_bytes
        .map(|(now, most)| (now.as_u64(), most.as_u64()));
    InterfaceLine {
        interface: &seen.name,
        index: seen.index,
        queue: seen.queue.as_ref().map(queue),
        t_q: seen.qdisc.as_ref().map(wait),
        t_d: seen.driver.as_ref().map(wait),
        driver_bytes: driver.map(|(now, _)| now),
        driver_limit_bytes: driver.map(|(_, most)| most),
        drops: seen.dropped,
        rates: rates(&seen.rates),
    }
}

fn queue(seen: &QueueLayer) -> QueueLine<'_> {
    QueueLine {
        kind: &seen.kind,
        backlog_bytes: seen.backlog.as_u64(),
        backlog_packets: seen.packets,
        backlog_ms: seen.wait.map(Delta::as_ms),
        drops: seen.dropped,
    }
}

fn flow(seen: &FlowLayers) -> FlowLine<'_> {
    let process = seen.process.as_ref();
    let RoundTrip {
        rtt_q,
        rtt_f,
        rtt_b,
        floor,
        added,
    } = &seen.round_trip;
    FlowLine {
        protocol: seen.flow.protocol.to_string(),
        from: seen.flow.from.to_string(),
        to: seen.flow.to.to_string(),
        interface: seen.interface.as_deref(),
        process: process.map(|process| process.name.as_str()),
        pid: process.map(|process| process.pid),
        worst: seen.worst().map(|(layer, _)| layer.name()),
        total_ms: seen.total().as_ms(),
        socket: seen.socket.as_ref().map(socket),
        t_q: seen.qdisc.as_ref().map(wait),
        t_d: seen.driver.as_ref().map(wait),
        rtt_q: rtt_q.as_ref().map(wait),
        rtt_f: rtt_f.as_ref().map(wait),
        rtt_b_ms: rtt_b.map(Delta::as_ms),
        rtt_floor_ms: floor.map(Delta::as_ms),
        below_ms: added.map(Delta::as_ms),
        rates: rates(&seen.rates),
        held_bytes: seen.held.map(Bytes::as_u64),
        untimed_packets: seen.untimed_packets,
    }
}

fn socket(seen: &SocketLayer) -> SocketLine {
    SocketLine {
        unsent_bytes: seen.unsent.as_u64(),
        unsent_ms: seen.wait.map(Delta::as_ms),
        in_flight_bytes: seen.in_flight.as_u64(),
        cwnd_bytes: seen.cwnd.as_u64(),
        retransmissions: seen.retransmissions,
    }
}

fn wait(seen: &Wait) -> WaitLine {
    let spread = seen.spread();
    WaitLine {
        is_measured: spread.is_some(),
        samples: spread.map(|spread| spread.count),
        mean_ms: seen.mean().as_ms(),
        p50_ms: spread.map(|spread| spread.p50.as_ms()),
        p95_ms: spread.map(|spread| spread.p95.as_ms()),
        p99_ms: spread.map(|spread| spread.p99.as_ms()),
    }
}

fn rates(seen: &Rates) -> RatesLine {
    let bps = |rate: Option<Rate>| rate.map(Rate::as_bps);
    RatesLine {
        written_bps: bps(seen.written),
        sent_bps: bps(seen.sent),
        entered_bps: bps(seen.entered),
        left_bps: bps(seen.left),
        done_bps: bps(seen.done),
        acknowledged_bps: bps(seen.acknowledged),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::view::tests::example;

    #[test]
    fn a_line_is_one_object_whose_names_are_documented() {
        let text = host_line(&example(), true);
        assert!(!text.contains('\n'), "{text}");
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        let flow = &read["flows"][0];
        assert_eq!(flow["process"], "evil\n");
        assert_eq!(flow["t_q"]["mean_ms"], 80.0);
        assert_eq!(flow["worst"], "qdisc");
        assert_eq!(flow["rates"]["left_bps"], 20_000_000);
        let interface = &read["interfaces"][0];
        assert_eq!(interface["queue"]["kind"], "tbf");
        assert!(interface["t_d"].is_null());
        let page = include_str!("../../../../../docs/watch.md");
        let wait = &flow["t_q"];
        let (queue, socket, rates) = (&interface["queue"], &flow["socket"], &flow["rates"]);
        for object in [&read, interface, queue, flow, socket, wait, rates] {
            for name in object.as_object().unwrap().keys() {
                assert!(
                    page.contains(&format!("`{name}`")),
                    "docs/watch.md lacks {name}"
                );
            }
        }
    }
}
