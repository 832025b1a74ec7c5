//! `run.json` of a test.

use serde_json::json;
use unbloat_loadtest::{Findings, Measured};
use unbloat_run::{Clock, RunInfo, Status, TraceStart};
use unbloat_units::Time;

pub fn info(measured: &Measured, findings: &Findings) -> RunInfo {
    let command = std::env::args().collect();
    let mut info = RunInfo::new("unbloat test", env!("CARGO_PKG_VERSION"), command);
    info.clock = Clock::Real;
    info.trace_start = Some(TraceStart(Time::from_ns(measured.begun_ns)));
    if measured.is_cut {
        info.status = Status::Interrupted;
    }
    let options = &measured.options;
    let host = rustix::system::uname();
    info.options = [
        ("host", json!(host.nodename().to_string_lossy())),
        ("target", json!(options.target.to_string())),
        ("plan", json!(options.plan.name)),
        ("interval_ms", json!(options.plan.interval.as_ms())),
        ("http", json!(options.http.name())),
        ("congestion_control", json!(options.congestion_control)),
        (
            "receive_window_bytes",
            json!(options.receive_window.map(|window| window.as_u64())),
        ),
        ("echo_every_ms", json!(options.probing.shortest().as_ms())),
        (
            "server",
            json!(measured.server.address.map(|address| address.to_string())),
        ),
        (
            "findings",
            json!(unbloat_loadtest::document(measured, findings)),
        ),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into();
    info.verdict = json!(findings.verdict);
    info.left_out = measured.limitations.clone();
    info
}
