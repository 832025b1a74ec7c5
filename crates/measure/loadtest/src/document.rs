//! What was found, as the document that programs read: docs/test.md and docs/schema/test.json have each field.

use crate::applications;
use crate::findings::{Findings, Idle, LoadFindings, Standing};
use crate::measured::{Clocks, Counter, Measured, Server};
use crate::plan::Direction;
use unbloat_locate::LoadVerdict;
use unbloat_responsiveness::document::{self, Added, LoadDirection, Mark, Test, rounded};
use unbloat_units::{Bytes, Rate, Time};

/// The whole document.
pub fn document(measured: &Measured, findings: &Findings) -> Test {
    let options = &measured.options;
    let loads = findings.loads.iter();
    let splits = findings.splits.iter();
    let gone = measured.gone.as_ref();
    let confidence = findings.confidence();
    Test {
        begun_ns: measured.begun_ns,
        server: server(&measured.server),
        plan: options.plan.name.to_string(),
        interval_ms: options.plan.interval.as_ms(),
        congestion_control: options.congestion_control.clone(),
        receive_window_bytes: options.receive_window.map(Bytes::as_u64),
        is_cut: measured.is_cut,
        server_gone_s: gone.map(|gone| gone.at.since(Time::from_ns(0)).as_secs()),
        clocks: measured.clocks.as_ref().map(clocks),
        idle: idle(&findings.idle),
        loads: loads
            .map(|found| load(measured, &findings.idle, found))
            .collect(),
        splits: splits
            .map(|(direction, split)| document::Split::new(*direction, split))
            .collect(),
        applications: applications::document(measured),
        grade: grade(findings),
        confidence: confidence.map(|confidence| confidence.name().to_owned()),
        causes: findings.causes.clone(),
        located: findings.located.iter().map(LoadVerdict::from).collect(),
        limitations: measured.limitations.clone(),
        ..Test::new(options.target.to_string(), findings.verdict.clone())
    }
}

fn server(server: &Server) -> document::Server {
    document::Server {
        address: server.address,
        asked_address: server.asked,
        http: server.http.map(|http| http.name().to_owned()),
        tls: server.tls.clone(),
        has_account: server.has_account,
        echo: server.echo,
    }
}

fn clocks(clocks: &Clocks) -> document::Clocks {
    document::Clocks {
        drift_ppm: rounded(clocks.drift_ppm),
        error: clocks.error,
    }
}

fn grade(findings: &Findings) -> document::Grade {
    let marks = findings.marks.iter().map(|mark| Mark {
        of: mark.of.to_owned(),
        mark: mark.mark.clone(),
        because: mark.because.clone(),
    });
    document::Grade {
        rule: findings.rule.name().to_owned(),
        rule_in_words: findings.rule.in_words().to_owned(),
        marks: marks.collect(),
    }
}

fn idle(idle: &Idle) -> document::Idle {
    let Standing {
        one_way,
        round_trip,
    } = idle.standing;
    document::Idle {
        rtt_p50: idle.rtt.map(|[p50, ..]| p50),
        rtt_p95: idle.rtt.map(|[_, p95, _]| p95),
        rtt_p99: idle.rtt.map(|[.., p99]| p99),
        jitter: idle.jitter,
        base_rtt: idle.base_rtt,
        standing: document::Standing {
            down: one_way.down,
            up: one_way.up,
            rtt: round_trip,
        },
        datagrams: idle.account.sent,
        coverage: idle.coverage.map(rounded),
        probes: idle.view,
    }
}

fn load(measured: &Measured, idle: &Idle, found: &LoadFindings) -> document::Load {
    let stage = &measured.stages[found.stage];
    let loss = found.account.loss();
    let reordered = (found.account.reordered_down, found.account.reordered_up);
    document::Load {
        stage: found.stage,
        load: found.load.name().to_owned(),
        stack: found.stack.name().to_owned(),
        begin_s: stage.begin.since(Time::from_ns(0)).as_secs(),
        lasted_s: stage.end.since(stage.begin).as_secs(),
        judged_s: found.to.since(found.from).as_secs(),
        down: direction((found, idle), Direction::Down, loss.down, reordered.0),
        up: direction((found, idle), Direction::Up, loss.up, reordered.1),
        added_rtt: found.added_rtt.as_ref().map(Added::from),
        datagrams: found.account.sent,
        coverage: found.coverage.map(rounded),
        rpm: found.rpm.map(|rpm| rounded(rpm.as_f64())),
        rpm_class: found.rpm.map(|rpm| rpm.class().name().to_owned()),
        rpm_legacy: found.rpm_legacy.map(|rpm| rounded(rpm.as_f64())),
        trimmed_means: found.means,
        confidence: found.confidence.name().to_owned(),
        is_saturated: found.is_saturated,
        added_by_probe: found.view,
        flows: found.flows,
        failed_flows: found.failed,
        held_back: found.held_back.map(rounded),
        cpu_busy: stage.host.busy.map(rounded),
        cpu_stolen: stage.host.stolen.map(rounded),
        own_cpus: stage.host.own_cpus.map(rounded),
        late_sends: stage.host.late_sends,
    }
}

fn direction(
    (found, idle): (&LoadFindings, &Idle),
    direction: Direction,
    loss: Option<f64>,
    reordered: u64,
) -> LoadDirection {
    let name = |counter: Counter| counter.name().to_owned();
    let in_flight = found.in_flight[direction].map(Bytes::as_u64);
    let per_flow = in_flight.zip(found.flows_of(direction));
    LoadDirection {
        delivered_bps: found.delivered[direction].map(Rate::as_bps),
        delivered_spread: found.spread[direction].map(rounded),
        delivered_by: found.delivered_by[direction].map(name),
        is_steady: found.delivered[direction].map(|_| found.is_steady(direction)),
        goodput_bps: found.goodput[direction].map(Rate::as_bps),
        goodput_by: found.goodput_by[direction].map(name),
        added: found.added[direction].as_ref().map(Added::from),
        loss: loss.map(rounded),
        reordered,
        in_flight_bytes: in_flight,
        in_flight_per_flow_bytes: per_flow.map(|(bytes, flows)| bytes / flows),
        interface_bps: found.interface[direction].map(Rate::as_bps),
        bdp_bytes: found
            .bandwidth_delay_product(idle, direction)
            .map(Bytes::as_u64),
    }
}
