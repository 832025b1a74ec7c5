//! The metrics of `unbloat serve`.

use unbloat_metrics::{Page, Unit};
use unbloat_server::Counts;

pub fn page(counts: &Counts) -> Page {
    let mut page = Page::default();
    let gauges = [
        (
            "unbloat_server_connections",
            "Open connections.",
            counts.connections as f64,
        ),
        (
            "unbloat_server_sessions",
            "Open sessions of unbloat test.",
            counts.sessions as f64,
        ),
    ];
    for (name, help, value) in gauges {
        page.gauge(name, Unit::None, help).value(value);
    }
    let counters = [
        (
            "unbloat_server_accepted_connections",
            "Connections that were accepted.",
            counts.accepted,
        ),
        (
            "unbloat_server_refused",
            "Connections and requests that a limit refused.",
            counts.refused,
        ),
        (
            "unbloat_server_failed_connections",
            "Connections that ended with an error before they asked for anything.",
            counts.failed,
        ),
        ("unbloat_server_requests", "Requests.", counts.requests),
        (
            "unbloat_server_echoed_packets",
            "Packets of the irtt echo.",
            counts.echoed,
        ),
    ];
    for (name, help, value) in counters {
        page.counter(name, Unit::None, help).value(value as f64);
    }
    let bytes = page.counter(
        "unbloat_server_transferred",
        Unit::Bytes,
        "Bytes of bodies, by direction seen from the clients.",
    );
    bytes.sample(&[("direction", "down")], counts.down_bytes as f64);
    bytes.sample(&[("direction", "up")], counts.up_bytes as f64);
    page
}
