//! The tables of a test's run.

use crate::findings::{Curves, Findings, LoadFindings};
use crate::measured::{Measured, StageRun};
use crate::plan::Load;
use crate::{applications, flight};
use unbloat_responsiveness::Added;
use unbloat_table::{Column, Order, Rows, Table};
use unbloat_units::{Both, Bytes, Delta, Direction, Rate, Time};

/// Parts of the goodput series.
const GOODPUT_EVERY: Delta = Delta::ms(100);

/// All of them, as every test's run has them.
pub fn tables() -> [Table; 8] {
    [
        stages(),
        load_flows(),
        echoes(),
        probes(),
        goodput_series(),
        tcp_series(),
        flight::table(),
        applications::table(),
    ]
}

/// With their rows.
pub fn rows(measured: &Measured, findings: &Findings) -> Vec<(Table, Rows)> {
    let [stages, flows, echoes, probes, goodput, tcp, flights, apps] = tables();
    let rows = [
        stage_rows(&stages, measured, findings),
        flow_rows(&flows, measured),
        echo_rows(&echoes, measured),
        probe_rows(&probes, measured),
        goodput_rows(&goodput, measured),
        tcp_rows(&tcp, measured),
        flight::rows(&flights, measured, findings),
        applications::rows(&apps, measured),
    ];
    [stages, flows, echoes, probes, goodput, tcp, flights, apps]
        .into_iter()
        .zip(rows)
        .collect()
}

fn stages() -> Table {
    Table {
        name: "stages",
        doc: "one row per stage of a test; delays are of datagrams, and added is less the median without load",
        columns: vec![
            Column::u64("stage", "its number, from 0"),
            Column::text("load", "idle, down, up, both"),
            Column::text(
                "stack",
                "as_is: senders buffer as systems do; network_only: no more than 5 ms of a connection's rate unsent (draft-ietf-ippm-responsiveness-09)",
            ),
            Column::i64("begin_ns", "when it began, since the test began"),
            Column::i64("end_ns", "when it ended"),
            Column::i64(
                "judged_from_ns",
                "what is before is the ramp, and not judged; null without load",
            ),
            Column::f64(
                "delivered_down_bps",
                "TCP payload that arrived here, in order or not, duplicates included: what the path carried",
            ),
            Column::f64("delivered_up_bps", "the same at the server"),
            Column::f64(
                "goodput_down_bps",
                "TCP payload that arrived here in order: what applications got",
            ),
            Column::f64(
                "goodput_up_bps",
                "the same at the server; what its TCP acknowledged where it keeps no account",
            ),
            Column::f64(
                "rtt_p50_ms",
                "median round trip without load; null with load",
            ),
            Column::f64(
                "added_down_p50_ms",
                "median of what was added on the way down; null where the server gives no times",
            ),
            Column::f64("added_down_p95_ms", "95th percentile"),
            Column::f64("added_down_p99_ms", "99th percentile"),
            Column::f64("added_up_p50_ms", "the same on the way up"),
            Column::f64("added_up_p95_ms", "95th percentile"),
            Column::f64("added_up_p99_ms", "99th percentile"),
            Column::f64("added_rtt_p50_ms", "the same there and back"),
            Column::f64("added_rtt_p95_ms", "95th percentile"),
            Column::f64("added_rtt_p99_ms", "99th percentile"),
            Column::f64(
                "loss_down",
                "share of datagrams lost on the way down, of those that the server got; null where it does not tell",
            ),
            Column::f64("loss_up", "share lost on the way up"),
            Column::f64(
                "rpm",
                "round trips per minute, draft-ietf-ippm-responsiveness-09, 4.3.2",
            ),
            Column::f64(
                "rpm_legacy",
                "round trips per minute as older clients count them (goresponsiveness 2024-01); not comparable",
            ),
            Column::text("confidence", "low, medium, high as in the draft, 4.2.2"),
            Column::u64("flows", "load connections"),
            Column::u64("failed_flows", "those that ended before the stage"),
            Column::f64(
                "cpu_busy",
                "share of this machine's CPU time that was not idle",
            ),
            Column::f64("cpu_stolen", "share that a hypervisor gave to others"),
            Column::f64("own_cpus", "CPUs that the test itself took"),
            Column::u64(
                "late_sends",
                "datagrams that were sent more than 1 ms after they were due",
            ),
        ],
    }
}

fn load_flows() -> Table {
    Table {
        name: "load_flows",
        doc: "one row per load connection",
        columns: vec![
            Column::u64("flow", "its number, unique in the test"),
            Column::u64("stage", "number of its stage"),
            Column::text("direction", "down or up"),
            Column::i64("begin_ns", "when it began to connect, since the test began"),
            Column::i64(
                "ready_ns",
                "when the first byte of its body came; null for uploads",
            ),
            Column::i64("end_ns", "when it ended"),
            Column::u64(
                "bytes",
                "body bytes that this client read (down) or gave to HTTP (up)",
            ),
            Column::text("congestion_control", "of this end's socket"),
            Column::text(
                "failure",
                "why it ended before its stage; null if it did not",
            ),
        ],
    }
}

fn echoes() -> Table {
    Table {
        name: "echoes",
        doc: "one row per datagram of the echo",
        columns: vec![
            Column::i64("time_ns", "when it was sent, since the test began"),
            Column::u64("seq", "its number"),
            Column::u64("stage", "number of the stage; null between stages"),
            Column::text(
                "fate",
                "back, lost_up, lost_down, or lost where nobody tells in which direction",
            ),
            Column::f64("rtt_ms", "round trip without the server's own time"),
            Column::f64(
                "added_up_ms",
                "what the way up took beyond its least of the whole test, drift of the clocks corrected",
            ),
            Column::f64("added_down_ms", "the same of the way down"),
            Column::bool(
                "reordered_up",
                "it was overtaken by a later one on the way up",
            ),
            Column::bool("reordered_down", "on the way down"),
            Column::u64("duplicates", "how often it came again"),
        ],
    }
}

fn probes() -> Table {
    Table {
        name: "probes",
        doc: "one row per probe by HTTP or ICMP; kinds wait in different places and are never averaged together",
        columns: vec![
            Column::i64("time_ns", "when it began, since the test began"),
            Column::u64("stage", "number of the stage; null between stages"),
            Column::text(
                "kind",
                "foreign: a connection of its own; self: a request on a load connection (with HTTP/1.1 TCP's own round trip); icmp: an echo request",
            ),
            Column::u64("flow", "load connection that carried it"),
            Column::f64(
                "tcp_ms",
                "TCP's handshake; null of others than foreign ones, and over QUIC",
            ),
            Column::f64("tls_ms", "TLS's handshake, or QUIC's"),
            Column::u64("tls_round_trips", "round trips that this handshake takes"),
            Column::f64(
                "answer_ms",
                "from request to the end of the answer (by HTTP of one byte); null if it failed",
            ),
            Column::text("failure", "why it failed"),
        ],
    }
}

fn goodput_series() -> Table {
    Table {
        name: "goodput_series",
        doc: "one row per 100 ms, stage and loaded direction",
        columns: vec![
            Column::i64("time_ns", "begin of these 100 ms, since the test began"),
            Column::u64("stage", "number of the stage"),
            Column::text("direction", "down or up"),
            Column::f64(
                "delivered_bps",
                "TCP payload that arrived, of all load connections together: what the path carried",
            ),
            Column::text(
                "delivered_by",
                "who counted: sacked (sender's kernel), segments (receiver's kernel), else as goodput_by",
            ),
            Column::f64(
                "goodput_bps",
                "what of it came in order; jumps where a hole is filled, beyond what the path carried",
            ),
            Column::text(
                "goodput_by",
                "who counted: received (kernel), client_read, server_read (applications) or acknowledged",
            ),
        ],
    }
}

fn tcp_series() -> Table {
    Table {
        name: "tcp_series",
        doc: "one row per look at a load connection's TCP: every 10 ms at this end, every 50 ms at the server's",
        columns: vec![
            Column::i64(
                "time_ns",
                "when, since the test began; the server's clock is set against ours as if the idle path were as long up as down",
            ),
            Column::text("side", "client or server: whose kernel tells"),
            Column::u64("flow", "number of the load connection"),
            Column::text("direction", "down or up"),
            Column::f64("rtt_ms", "smoothed round-trip time"),
            Column::f64("min_rtt_ms", "least round-trip time"),
            Column::u64("cwnd_bytes", "congestion window"),
            Column::u64(
                "in_flight_bytes",
                "in flight as the kernel computes it: unacknowledged - SACKed - lost + retransmitted",
            ),
            Column::u64("unsent_bytes", "written and not sent"),
            Column::u64("acked_bytes", "acknowledged by the peer, TLS included"),
            Column::u64(
                "delivered_bytes",
                "arrived at the peer: acknowledged, SACKed, and duplicates (DSACK); null where this side does not tell",
            ),
            Column::u64("received_bytes", "received from the peer, TLS included"),
            Column::u64("retransmissions", "segments sent again"),
            Column::f64("delivery_rate_bps", "the kernel's own estimate"),
            Column::f64("busy_ms", "for how long it had something to send"),
            Column::f64(
                "window_limited_ms",
                "of this, for how long the peer's window held it back",
            ),
            Column::f64(
                "buffer_limited_ms",
                "and for how long its own send buffer did",
            ),
        ],
    }
}

fn order(number: usize) -> Order {
    Order {
        written_at: number as u64,
        subject: 0,
    }
}

fn ms(span: Option<Delta>) -> Option<f64> {
    span.map(Delta::as_ms)
}

fn bps(rate: Option<Rate>) -> Option<f64> {
    rate.map(Rate::as_bps_f64)
}

fn stage_number(measured: &Measured, at: Time) -> Option<u64> {
    measured.stage_at(at).map(|stage| stage as u64)
}

fn stage_rows(table: &Table, measured: &Measured, findings: &Findings) -> Rows {
    let mut rows = Rows::new(table);
    for (number, stage) in measured.stages.iter().enumerate() {
        let found = findings.loads.iter().find(|found| found.stage == number);
        stage_row(&mut rows, (number, stage), found, findings);
    }
    rows
}

fn stage_row(
    rows: &mut Rows,
    (number, stage): (usize, &StageRun),
    found: Option<&LoadFindings>,
    findings: &Findings,
) {
    let mut row = rows.row(order(number));
    row.u64(number as u64);
    row.text(stage.load.name());
    row.text(stage.stack.name());
    row.i64(stage.begin.as_ns());
    row.i64(stage.end.as_ns());
    row.i64(found.map(|found| found.from.as_ns()));
    for rates in [
        found.map(|found| found.delivered),
        found.map(|found| found.goodput),
    ] {
        for direction in Direction::BOTH {
            row.f64(bps(rates.and_then(|rates| rates[direction])));
        }
    }
    let is_idle = stage.load == Load::Idle;
    row.f64(ms(findings
        .idle
        .rtt
        .filter(|_| is_idle)
        .map(|[p50, ..]| p50)));
    let one_way = Both::of(|direction| found.and_then(|found| found.added[direction]));
    for added in one_way
        .into_iter()
        .chain([found.and_then(|found| found.added_rtt)])
    {
        let of = |pick: fn(&Added) -> Delta| ms(added.as_ref().map(pick));
        row.f64(of(|of_all| of_all.p50.value));
        row.f64(of(|of_all| of_all.p95.value));
        row.f64(of(|of_all| of_all.p99.value));
    }
    let account = found.map_or(&findings.idle.account, |found| &found.account);
    let loss = account.loss();
    row.f64(loss.down);
    row.f64(loss.up);
    row.f64(found.and_then(|found| found.rpm).map(|rpm| rpm.as_f64()));
    row.f64(
        found
            .and_then(|found| found.rpm_legacy)
            .map(|rpm| rpm.as_f64()),
    );
    row.text(found.map(|found| found.confidence.name()));
    row.u64(found.map(|found| found.flows as u64));
    row.u64(found.map(|found| found.failed as u64));
    row.f64(stage.host.busy);
    row.f64(stage.host.stolen);
    row.f64(stage.host.own_cpus);
    row.u64(stage.host.late_sends);
}

fn flow_rows(table: &Table, measured: &Measured) -> Rows {
    let mut rows = Rows::new(table);
    for (number, flow) in measured.flows.iter().enumerate() {
        let mut row = rows.row(order(number));
        row.u64(u64::from(flow.flow));
        row.u64(flow.stage as u64);
        row.text(flow.direction.name());
        row.i64(flow.begin.as_ns());
        row.i64(flow.ready.map(Time::as_ns));
        row.i64(flow.end.as_ns());
        row.u64(flow.bytes.as_u64());
        row.text(flow.congestion_control.as_deref());
        row.text(flow.failure.as_deref());
    }
    rows
}

fn echo_rows(table: &Table, measured: &Measured) -> Rows {
    let mut rows = Rows::new(table);
    for (number, echo) in measured.echoes.iter().enumerate() {
        let mut row = rows.row(order(number));
        row.i64(echo.sent.as_ns());
        row.u64(echo.seq);
        row.u64(stage_number(measured, echo.sent));
        row.text(echo.fate.name());
        row.f64(ms(echo.rtt));
        row.f64(ms(echo.added_up));
        row.f64(ms(echo.added_down));
        row.bool(echo.reordered_up);
        row.bool(echo.reordered_down);
        row.u64(u64::from(echo.duplicates));
    }
    rows
}

fn probe_rows(table: &Table, measured: &Measured) -> Rows {
    let mut rows = Rows::new(table);
    for (number, probe) in measured.probes.iter().enumerate() {
        let mut row = rows.row(order(number));
        row.i64(probe.sent.as_ns());
        row.u64(stage_number(measured, probe.sent));
        row.text(probe.kind.name());
        row.u64(probe.flow.map(u64::from));
        row.f64(ms(probe.tcp));
        row.f64(ms(probe.tls));
        row.u64(probe.tls.map(|_| u64::from(probe.tls_round_trips)));
        row.f64(ms(probe.answer));
        row.text(probe.failure.as_deref());
    }
    rows
}

fn goodput_rows(table: &Table, measured: &Measured) -> Rows {
    let mut rows = Rows::new(table);
    for (number, stage) in measured.stages.iter().enumerate() {
        for direction in Direction::BOTH {
            let Some(arrived) = Curves::delivered(measured, number, direction) else {
                continue;
            };
            let Some(in_order) = Curves::in_order(measured, number, direction) else {
                continue;
            };
            let span = (stage.begin, stage.end);
            let [arrived_rates, in_order_rates] =
                [&arrived, &in_order].map(|curves| curves.rates(span, GOODPUT_EVERY));
            for ((at, delivered), (_, goodput)) in arrived_rates.into_iter().zip(in_order_rates) {
                let mut row = rows.row(order(number));
                row.i64(at.as_ns());
                row.u64(number as u64);
                row.text(direction.name());
                row.f64(delivered.as_bps_f64());
                row.text(arrived.counter.name());
                row.f64(goodput.as_bps_f64());
                row.text(in_order.counter.name());
            }
        }
    }
    rows
}

fn tcp_rows(table: &Table, measured: &Measured) -> Rows {
    let mut rows = Rows::new(table);
    for (number, sample) in measured.kernel.iter().enumerate() {
        let state = &sample.state;
        let mut row = rows.row(order(number));
        row.i64(sample.at.as_ns());
        row.text(sample.side.name());
        row.u64(u64::from(sample.flow));
        row.text(sample.direction.name());
        row.f64(ms(state.rtt));
        row.f64(ms(state.min_rtt));
        let sizes = [state.cwnd, state.in_flight, state.unsent, state.acked];
        for size in sizes {
            row.u64(size.as_u64());
        }
        row.u64(state.delivered.map(Bytes::as_u64));
        row.u64(state.received.as_u64());
        row.u64(state.retransmissions);
        row.f64(bps(state.delivery_rate));
        row.f64(ms(state.busy));
        row.f64(ms(state.window_limited));
        row.f64(ms(state.buffer_limited));
    }
    rows
}
