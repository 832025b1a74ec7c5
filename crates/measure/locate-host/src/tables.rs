//! The tables of a run: `hops`, `hop_probes` and `locations`.

use crate::run::Located;
use unbloat_locate::{Confidence, Finding, HopReport, Phase, Verdict};
use unbloat_table::{Column, Order, Rows, Table};
use unbloat_units::{Delta, Time};

pub fn all_tables() -> [Table; 3] {
    [hops_table(), probes_table(), locations_table()]
}

fn hops_table() -> Table {
    Table {
        name: "hops",
        doc: "one row per hop and load (unbloat locate); hop 0 is the peer in the local network",
        columns: vec![
            Column::text("load", "direction of the load: down, up or both"),
            Column::u64("hop", "its place on the path; 1 is the first router"),
            Column::text("address", "who answered most often"),
            Column::u64("addresses", "how many different addresses answered"),
            Column::text(
                "kind",
                "plain, rate-limited, slow path, other way back, changed or silent",
            ),
            Column::bool("is_far_end", "whether it is the target"),
            Column::u64("idle_sent", "probes when idle"),
            Column::u64("idle_answered", "of them answered"),
            Column::u64("loaded_sent", "probes under load"),
            Column::u64("loaded_answered", "of them answered"),
            Column::f64("idle_p50_ms", "round trip when idle, median"),
            Column::f64("loaded_p50_ms", "round trip under load, median"),
            Column::f64("loaded_p95_ms", "round trip under load, 95th percentile"),
            Column::f64(
                "added_ms",
                "under load less idle: medians, or the lower sixths of an erratic hop",
            ),
            Column::f64(
                "persisting_ms",
                "of it what all later hops have too: the path's",
            ),
        ],
    }
}

fn probes_table() -> Table {
    Table {
        name: "hop_probes",
        doc: "one row per probe (unbloat locate)",
        columns: vec![
            Column::u64("hop", "whom it was for; 0 is the peer"),
            Column::text(
                "phase",
                "idle, down, up or both; null in the discovery and while queues fill and drain",
            ),
            Column::u64("round", "number of the round within the phase"),
            Column::i64("sent_ns", "since the first probe"),
            Column::f64("rtt_ms", "null if it was not answered"),
            Column::text("address", "who answered"),
            Column::f64(
                "qdisc_ms",
                "time in this host's queue discipline, by the kernel's stamps",
            ),
        ],
    }
}

fn locations_table() -> Table {
    Table {
        name: "locations",
        doc: "one row per load: where its queue stands (unbloat locate)",
        columns: vec![
            Column::text("load", "direction of the load: down, up or both"),
            Column::text("finding", "queue, no queue or inconclusive"),
            Column::text("text", "the verdict in words"),
            Column::text(
                "layer",
                "of this host, if it holds the queue and somebody measured",
            ),
            Column::f64("added_ms", "what the queue adds; null without one"),
            Column::f64("low_ms", "95 % of resamples add at least this much..."),
            Column::f64(
                "high_ms",
                "... and at most this much; without a queue, the most that load adds",
            ),
            Column::f64(
                "agreement",
                "fraction of resamples that give the same place",
            ),
            Column::bool(
                "is_certain",
                "whether that is enough to be sure; null without a queue",
            ),
        ],
    }
}

/// All tables with their rows.
pub fn all(located: &Located) -> Vec<(Table, Rows)> {
    let [hops, probes, locations] = all_tables();
    let mut hop_rows = Rows::new(&hops);
    for verdict in &located.verdicts {
        for hop in &verdict.hops {
            hop_row(&mut hop_rows, verdict.load, hop, located.far_end);
        }
    }
    let mut probe_rows = Rows::new(&probes);
    let begin = located
        .records
        .first()
        .map_or(Time::MIN, |first| first.sent);
    for record in &located.records {
        let order = next(&probe_rows);
        let mut row = probe_rows.row(order);
        row.u64(u64::from(record.hop));
        row.text(record.phase.map(Phase::name));
        row.u64(u64::from(record.round));
        row.i64((record.sent - begin).as_ns());
        row.f64(record.rtt().map(Delta::as_ms));
        let address = record.answer.map(|(from, _)| from.to_string());
        row.text(address.as_deref());
        row.f64(record.in_qdisc().map(Delta::as_ms));
    }
    let mut location_rows = Rows::new(&locations);
    for verdict in &located.verdicts {
        location_row(&mut location_rows, verdict);
    }
    vec![
        (hops, hop_rows),
        (probes, probe_rows),
        (locations, location_rows),
    ]
}

fn location_row(rows: &mut Rows, verdict: &Verdict) {
    let order = next(rows);
    let mut row = rows.row(order);
    row.text(verdict.load.name());
    row.text(match verdict.finding {
        Finding::Queue { .. } => "queue",
        Finding::NoQueue { .. } => "no queue",
        Finding::Inconclusive(_) => "inconclusive",
    });
    row.text(verdict.to_string().as_str());
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
    row.text(layer.map(unbloat_locate::Layer::name));
    row.f64(step.map(|step| step.added.as_ms()));
    row.f64(step.map(|step| step.low.as_ms()));
    row.f64(at_most.map(Delta::as_ms));
    row.f64(agreement);
    row.bool(is_certain);
}

fn hop_row(rows: &mut Rows, load: Phase, hop: &HopReport, far_end: Option<u8>) {
    let order = next(rows);
    let mut row = rows.row(order);
    let ms = |delta: Option<Delta>| delta.map(Delta::as_ms);
    row.text(load.name());
    row.u64(u64::from(hop.hop));
    let address = hop.addresses.first().map(ToString::to_string);
    row.text(address.as_deref());
    row.u64(hop.addresses.len() as u64);
    row.text(hop.kind.name());
    row.bool(far_end == Some(hop.hop));
    row.u64(hop.idle_sent as u64);
    row.u64(hop.idle_answered as u64);
    row.u64(hop.loaded_sent as u64);
    row.u64(hop.loaded_answered as u64);
    row.f64(ms(hop.idle_p50));
    row.f64(ms(hop.loaded_p50));
    row.f64(ms(hop.loaded_p95));
    row.f64(ms(hop.added));
    row.f64(ms(hop.persisting));
}

fn next(rows: &Rows) -> Order {
    Order {
        written_at: rows.len() as u64,
        subject: 0,
    }
}
