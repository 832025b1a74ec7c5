//! How applications beside the load went: as text, document and table.

use crate::measured::{AppRun, Measured};
use crate::tables::ApplicationRow;
use std::collections::BTreeMap;
use std::fmt::Write;
use unbloat_responsiveness::document::Application;
use unbloat_units::Rate;

/// What is worth a line each, of whichever application has it.
const HEADLINES: [&str; 9] = [
    "load_time_p50_ms",
    "page_load_p50_ms",
    "fetch_p50_ms",
    "completion_ms",
    "stalls",
    "bitrate_mean_bps",
    "mos",
    "lag_down_p95_ms",
    "rtt_p95_ms",
];

fn load(measured: &Measured, run: &AppRun) -> &'static str {
    measured
        .stages
        .get(run.stage)
        .map_or("idle", |stage| stage.load.name())
}

/// A line for each application and headline: its value under each load. Empty without applications.
pub fn text(measured: &Measured) -> String {
    let mut text = String::new();
    let mut lines: BTreeMap<(usize, usize), (String, Vec<String>)> = BTreeMap::new();
    let mut names: Vec<&str> = Vec::new();
    for run in &measured.apps {
        let report = &run.report;
        let app = names
            .iter()
            .position(|name| *name == report.name)
            .unwrap_or_else(|| {
                names.push(&report.name);
                names.len() - 1
            });
        for metric in &report.metrics {
            let Some(rank) = HEADLINES
                .iter()
                .position(|headline| *headline == metric.name)
            else {
                continue;
            };
            let title = || (format!("{} {}", report.name, metric.name), Vec::new());
            let (_, values) = lines.entry((app, rank)).or_insert_with(title);
            values.push(format!(
                "{} {}",
                load(measured, run),
                number(&metric.name, metric.value)
            ));
        }
    }
    // Writing to a String cannot fail.
    for (title, values) in lines.into_values() {
        let _ = writeln!(text, "  {title}: {}", values.join(", "));
    }
    for run in &measured.apps {
        for note in &run.report.notes {
            let _ = writeln!(
                text,
                "  {} during {}: {note}",
                run.report.name,
                load(measured, run)
            );
        }
    }
    match text.is_empty() {
        true => text,
        false => format!("applications\n{text}"),
    }
}

fn number(metric: &str, value: f64) -> String {
    match () {
        () if metric.ends_with("_bps") => {
            Rate::from_bps_f64((value / 1e4).round() * 1e4).to_string()
        }
        () if metric.ends_with("_ms") => format!("{value:.0} ms"),
        () if value.fract() == 0.0 => format!("{value}"),
        () => format!("{value:.2}"),
    }
}

pub fn document(measured: &Measured) -> Vec<Application> {
    let one = |run: &AppRun| {
        let metrics = run.report.metrics.iter();
        let metrics = metrics.filter(|metric| metric.value.is_finite());
        Application {
            load: load(measured, run).to_owned(),
            name: run.report.name.clone(),
            kind: run.report.kind.to_owned(),
            metrics: metrics.map(|m| (m.name.clone(), m.value)).collect(),
            connections: run.report.connections,
            failed: run.report.failed,
            unsent: run.report.unsent,
            notes: run.report.notes.clone(),
        }
    };
    measured.apps.iter().map(one).collect()
}

pub fn rows(measured: &Measured) -> impl Iterator<Item = ApplicationRow<'_>> {
    measured.apps.iter().flat_map(|run| {
        run.report.metrics.iter().map(|metric| ApplicationRow {
            stage: run.stage,
            load: load(measured, run),
            application: &run.report.name,
            workload: run.report.kind,
            metric: &metric.name,
            value: metric.value,
        })
    })
}
