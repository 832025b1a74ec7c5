//! The tables of a run: `hops`, `hop_probes` and `locations`.

use crate::run::Located;
use unbloat_locate::{Confidence, Finding, HopReport, Phase, Verdict};
use unbloat_table::{Row, Rows, Table, columns};
use unbloat_units::{Delta, Time};

columns! {
    pub struct HopRow: hops = "one row per hop and load (unbloat locate); hop 0 is the peer in the local network" {
        load: &'static str = "direction of the load: down, up or both",
        hop: u8 = "its place on the path; 1 is the first router",
        address: Option<String> = "who answered most often",
        addresses: usize = "how many different addresses answered",
        kind: &'static str = "plain, rate-limited, slow path, other way back, changed or silent",
        is_far_end: bool = "whether it is the target",
        idle_sent: usize = "probes when idle",
        idle_answered: usize = "of them answered",
        loaded_sent: usize = "probes under load",
        loaded_answered: usize = "of them answered",
        idle_p50_ms: Option<f64> = "round trip when idle, median",
        loaded_p50_ms: Option<f64> = "round trip under load, median",
        loaded_p95_ms: Option<f64> = "round trip under load, 95th percentile",
        added_ms: Option<f64> = "under load less idle: medians, or the lower sixths of an erratic hop",
        persisting_ms: Option<f64> = "of it what all later hops have too: the path's",
    }

    pub struct HopProbeRow: hop_probes = "one row per probe (unbloat locate)" {
        hop: u8 = "whom it was for; 0 is the peer",
        phase: Option<&'static str> = "idle, down, up or both; null in the discovery and while queues fill and drain",
        round: u32 = "number of the round within the phase",
        sent_ns: i64 = "since the first probe",
        rtt_ms: Option<f64> = "null if it was not answered",
        address: Option<String> = "who answered",
        qdisc_ms: Option<f64> = "time in this host's queue discipline, by the kernel's stamps",
    }

    pub struct LocationRow: locations = "one row per load: where its queue stands (unbloat locate)" {
        load: &'static str = "direction of the load: down, up or both",
        finding: &'static str = "queue, no queue or inconclusive",
        text: String = "the verdict in words",
        layer: Option<&'static str> = "of this host, if it holds the queue and somebody measured",
        added_ms: Option<f64> = "what the queue adds; null without one",
        low_ms: Option<f64> = "95 % of resamples add at least this much...",
        high_ms: Option<f64> = "... and at most this much; without a queue, the most that load adds",
        agreement: Option<f64> = "fraction of resamples that give the same place",
        is_certain: Option<bool> = "whether that is enough to be sure; null without a queue",
    }
}

pub fn all_tables() -> [Table; 3] {
    [HopRow::table(), HopProbeRow::table(), LocationRow::table()]
}

/// All tables with their rows.
pub fn all(located: &Located) -> Vec<(Table, Rows)> {
    let hops = located.verdicts.iter().flat_map(|verdict| {
        let hops = verdict.hops.iter();
        hops.map(|hop| hop_row(verdict.load, hop, located.far_end))
    });
    let first = located.records.first();
    let begin = first.map_or(Time::MIN, |first| first.sent);
    let probes = located.records.iter().map(|record| HopProbeRow {
        hop: record.hop,
        phase: record.phase.map(Phase::name),
        round: record.round,
        sent_ns: (record.sent - begin).as_ns(),
        rtt_ms: record.rtt().map(Delta::as_ms),
        address: record.answer.map(|(from, _)| from.to_string()),
        qdisc_ms: record.in_qdisc().map(Delta::as_ms),
    });
    vec![
        HopRow::filled(hops),
        HopProbeRow::filled(probes),
        LocationRow::filled(located.verdicts.iter().map(location_row)),
    ]
}

fn location_row(verdict: &Verdict) -> LocationRow {
    let (layer, step, agreement, is_certain, at_most) = match &verdict.finding {
        Finding::Queue {
            step,
            confidence,
            agreement,
            layer,
            ..
        } => (
            *layer,
            Some(step),
            Some(*agreement),
            Some(*confidence == Confidence::Certain),
            Some(step.high),
        ),
        Finding::NoQueue { at_most, .. } => (None, None, None, None, Some(*at_most)),
        Finding::Inconclusive(_) => (None, None, None, None, None),
    };
    LocationRow {
        load: verdict.load.name(),
        finding: match verdict.finding {
            Finding::Queue { .. } => "queue",
            Finding::NoQueue { .. } => "no queue",
            Finding::Inconclusive(_) => "inconclusive",
        },
        text: verdict.to_string(),
        layer: layer.map(unbloat_locate::Layer::name),
        added_ms: step.map(|step| step.added.as_ms()),
        low_ms: step.map(|step| step.low.as_ms()),
        high_ms: at_most.map(Delta::as_ms),
        agreement,
        is_certain,
    }
}

fn hop_row(load: Phase, hop: &HopReport, far_end: Option<u8>) -> HopRow {
    let ms = |delta: Option<Delta>| delta.map(Delta::as_ms);
    HopRow {
        load: load.name(),
        hop: hop.hop,
        address: hop.addresses.first().map(ToString::to_string),
        addresses: hop.addresses.len(),
        kind: hop.kind.name(),
        is_far_end: far_end == Some(hop.hop),
        idle_sent: hop.idle_sent,
        idle_answered: hop.idle_answered,
        loaded_sent: hop.loaded_sent,
        loaded_answered: hop.loaded_answered,
        idle_p50_ms: ms(hop.idle_p50),
        loaded_p50_ms: ms(hop.loaded_p50),
        loaded_p95_ms: ms(hop.loaded_p95),
        added_ms: ms(hop.added),
        persisting_ms: ms(hop.persisting),
    }
}
