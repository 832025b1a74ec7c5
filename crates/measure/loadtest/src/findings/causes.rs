//! Facts about causes that are no queue of the loaded direction.

use super::{Idle, LoadFindings, echoes, interface, of, views};
use crate::measured::{Measured, Probe, ProbeKind};
use unbloat_responsiveness::{Cause, CauseFacts, Doubt, Late, causes, quantile};
use unbloat_units::{Delta, Direction, Time};

/// An ICMP echo that is lost or a handshake that fails has no delay; of fewer nothing is concluded.
const ENOUGH: usize = 10;

/// Causes that the stages show which load one direction alone.
pub(super) fn find(measured: &Measured, idle: &Idle, loads: &[LoadFindings]) -> Vec<Cause> {
    let facts = Direction::BOTH.into_iter().filter_map(|direction| {
        let found = of(loads, direction)?;
        Some(facts((measured, idle), found, (direction, loads)))
    });
    let facts: Vec<CauseFacts> = facts.collect();
    causes(&facts)
}

fn facts(
    (measured, idle): (&Measured, &Idle),
    found: &LoadFindings,
    (direction, loads): (Direction, &[LoadFindings]),
) -> CauseFacts {
    let span = (found.from, found.to);
    let beyond = |rtts: Vec<Delta>, base: Option<Delta>| late(rtts, base?);
    CauseFacts {
        direction: Some(direction),
        program: beyond(echoes::rtts(measured, span), idle.base_rtt),
        icmp: beyond(icmp(measured, span), idle.view.icmp),
        handshake: beyond(handshakes(measured, span), idle.view.tcp),
        added: found.added.map(|one| Some(one?.p50.value)),
        sent: interface::rate(measured, Direction::Up, span),
        uplink: of(loads, Direction::Up).and_then(|upload| upload.delivered.up),
        uplink_is_shared: match found.added.up {
            Some(_) => idle.standing.one_way.up.is_some(),
            None => idle.standing.is_any(),
        },
        cpu_busy: measured.stages[found.stage].host.busy,
        own_cpus: measured.stages[found.stage].host.own_cpus,
        added_to_load: found.view.tcp,
        resent: views::resent(measured, found.stage),
    }
}

fn late(mut rtts: Vec<Delta>, idle: Delta) -> Option<Late> {
    if rtts.len() < ENOUGH {
        return None;
    }
    Some(Late {
        p50: quantile(&mut rtts, 0.5)? - idle,
        p95: quantile(&mut rtts, 0.95)? - idle,
    })
}

fn within(measured: &Measured, (from, to): (Time, Time)) -> impl Iterator<Item = &Probe> {
    let probes = measured.probes.iter();
    probes.filter(move |probe| from <= probe.sent && probe.sent < to)
}

fn icmp(measured: &Measured, span: (Time, Time)) -> Vec<Delta> {
    let pings = within(measured, span).filter(|probe| probe.kind == ProbeKind::Icmp);
    pings.filter_map(|probe| probe.answer).collect()
}

/// Of TCP alone: what comes after them is the program's. Those whose program never answered count as well.
fn handshakes(measured: &Measured, span: (Time, Time)) -> Vec<Delta> {
    let foreign = within(measured, span).filter(|probe| probe.kind == ProbeKind::Foreign);
    foreign.filter_map(|probe| probe.tcp).collect()
}

/// Doubts for the verdict.
pub(super) fn doubts(causes: &[Cause]) -> impl Iterator<Item = Doubt> {
    causes.iter().map(|cause| Doubt {
        is_fatal: cause.is_fatal(),
        reason: cause.to_string(),
    })
}
