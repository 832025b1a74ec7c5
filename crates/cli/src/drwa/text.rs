//! Flows as a table and as a JSON line.

use schemars::JsonSchema;
use serde::Serialize;
use unbloat_rwnd::Flow;
use unbloat_text::Table;
use unbloat_units::Delta;

/// For so many columns of a terminal; none: as wide as it is.
pub fn table(flows: &[Flow], columns: Option<usize>) -> String {
    let mut table = Table::new(1).head([
        "flow", "age", "received", "window", "cwnd_est", "RTT", "RTT_min", "dips",
    ]);
    flows.iter().for_each(|flow| table.row(row(flow)));
    table.text(columns)
}

fn row(flow: &Flow) -> [String; 8] {
    [
        format!("{} < {}", flow.local, flow.remote),
        format!("{:.0} s", flow.age.as_secs()),
        flow.received.to_string(),
        flow.window.to_string(),
        flow.cwnd_estimate.map_or(dash(), |bytes| bytes.to_string()),
        flow.rtt.map_or(dash(), ms),
        flow.least_rtt.map_or(dash(), ms),
        flow.dips.to_string(),
    ]
}

fn ms(delta: Delta) -> String {
    format!("{:.0} ms", delta.as_ms())
}

fn dash() -> String {
    "-".to_owned()
}

/// The flows whose windows are set.
#[derive(Serialize, JsonSchema)]
pub struct Line {
    flows: Vec<FlowLine>,
}

#[derive(Serialize, JsonSchema)]
struct FlowLine {
    local: String,
    remote: String,
    ifindex: Option<u32>,
    age_s: f64,
    received_bytes: u64,
    window_bytes: u64,
    cwnd_estimate_bytes: Option<u64>,
    rtt_ms: Option<f64>,
    last_rtt_ms: Option<f64>,
    least_rtt_ms: Option<f64>,
    has_timestamps: bool,
    dips: u32,
    is_dipping: bool,
}

impl Line {
    pub fn of(flows: &[Flow]) -> Line {
        Line {
            flows: flows.iter().map(flow_line).collect(),
        }
    }
}

/// The fields of [`Flow`], with units.
fn flow_line(flow: &Flow) -> FlowLine {
    FlowLine {
        local: flow.local.to_string(),
        remote: flow.remote.to_string(),
        ifindex: flow.ifindex,
        age_s: flow.age.as_secs(),
        received_bytes: flow.received.as_u64(),
        window_bytes: flow.window.as_u64(),
        cwnd_estimate_bytes: flow.cwnd_estimate.map(|bytes| bytes.as_u64()),
        rtt_ms: flow.rtt.map(Delta::as_ms),
        last_rtt_ms: flow.last_rtt.map(Delta::as_ms),
        least_rtt_ms: flow.least_rtt.map(Delta::as_ms),
        has_timestamps: flow.has_timestamps,
        dips: flow.dips,
        is_dipping: flow.is_dipping,
    }
}
