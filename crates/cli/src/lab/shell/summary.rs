//! Results of a shell: a short text, and a run folder.

use super::{Args, series};
use crate::exit::Failure;
use crate::output::write_run;
use serde_json::json;
use std::fmt::Write;
use std::path::Path;
use unbloat_api::experiment::{QueueRow, ResultRow, queue_rows};
use unbloat_experiment::outcome::{Outcomes, PathRecord, results};
use unbloat_experiment::scenario::toml::Node;
use unbloat_lab::{Closed, Emulated};
use unbloat_link::Place;
use unbloat_qdisc::Reason;
use unbloat_run::{Clock, RunInfo};
use unbloat_table::Row;
use unbloat_units::{Bytes, Delta, Rate, Time};

pub fn text(emulated: &Emulated) -> String {
    let report = &emulated.report;
    let doubts = report.doubts();
    let trust = match doubts.is_empty() {
        true => "trustworthy",
        false => "NOT TRUSTWORTHY",
    };
    let mut text = format!("unbloat: path emulated for {}, {trust}\n", report.wall);
    for doubt in doubts {
        let _ = writeln!(text, "  {doubt}");
    }
    if !report.privileges.is_realtime {
        text += "  without real-time scheduling: the system did not permit it\n";
    }
    for (way, path) in emulated.paths.entries() {
        let _ = writeln!(text, "  {:<5} {}", way.name(), direction(path, report.wall));
    }
    text
}

fn direction(path: &PathRecord, wall: Delta) -> String {
    let rate = path.delivered_bytes.over(wall).unwrap_or(Rate::ZERO);
    let mut text = format!(
        "{} packets, {}, {rate}",
        path.delivered_packets, path.delivered_bytes
    );
    let waits = Place::ALL.into_iter().filter_map(|place| {
        let waits = path.waits(place)?;
        let [p50, p95] = waits.ms.quantiles([0.5, 0.95])?;
        Some((place, p50, p95, waits.max.as_ms()))
    });
    for (place, p50, p95, most) in waits {
        let name = place.name();
        let _ = write!(text, "; {name} p50 {p50:.1} p95 {p95:.1} max {most:.1} ms");
    }
    for (what, counts) in [("dropped", &path.drops), ("marked", &path.marks)] {
        let counted = Reason::ALL.into_iter().zip(counts);
        for (reason, count) in counted.filter(|(_, count)| **count > 0) {
            let _ = write!(text, "; {count} {what} ({})", reason.name());
        }
    }
    text
}

/// Writes a run: results, and the time series of the path.
pub fn write(args: &Args, out: &Path, links: &Node, closed: Closed) -> Result<(), Failure> {
    let path = series::rows(&closed);
    let emulated = closed.emulated;
    let report = &emulated.report;
    let doubts: Vec<String> = report.doubts().iter().map(ToString::to_string).collect();
    let words = std::env::args().collect();
    let mut info = RunInfo::new("unbloat lab shell", env!("CARGO_PKG_VERSION"), words);
    info.clock = Clock::Real;
    info.kernel = Some(unbloat_lab::kernel());
    info.seed = Some(args.seed);
    info.options = [
        ("link", json!(links.to_string())),
        ("lab.trustworthy", json!(doubts.is_empty())),
        ("lab.doubts", json!(doubts)),
        ("lab.real_time_class", json!(report.privileges.is_realtime)),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into();
    let outcomes = outcomes(emulated);
    let all = [
        ResultRow::filled(results(&outcomes).iter().map(|result| ResultRow {
            run: 0,
            point: 0,
            repeat: 0,
            seed: args.seed,
            subject: result.subject.clone(),
            metric: &result.metric,
            value: result.value,
        })),
        QueueRow::filled(queue_rows(&outcomes, 0)),
        path,
    ];
    write_run(Some(out), "lab-shell", &info, &all)?;
    Ok(())
}

fn outcomes(emulated: Emulated) -> Outcomes {
    let inside = emulated.inside.iter();
    // A shell has no flows, so no client with a radio of its own.
    let radios = emulated.radios.into_iter();
    Outcomes {
        radios: radios.map(|radio| ("radio".to_owned(), radio)).collect(),
        under_way: inside.clone().map(|b| u64::from(b.packets)).sum(),
        under_way_bytes: inside.fold(Bytes::ZERO, |sum, b| sum + b.bytes),
        paths: emulated.paths,
        hops: emulated.hops,
        flows: Vec::new(),
        samples: emulated.samples,
        layers: emulated.layers,
        windows: Vec::new(),
        tasks: 0,
        end: emulated.end,
        warm_at: Time::from_ns(0),
    }
}
