//! Where the server echoes no datagrams: answers of its kernel in their place.

use super::goodput;
use crate::measured::{Echo, Fate, Measured, Probe, ProbeKind};
use crate::plan::{Load, alone};
use unbloat_responsiveness::{Agreement, Confidence, Heard, Odd, Witness, quantile};
use unbloat_units::{Delta, Direction, Time};

type Span = (Time, Time);

/// Fewer have no median.
const ENOUGH: usize = 5;
/// A host that answers less than this part of the echo requests bounds them: what it answers is its choice.
const ANSWERED: f64 = 0.7;

/// What stands for datagrams, and what does not agree with it.
#[derive(Clone, Debug, Default)]
pub(super) struct StandIn {
    pub(super) told: Option<Result<Agreement, Heard>>,
    pub(super) odd: Vec<Odd>,
}

impl StandIn {
    /// What was measured, with answers in place of datagrams. Nothing stands for those of a server that should have echoed some.
    pub(super) fn of(measured: &Measured) -> (StandIn, Option<Measured>) {
        let server = &measured.server;
        if server.echo.is_some() || server.echoless.is_some() || !measured.echoes.is_empty() {
            return (StandIn::default(), None);
        }
        let heard = heard(measured);
        let told = Agreement::of(&heard);
        let Some(Ok(agreement)) = told else {
            return (
                StandIn {
                    told,
                    odd: Vec::new(),
                },
                None,
            );
        };
        let mut with = measured.clone();
        with.echoes = echoes(measured, agreement.by);
        let mut gaps: Vec<Delta> = with
            .echoes
            .windows(2)
            .map(|pair| pair[1].sent - pair[0].sent)
            .collect();
        with.paces = quantile(&mut gaps, 0.5)
            .map(|pace| (Time::from_ns(0), pace))
            .into_iter()
            .collect();
        let odd = agreement.odd(&heard).collect();
        (StandIn { told, odd }, Some(with))
    }

    /// Of a stage that is judged by it: round trips alone, of fewer probes.
    pub(super) fn confidence(&self, confidence: Confidence) -> Confidence {
        match &self.told {
            None => confidence,
            Some(Ok(Agreement { with: Some(_), .. })) => confidence.min(Confidence::Medium),
            Some(_) => Confidence::Low,
        }
    }
}

/// Median added delay by kind of probe, for each stage that loads one direction alone.
fn heard(measured: &Measured) -> Vec<Heard> {
    let mut stages = measured.stages.iter();
    let Some(quiet) = stages.find(|stage| stage.load == Load::Idle) else {
        return Vec::new();
    };
    let quiet = (quiet.begin, quiet.end);
    let all = measured.stages.iter().enumerate();
    let loaded = all.filter(|(_, stage)| !stage.is_cut);
    let of = |(number, stage): (usize, &crate::measured::StageRun)| {
        let mut ways = Direction::BOTH.into_iter();
        let direction = ways.find(|way| alone(*way) == stage.load)?;
        let span = (goodput::loaded_from(measured, number, stage), stage.end);
        let late = |look: fn(&Probe) -> Option<Option<Delta>>| {
            Some(median(measured, span, look)? - median(measured, quiet, look)?)
        };
        Some(Heard {
            direction,
            icmp: late(icmp),
            handshake: late(handshake),
            request: late(request),
        })
    };
    loaded.filter_map(of).collect()
}

fn median(
    measured: &Measured,
    (from, to): Span,
    look: fn(&Probe) -> Option<Option<Delta>>,
) -> Option<Delta> {
    let probes = measured.probes.iter();
    let probes = probes.filter(|probe| from <= probe.sent && probe.sent < to);
    let all: Vec<Option<Delta>> = probes.filter_map(look).collect();
    let mut back: Vec<Delta> = all.iter().copied().flatten().collect();
    let is_known = back.len() >= ENOUGH && back.len() as f64 >= ANSWERED * all.len() as f64;
    is_known.then(|| quantile(&mut back, 0.5)).flatten()
}

/// The outer None: it is no such probe.
fn icmp(probe: &Probe) -> Option<Option<Delta>> {
    (probe.kind == ProbeKind::Icmp).then_some(probe.answer)
}

/// One whose first packet was lost has waited for TCP's clock and not in a queue.
fn handshake(probe: &Probe) -> Option<Option<Delta>> {
    (probe.kind == ProbeKind::Foreign).then_some(probe.tcp.filter(|_| !probe.tcp_resent))
}

fn request(probe: &Probe) -> Option<Option<Delta>> {
    (probe.kind == ProbeKind::Foreign).then_some(probe.answer)
}

fn echoes(measured: &Measured, by: Witness) -> Vec<Echo> {
    let look = match by {
        Witness::Icmp => icmp,
        Witness::Handshake | Witness::Request => handshake,
    };
    let of_kind = measured.probes.iter();
    let of_kind = of_kind.filter_map(|probe| Some((probe.sent, look(probe)?)));
    let one = |(seq, (sent, rtt)): (u64, (Time, Option<Delta>))| Echo {
        seq,
        sent,
        fate: match rtt {
            Some(_) => Fate::Back,
            None => Fate::Lost,
        },
        rtt,
        added_up: None,
        added_down: None,
        turned: None,
        reordered_up: false,
        reordered_down: false,
        duplicates: 0,
    };
    (0..).zip(of_kind).map(one).collect()
}
