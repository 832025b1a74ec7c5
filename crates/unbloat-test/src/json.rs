//! What was found, as JSON of a schema of our own: docs/test.md has each field.

use crate::applications;
use crate::findings::{Findings, Idle, LoadFindings};
use crate::measured::{Counter, Measured};
use crate::plan::Direction;
use serde_json::{Value, json};
use unbloat_responsiveness::{Added, Estimate, Means, SCHEMA, Share, Split, StackView};
use unbloat_units::{Bytes, Delta, Rate};

/// The whole document.
pub fn json(measured: &Measured, findings: &Findings) -> Value {
    let options = &measured.options;
    let server = &measured.server;
    json!({
        "schema": SCHEMA,
        "begun_ns": measured.begun_ns,
        "target": options.target.to_string(),
        "server": {
            "address": server.address.map(|address| address.to_string()),
            "asked_address": server.asked.map(|address| address.to_string()),
            "http": server.http.map(|http| http.name()),
            "tls": server.tls,
            "has_account": server.has_account,
            "echo": server.echo.map(|address| address.to_string()),
        },
        "plan": options.plan.name,
        "interval_ms": options.plan.interval.as_ms(),
        "congestion_control": options.congestion_control,
        "receive_window_bytes": options.receive_window.map(Bytes::as_u64),
        "is_cut": measured.is_cut,
        "server_gone_s": measured.gone.map(|gone| gone.at.since(unbloat_units::Time::from_ns(0)).as_secs()),
        "verdict": findings.verdict,
        "clocks": measured.clocks.map(|clocks| json!({
            "drift_ppm": number(clocks.drift_ppm),
            "error_ms": ms(clocks.error),
        })),
        "idle": idle(&findings.idle),
        "loads": findings.loads.iter().map(|found| load(measured, &findings.idle, found)).collect::<Vec<_>>(),
        "splits": findings.splits.iter().map(|(direction, split)| splits(*direction, split)).collect::<Vec<_>>(),
        "applications": applications::json(measured),
        "grade": {
            "rule": findings.rule.name(),
            "rule_in_words": findings.rule.in_words(),
            "marks": findings.marks.iter().map(|mark| json!({
                "of": mark.of, "mark": mark.mark, "because": mark.because,
            })).collect::<Vec<_>>(),
        },
        "confidence": findings.confidence().map(|confidence| confidence.name()),
        "causes": findings.causes,
        "lacks": measured.lacks,
    })
}

fn idle(idle: &Idle) -> Value {
    let [standing_down, standing_up, standing_rtt] = idle.standing;
    json!({
        "rtt_p50_ms": idle.rtt.map(|[p50, ..]| ms(p50)),
        "rtt_p95_ms": idle.rtt.map(|[_, p95, _]| ms(p95)),
        "rtt_p99_ms": idle.rtt.map(|[.., p99]| ms(p99)),
        "jitter_ms": idle.jitter.map(ms),
        "base_rtt_ms": idle.base_rtt.map(ms),
        "standing": {"down_ms": standing_down.map(ms), "up_ms": standing_up.map(ms), "rtt_ms": standing_rtt.map(ms)},
        "datagrams": idle.account.sent,
        "coverage": idle.coverage.map(number),
        "probes": view(&idle.view),
    })
}

fn load(measured: &Measured, idle: &Idle, found: &LoadFindings) -> Value {
    let stage = &measured.stages[found.stage];
    let [loss_down, loss_up] = found.account.loss();
    json!({
        "stage": found.stage,
        "load": found.load.name(),
        "stack": found.stack.name(),
        "begin_s": stage.begin.since(unbloat_units::Time::from_ns(0)).as_secs(),
        "lasted_s": stage.end.since(stage.begin).as_secs(),
        "judged_s": found.to.since(found.from).as_secs(),
        "down": direction((found, idle), Direction::Down, loss_down, found.account.reordered_down),
        "up": direction((found, idle), Direction::Up, loss_up, found.account.reordered_up),
        "added_rtt": found.added_rtt.as_ref().map(added),
        "datagrams": found.account.sent,
        "coverage": found.coverage.map(number),
        "rpm": found.rpm.map(|rpm| number(rpm.as_f64())),
        "rpm_class": found.rpm.map(|rpm| rpm.class().name()),
        "rpm_legacy": found.rpm_legacy.map(|rpm| number(rpm.as_f64())),
        "trimmed_means": found.means.as_ref().map(means),
        "confidence": found.confidence.name(),
        "is_saturated": found.is_saturated,
        "added_by_probe": view(&found.view),
        "flows": found.flows,
        "failed_flows": found.failed,
        "held_back": found.held_back.map(number),
        "cpu_busy": stage.host.busy.map(number),
        "cpu_stolen": stage.host.stolen.map(number),
        "own_cpus": stage.host.own_cpus.map(number),
        "late_sends": stage.host.late_sends,
    })
}

fn direction(
    (found, idle): (&LoadFindings, &Idle),
    direction: Direction,
    loss: Option<f64>,
    reordered: u64,
) -> Value {
    let at = direction as usize;
    json!({
        "delivered_bps": found.delivered[at].map(Rate::as_bps),
        "delivered_spread": found.spread[at].map(number),
        "delivered_by": found.delivered_by[at].map(Counter::name),
        "is_steady": found.delivered[at].map(|_| found.is_steady(direction)),
        "goodput_bps": found.goodput[at].map(Rate::as_bps),
        "goodput_by": found.goodput_by[at].map(Counter::name),
        "added": found.added[at].as_ref().map(added),
        "loss": loss.map(number),
        "reordered": reordered,
        "in_flight_bytes": found.in_flight[at].map(Bytes::as_u64),
        "in_flight_per_flow_bytes": found.in_flight[at].zip(found.flows_of(direction)).map(|(bytes, flows)| bytes.as_u64() / flows),
        "interface_bps": found.interface[at].map(Rate::as_bps),
        "bdp_bytes": found.bandwidth_delay_product(idle, direction).map(Bytes::as_u64),
    })
}

fn added(added: &Added) -> Value {
    let estimate = |estimate: &Estimate| json!({"ms": ms(estimate.value), "low_ms": ms(estimate.low), "high_ms": ms(estimate.high)});
    json!({
        "p50": estimate(&added.p50),
        "p95": estimate(&added.p95),
        "p99": estimate(&added.p99),
        "mean": estimate(&added.mean),
        "max_ms": ms(added.max),
        "samples": added.samples,
    })
}

fn means(means: &Means) -> Value {
    json!({
        "tcp_f_ms": ms(means.tcp),
        "tls_f_ms": means.tls.map(ms),
        "http_f_ms": ms(means.http),
        "http_l_ms": ms(means.own),
    })
}

fn view(view: &StackView) -> Value {
    json!({
        "udp_ms": view.udp.map(ms),
        "foreign_ms": view.foreign.map(ms),
        "tcp_ms": view.tcp.map(ms),
        "self_ms": view.own.map(ms),
        "icmp_ms": view.icmp.map(ms),
    })
}

fn splits(direction: Direction, split: &Split) -> Value {
    let share =
        |share: &Share| json!({"place": share.place, "ms": ms(share.delay), "from": share.from});
    json!({
        "direction": direction.name(),
        "shared": share(&split.shared),
        "own_queue": split.own_queue.as_ref().map(share),
        "sockets": split.sockets.as_ref().map(share),
        "same_connection": split.same_connection.as_ref().map(share),
        "setup": split.setup.as_ref().map(share),
    })
}

/// To the microsecond: more was not measured.
fn ms(span: Delta) -> f64 {
    (span.as_ms() * 1e3).round() / 1e3
}

fn number(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
