//! Round trips by kind of probe, never mixed up.

use super::echoes::{floor, rtt_quantiles};
use super::responsiveness::foreign;
use crate::measured::{KernelSample, Measured, ProbeKind, Side};
use crate::plan::Stack;
use std::collections::BTreeMap;
use unbloat_responsiveness::{StackView, quantile};
use unbloat_units::{Delta, Direction, Time};

/// Medians of a time; of a stage's load connections, where there are such.
///
/// Without load, TCP's own round trip is that of foreign probes' handshakes, and an own probe would take what a foreign one's request
/// takes.
pub(super) fn medians(measured: &Measured, span: (Time, Time), stage: Option<usize>) -> StackView {
    let (from, to) = span;
    let probes = || {
        measured
            .probes
            .iter()
            .filter(move |probe| from <= probe.sent && probe.sent < to)
    };
    let foreigns = || probes().filter_map(foreign);
    let trips = foreigns().map(|probe| {
        let tls = probe
            .tls
            .map(|tls| tls.took / i64::from(tls.round_trips.max(1)));
        let parts = [Some(probe.tcp), tls, Some(probe.http)]
            .into_iter()
            .flatten();
        let count = parts.clone().count() as i64;
        parts.fold(Delta::ZERO, |sum, part| sum + part) / count
    });
    let own: Vec<Delta> = match stage {
        Some(_) => {
            let own = probes().filter(|probe| probe.kind == ProbeKind::SelfHttp);
            own.filter_map(|probe| probe.answer).collect()
        }
        None => foreigns().map(|probe| probe.http).collect(),
    };
    let tcp = match stage {
        Some(stage) => sender_rtts(measured, span, stage),
        None => foreigns().map(|probe| probe.tcp).collect(),
    };
    let pings = probes().filter(|probe| probe.kind == ProbeKind::Icmp);
    let pings: Vec<Delta> = pings.filter_map(|probe| probe.answer).collect();
    StackView {
        udp: measured
            .server
            .echo
            .and_then(|_| Some(rtt_quantiles(measured, span)?[0])),
        foreign: median(trips.collect()),
        tcp: median(tcp),
        own: median(own),
        icmp: median(pings),
    }
}

/// The least of each kind in the whole test: where the path was never idle, what is nearest to it.
pub(super) fn least(measured: &Measured) -> StackView {
    let of = |kind| {
        measured
            .probes
            .iter()
            .filter(move |probe| probe.kind == kind)
    };
    let foreigns = || of(ProbeKind::Foreign).filter_map(foreign);
    StackView {
        udp: measured.server.echo.and_then(|_| floor(measured)),
        foreign: foreigns().map(|probe| probe.tcp).min(),
        tcp: least_tcp(measured),
        own: foreigns().map(|probe| probe.http).min(),
        icmp: of(ProbeKind::Icmp).filter_map(|probe| probe.answer).min(),
    }
}

/// The least that TCP has seen on load connections: what stands for the path at rest where no probe was there.
pub(super) fn least_tcp(measured: &Measured) -> Option<Delta> {
    let samples = measured.kernel.iter();
    samples.filter_map(|sample| sample.state.min_rtt).min()
}

fn median(mut values: Vec<Delta>) -> Option<Delta> {
    quantile(&mut values, 0.5)
}

/// What load added.
pub(super) fn less(loaded: &StackView, idle: &StackView) -> StackView {
    let less = |with: Option<Delta>, without: Option<Delta>| Some(with? - without?);
    StackView {
        udp: less(loaded.udp, idle.udp),
        foreign: less(loaded.foreign, idle.foreign),
        tcp: less(loaded.tcp, idle.tcp),
        own: less(loaded.own, idle.own),
        icmp: less(loaded.icmp, idle.icmp),
    }
}

/// Samples of the ends that send, of one stage.
pub(super) fn of_senders(measured: &Measured, stage: usize) -> impl Iterator<Item = &KernelSample> {
    let flows = measured
        .flows
        .iter()
        .filter(move |flow| flow.stage == stage);
    let flows: BTreeMap<u16, Direction> = flows.map(|flow| (flow.flow, flow.direction)).collect();
    measured
        .kernel
        .iter()
        .filter(move |sample| match flows.get(&sample.flow) {
            Some(Direction::Down) => sample.side == Side::Server,
            Some(Direction::Up) => sample.side == Side::Client,
            None => false,
        })
}

fn sender_rtts(measured: &Measured, (from, to): (Time, Time), stage: usize) -> Vec<Delta> {
    let samples = of_senders(measured, stage).filter(|sample| from <= sample.at && sample.at < to);
    samples.filter_map(|sample| sample.state.rtt).collect()
}

/// Share of the load's full segments that was sent again.
pub(super) fn resent(measured: &Measured, stage: usize) -> Option<f64> {
    const SEGMENT: f64 = 1_448.0;
    let mut last: BTreeMap<u16, &KernelSample> = BTreeMap::new();
    last.extend(of_senders(measured, stage).map(|sample| (sample.flow, sample)));
    let sum = |of: fn(&KernelSample) -> u64| last.values().map(|sample| of(sample)).sum::<u64>();
    let segments = sum(|sample| sample.state.acked.as_u64()) as f64 / SEGMENT;
    let again = sum(|sample| sample.state.retransmissions) as f64;
    (segments > 0.0).then(|| again / (segments + again))
}

/// Share of all senders' busy time for which the peers' windows held them back; as stacks are, also for which send buffers did. Where we
/// hold senders short ourselves, the latter is what was wanted.
pub(super) fn held_back(measured: &Measured, stage: usize, stack: Stack) -> Option<f64> {
    let mut last: BTreeMap<u16, &KernelSample> = BTreeMap::new();
    last.extend(of_senders(measured, stage).map(|sample| (sample.flow, sample)));
    let sum = |span: fn(&KernelSample) -> Option<Delta>| {
        let spans = last.values().filter_map(|sample| span(sample));
        spans.fold(0.0, |total, one| total + one.as_secs())
    };
    let busy = sum(|sample| sample.state.busy);
    let by_buffer = match stack {
        Stack::AsIs => sum(|sample| sample.state.buffer_limited),
        Stack::NetworkOnly => 0.0,
    };
    let held = sum(|sample| sample.state.window_limited) + by_buffer;
    (busy > 0.0).then(|| (held / busy).min(1.0))
}
