//! Responsiveness of a stage by the draft's intervals.

use super::curves::Curves;
use crate::measured::{Measured, Probe, ProbeKind, StageRun};
use unbloat_responsiveness::{Confidence, ForeignProbe, Means, Phase, Probes, Rpm, Stability, Tls};
use unbloat_units::{Bytes, Delta, Direction, Time};

pub(super) struct Responded {
    pub(super) rpm: Option<Rpm>,
    pub(super) legacy: Option<Rpm>,
    pub(super) means: Option<Means>,
    pub(super) confidence: Confidence,
    pub(super) is_saturated: bool,
}

pub(super) fn of(measured: &Measured, number: usize, stage: &StageRun) -> Responded {
    let params = measured.options.plan.params();
    let mut stability = Stability::new(params, stage.begin);
    let curves: Vec<Curves> = Direction::BOTH
        .into_iter()
        .filter_map(|direction| Curves::delivered(measured, number, direction))
        .collect();
    let probes = completed(measured, stage);
    let mut begin = stage.begin;
    // The tick that ends a stage may come some milliseconds before its last interval's end.
    let slack = Delta::ms(100);
    while stability.next_end() <= stage.end + slack {
        let end = stability.next_end();
        stability.on_bytes(
            curves
                .iter()
                .map(|curve| curve.bytes(begin, end))
                .sum::<Bytes>(),
        );
        let is_within = |at: &Time| begin <= *at && *at < end;
        for (_, probe) in probes.iter().filter(|(at, _)| is_within(at)) {
            if let Some(foreign) = foreign(probe) {
                stability.on_foreign(foreign);
            } else if let (ProbeKind::SelfHttp, Some(answer)) = (probe.kind, probe.answer) {
                stability.on_own(answer);
            }
        }
        stability.end_interval();
        begin = end;
    }
    let last = begin - params.interval * params.average_over as i64;
    let pooled = pooled(probes.iter().filter(|(at, _)| last <= *at && *at < begin));
    Responded {
        rpm: stability.responsiveness(),
        legacy: pooled.legacy(&params),
        means: pooled.means(&params),
        confidence: stability.confidence(),
        is_saturated: stability.phase() != Phase::Filling,
    }
}

/// Probes of a stage that went through, by when they did.
fn completed<'a>(measured: &'a Measured, stage: &StageRun) -> Vec<(Time, &'a Probe)> {
    let of_stage = measured
        .probes
        .iter()
        .filter(|probe| stage.begin <= probe.sent && probe.sent < stage.end);
    let done = of_stage.filter_map(|probe| {
        let parts = [probe.tcp, probe.tls, probe.answer];
        let took = parts
            .into_iter()
            .flatten()
            .fold(Delta::ZERO, |sum, part| sum + part);
        probe.answer.map(|_| (probe.sent + took, probe))
    });
    done.collect()
}

/// A foreign probe that went through. QUIC's handshake, which has TLS within, stands where TCP's does without TLS: one round trip of it.
pub(super) fn foreign(probe: &Probe) -> Option<ForeignProbe> {
    if probe.kind != ProbeKind::Foreign {
        return None;
    }
    let (Some(tcp), tls) = (probe.tcp, probe.tls) else {
        return Some(ForeignProbe {
            tcp: probe.tls? / i64::from(probe.tls_round_trips.max(1)),
            tls: None,
            http: probe.answer?,
        });
    };
    let tls = tls.map(|took| Tls {
        took,
        round_trips: probe.tls_round_trips,
    });
    Some(ForeignProbe {
        tcp,
        tls,
        http: probe.answer?,
    })
}

fn pooled<'a>(probes: impl Iterator<Item = &'a (Time, &'a Probe)>) -> Probes {
    let mut pooled = Probes::default();
    for (_, probe) in probes {
        match foreign(probe) {
            Some(foreign) => pooled.foreign.push(foreign),
            None => pooled
                .own
                .extend(probe.answer.filter(|_| probe.kind == ProbeKind::SelfHttp)),
        }
    }
    pooled
}
