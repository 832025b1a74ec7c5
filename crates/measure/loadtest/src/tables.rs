//! The tables of a test's run.

use crate::applications;
use crate::findings::{Curves, Findings, LoadFindings, flight};
use crate::measured::{Echo, FlowRun, KernelSample, Measured, Probe, StageRun};
use crate::plan::Load;
use unbloat_responsiveness::Added;
use unbloat_table::{Row, Rows, Table, columns};
use unbloat_units::{Both, Bytes, Delta, Direction, Rate, Time};

/// Parts of the goodput series.
const GOODPUT_EVERY: Delta = Delta::ms(100);

columns! {
    pub struct StageRow<'a>: stages = "one row per stage of a test; delays are of datagrams, and added is less the median without load" {
        stage: usize = "its number, from 0",
        load: &'static str = "idle, down, up, both",
        stack: &'a str = "as_is: senders buffer as systems do; network_only: no more than 5 ms of a connection's rate unsent (draft-ietf-ippm-responsiveness-09)",
        begin_ns: i64 = "when it began, since the test began",
        end_ns: i64 = "when it ended",
        judged_from_ns: Option<i64> = "what is before is the ramp, and not judged; null without load",
        delivered_down_bps: Option<f64> = "TCP payload that arrived here, in order or not, duplicates included: what the path carried",
        delivered_up_bps: Option<f64> = "the same at the server",
        goodput_down_bps: Option<f64> = "TCP payload that arrived here in order: what applications got",
        goodput_up_bps: Option<f64> = "the same at the server; what its TCP acknowledged where it keeps no account",
        rtt_p50_ms: Option<f64> = "median round trip without load; null with load",
        added_down_p50_ms: Option<f64> = "median of what was added on the way down; null where the server gives no times",
        added_down_p95_ms: Option<f64> = "95th percentile",
        added_down_p99_ms: Option<f64> = "99th percentile",
        added_up_p50_ms: Option<f64> = "the same on the way up",
        added_up_p95_ms: Option<f64> = "95th percentile",
        added_up_p99_ms: Option<f64> = "99th percentile",
        added_rtt_p50_ms: Option<f64> = "the same there and back",
        added_rtt_p95_ms: Option<f64> = "95th percentile",
        added_rtt_p99_ms: Option<f64> = "99th percentile",
        loss_down: Option<f64> = "share of datagrams lost on the way down, of those that the server got; null where it does not tell",
        loss_up: Option<f64> = "share lost on the way up",
        rpm: Option<f64> = "round trips per minute, draft-ietf-ippm-responsiveness-09, 4.3.2",
        rpm_legacy: Option<f64> = "round trips per minute as older clients count them (goresponsiveness 2024-01); not comparable",
        confidence: Option<&'a str> = "low, medium, high as in the draft, 4.2.2",
        flows: Option<usize> = "load connections",
        failed_flows: Option<usize> = "those that ended before the stage",
        cpu_busy: Option<f64> = "share of this machine's CPU time that was not idle",
        cpu_stolen: Option<f64> = "share that a hypervisor gave to others",
        own_cpus: Option<f64> = "CPUs that the test itself took",
        late_sends: u64 = "datagrams that were sent more than 1 ms after they were due",
    }

    pub struct LoadFlowRow<'a>: load_flows = "one row per load connection" {
        flow: u16 = "its number, unique in the test",
        stage: usize = "number of its stage",
        direction: Direction = "down or up",
        begin_ns: i64 = "when it began to connect, since the test began",
        ready_ns: Option<i64> = "when the first byte of its body came; null for uploads",
        end_ns: i64 = "when it ended",
        bytes: u64 = "body bytes that this client read (down) or gave to HTTP (up)",
        congestion_control: Option<&'a str> = "of this end's socket",
        failure: Option<&'a str> = "why it ended before its stage; null if it did not",
    }

    pub struct EchoRow: echoes = "one row per datagram of the echo" {
        time_ns: i64 = "when it was sent, since the test began",
        seq: u64 = "its number",
        stage: Option<usize> = "number of the stage; null between stages",
        fate: &'static str = "back, lost_up, lost_down, or lost where nobody tells in which direction",
        rtt_ms: Option<f64> = "round trip without the server's own time",
        added_up_ms: Option<f64> = "what the way up took beyond its least of the whole test, drift of the clocks corrected",
        added_down_ms: Option<f64> = "the same of the way down",
        reordered_up: bool = "it was overtaken by a later one on the way up",
        reordered_down: bool = "on the way down",
        duplicates: u32 = "how often it came again",
    }

    pub struct ProbeRow<'a>: probes = "one row per probe by HTTP or ICMP; kinds wait in different places and are never averaged together" {
        time_ns: i64 = "when it began, since the test began",
        stage: Option<usize> = "number of the stage; null between stages",
        kind: &'a str = "foreign: a connection of its own; self: a request on a load connection (with HTTP/1.1 TCP's own round trip); icmp: an echo request",
        flow: Option<u16> = "load connection that carried it",
        tcp_ms: Option<f64> = "TCP's handshake; null of others than foreign ones, and over QUIC",
        tls_ms: Option<f64> = "TLS's handshake, or QUIC's",
        tls_round_trips: Option<u8> = "round trips that this handshake takes",
        answer_ms: Option<f64> = "from request to the end of the answer (by HTTP of one byte); null if it failed",
        failure: Option<&'a str> = "why it failed",
    }

    pub struct GoodputRow: goodput_series = "one row per 100 ms, stage and loaded direction" {
        time_ns: i64 = "begin of these 100 ms, since the test began",
        stage: usize = "number of the stage",
        direction: Direction = "down or up",
        delivered_bps: f64 = "TCP payload that arrived, of all load connections together: what the path carried",
        delivered_by: &'static str = "who counted: sacked (sender's kernel), segments (receiver's kernel), else as goodput_by",
        goodput_bps: f64 = "what of it came in order; jumps where a hole is filled, beyond what the path carried",
        goodput_by: &'static str = "who counted: received (kernel), client_read, server_read (applications) or acknowledged",
    }

    pub struct TcpRow: tcp_series = "one row per look at a load connection's TCP: every 10 ms at this end, every 50 ms at the server's" {
        time_ns: i64 = "when, since the test began; the server's clock is set against ours as if the idle path were as long up as down",
        side: &'static str = "client or server: whose kernel tells",
        flow: u16 = "number of the load connection",
        direction: Direction = "down or up",
        rtt_ms: Option<f64> = "smoothed round-trip time",
        min_rtt_ms: Option<f64> = "least round-trip time",
        cwnd_bytes: u64 = "congestion window",
        in_flight_bytes: u64 = "in flight as the kernel computes it: unacknowledged - SACKed - lost + retransmitted",
        unsent_bytes: u64 = "written and not sent",
        acked_bytes: u64 = "acknowledged by the peer, TLS included",
        delivered_bytes: Option<u64> = "arrived at the peer: acknowledged, SACKed, and duplicates (DSACK); null where this side does not tell",
        received_bytes: u64 = "received from the peer, TLS included",
        retransmissions: u64 = "segments sent again",
        delivery_rate_bps: Option<f64> = "the kernel's own estimate",
        busy_ms: Option<f64> = "for how long it had something to send",
        window_limited_ms: Option<f64> = "of this, for how long the peer's window held it back",
        buffer_limited_ms: Option<f64> = "and for how long its own send buffer did",
    }

    pub struct InFlightRow: in_flight_series = "one row per 100 ms, stage and loaded direction: all load connections together, as the kernels of their senders tell (every 10 ms here, every 250 ms at the server)" {
        time_ns: i64 = "when, since the test began",
        stage: usize = "number of the stage",
        direction: Direction = "down or up",
        in_flight_bytes: u64 = "in flight as the kernels compute it: unacknowledged - SACKed - lost + retransmitted",
        cwnd_bytes: u64 = "sum of the congestion windows",
        bdp_bytes: Option<u64> = "bandwidth-delay product: the stage's delivered rate times the median idle round trip; what is in flight beyond it waits in queues",
    }

    pub struct ApplicationRow<'a>: applications = "one row per stage, application and result" {
        stage: usize = "number of the stage",
        load: &'a str = "idle, down, up, both",
        application: &'a str = "its name",
        workload: &'a str = "which workload it is (docs/scenario.md)",
        metric: &'a str = "name of the result, with its unit",
        value: f64 = "the result",
    }
}

/// All of them, as every test's run has them.
pub fn tables() -> [Table; 8] {
    [
        StageRow::table(),
        LoadFlowRow::table(),
        EchoRow::table(),
        ProbeRow::table(),
        GoodputRow::table(),
        TcpRow::table(),
        InFlightRow::table(),
        ApplicationRow::table(),
    ]
}

/// With their rows.
pub fn rows(measured: &Measured, findings: &Findings) -> Vec<(Table, Rows)> {
    vec![
        StageRow::filled(stage_rows(measured, findings)),
        LoadFlowRow::filled(measured.flows.iter().map(flow_row)),
        EchoRow::filled(measured.echoes.iter().map(|echo| echo_row(measured, echo))),
        ProbeRow::filled(
            measured
                .probes
                .iter()
                .map(|probe| probe_row(measured, probe)),
        ),
        GoodputRow::filled(goodput_rows(measured)),
        TcpRow::filled(measured.kernel.iter().map(tcp_row)),
        InFlightRow::filled(in_flight_rows(measured, findings)),
        ApplicationRow::filled(applications::rows(measured)),
    ]
}

fn ms(span: Option<Delta>) -> Option<f64> {
    span.map(Delta::as_ms)
}

fn bps(rate: Option<Rate>) -> Option<f64> {
    rate.map(Rate::as_bps_f64)
}

fn stage_rows<'a>(
    measured: &'a Measured,
    findings: &'a Findings,
) -> impl Iterator<Item = StageRow<'a>> {
    let stages = measured.stages.iter().enumerate();
    stages.map(|(number, stage)| {
        let found = findings.loads.iter().find(|found| found.stage == number);
        stage_row(number, stage, found, findings)
    })
}

fn stage_row<'a>(
    number: usize,
    stage: &'a StageRun,
    found: Option<&'a LoadFindings>,
    findings: &Findings,
) -> StageRow<'a> {
    let rates = |pick: fn(&LoadFindings) -> Both<Option<Rate>>| {
        found.map_or_else(Both::default, |found| pick(found).map(bps))
    };
    let delivered = rates(|load| load.delivered);
    let goodput = rates(|load| load.goodput);
    let percentiles = |added: Option<Added>| {
        let of = |pick: fn(&Added) -> Delta| ms(added.as_ref().map(pick));
        [
            of(|of_all| of_all.p50.value),
            of(|of_all| of_all.p95.value),
            of(|of_all| of_all.p99.value),
        ]
    };
    let added = Both::of(|direction| percentiles(found.and_then(|found| found.added[direction])));
    let added_rtt = percentiles(found.and_then(|found| found.added_rtt));
    let account = found.map_or(&findings.idle.account, |found| &found.account);
    let loss = account.loss();
    let idle_rtt = findings.idle.rtt.filter(|_| stage.load == Load::Idle);
    StageRow {
        stage: number,
        load: stage.load.name(),
        stack: stage.stack.name(),
        begin_ns: stage.begin.as_ns(),
        end_ns: stage.end.as_ns(),
        judged_from_ns: found.map(|found| found.from.as_ns()),
        delivered_down_bps: delivered.down,
        delivered_up_bps: delivered.up,
        goodput_down_bps: goodput.down,
        goodput_up_bps: goodput.up,
        rtt_p50_ms: ms(idle_rtt.map(|[p50, ..]| p50)),
        added_down_p50_ms: added.down[0],
        added_down_p95_ms: added.down[1],
        added_down_p99_ms: added.down[2],
        added_up_p50_ms: added.up[0],
        added_up_p95_ms: added.up[1],
        added_up_p99_ms: added.up[2],
        added_rtt_p50_ms: added_rtt[0],
        added_rtt_p95_ms: added_rtt[1],
        added_rtt_p99_ms: added_rtt[2],
        loss_down: loss.down,
        loss_up: loss.up,
        rpm: found.and_then(|found| found.rpm).map(|rpm| rpm.as_f64()),
        rpm_legacy: found
            .and_then(|found| found.rpm_legacy)
            .map(|rpm| rpm.as_f64()),
        confidence: found.map(|found| found.confidence.name()),
        flows: found.map(|found| found.flows),
        failed_flows: found.map(|found| found.failed),
        cpu_busy: stage.host.busy,
        cpu_stolen: stage.host.stolen,
        own_cpus: stage.host.own_cpus,
        late_sends: stage.host.late_sends,
    }
}

fn flow_row(flow: &FlowRun) -> LoadFlowRow<'_> {
    LoadFlowRow {
        flow: flow.flow,
        stage: flow.stage,
        direction: flow.direction,
        begin_ns: flow.begin.as_ns(),
        ready_ns: flow.ready.map(Time::as_ns),
        end_ns: flow.end.as_ns(),
        bytes: flow.bytes.as_u64(),
        congestion_control: flow.congestion_control.as_deref(),
        failure: flow.failure.as_deref(),
    }
}

fn echo_row(measured: &Measured, echo: &Echo) -> EchoRow {
    EchoRow {
        time_ns: echo.sent.as_ns(),
        seq: echo.seq,
        stage: measured.stage_at(echo.sent),
        fate: echo.fate.name(),
        rtt_ms: ms(echo.rtt),
        added_up_ms: ms(echo.added_up),
        added_down_ms: ms(echo.added_down),
        reordered_up: echo.reordered_up,
        reordered_down: echo.reordered_down,
        duplicates: echo.duplicates,
    }
}

fn probe_row<'a>(measured: &Measured, probe: &'a Probe) -> ProbeRow<'a> {
    ProbeRow {
        time_ns: probe.sent.as_ns(),
        stage: measured.stage_at(probe.sent),
        kind: probe.kind.name(),
        flow: probe.flow,
        tcp_ms: ms(probe.tcp),
        tls_ms: ms(probe.tls),
        tls_round_trips: probe.tls.map(|_| probe.tls_round_trips),
        answer_ms: ms(probe.answer),
        failure: probe.failure.as_deref(),
    }
}

fn goodput_rows(measured: &Measured) -> Vec<GoodputRow> {
    let mut rows = Vec::new();
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
            let rates = arrived_rates.into_iter().zip(in_order_rates);
            rows.extend(rates.map(|((at, delivered), (_, goodput))| GoodputRow {
                time_ns: at.as_ns(),
                stage: number,
                direction,
                delivered_bps: delivered.as_bps_f64(),
                delivered_by: arrived.counter.name(),
                goodput_bps: goodput.as_bps_f64(),
                goodput_by: in_order.counter.name(),
            }));
        }
    }
    rows
}

fn tcp_row(sample: &KernelSample) -> TcpRow {
    let state = &sample.state;
    TcpRow {
        time_ns: sample.at.as_ns(),
        side: sample.side.name(),
        flow: sample.flow,
        direction: sample.direction,
        rtt_ms: ms(state.rtt),
        min_rtt_ms: ms(state.min_rtt),
        cwnd_bytes: state.cwnd.as_u64(),
        in_flight_bytes: state.in_flight.as_u64(),
        unsent_bytes: state.unsent.as_u64(),
        acked_bytes: state.acked.as_u64(),
        delivered_bytes: state.delivered.map(Bytes::as_u64),
        received_bytes: state.received.as_u64(),
        retransmissions: state.retransmissions,
        delivery_rate_bps: bps(state.delivery_rate),
        busy_ms: ms(state.busy),
        window_limited_ms: ms(state.window_limited),
        buffer_limited_ms: ms(state.buffer_limited),
    }
}

/// What senders had on the way, beside what the path needs to be full.
fn in_flight_rows(measured: &Measured, findings: &Findings) -> Vec<InFlightRow> {
    let mut rows = Vec::new();
    for found in &findings.loads {
        for direction in Direction::BOTH {
            let product = found.bandwidth_delay_product(&findings.idle, direction);
            let series = flight::series(measured, found.stage, direction);
            rows.extend(series.into_iter().map(|flight| InFlightRow {
                time_ns: flight.at.as_ns(),
                stage: found.stage,
                direction,
                in_flight_bytes: flight.in_flight.as_u64(),
                cwnd_bytes: flight.cwnd.as_u64(),
                bdp_bytes: product.map(Bytes::as_u64),
            }));
        }
    }
    rows
}
