//! Where on a path queues stand, from the tables that `unbloat locate` writes.

use crate::columns::{column_of, each_batch};
use crate::curve::Curve;
use crate::numbers::human;
use crate::sim::SweepFigure;
use std::collections::BTreeMap;
use unbloat_run::{Batch, RunError, RunReader};

/// What the page says of a path; empty for other runs.
#[derive(Default)]
pub(crate) struct Location {
    /// Finding and sentences, of each load.
    pub(crate) verdicts: Vec<(String, String)>,
    pub(crate) hops: Vec<Vec<String>>,
}

/// Heads of [`Location::hops`].
pub(crate) const HEADS: [&str; 10] = [
    "load",
    "hop",
    "address",
    "kind",
    "idle",
    "under load",
    "p95 under load",
    "added",
    "of the path",
    "answered",
];

pub(crate) fn location(run: &RunReader) -> Result<Location, RunError> {
    let mut found = Location::default();
    each_batch(run, "locations", &["finding", "text"], |batch| {
        let [finding, text] = ["finding", "text"].map(|column| column_of(batch, column));
        found.verdicts.extend(
            (0..batch.len()).filter_map(|row| {
                Some((finding.text(row)?.to_owned(), text.text(row)?.to_owned()))
            }),
        );
    })?;
    if !found.verdicts.is_empty() {
        each_batch(run, "hops", &Hop::COLUMNS, |batch| {
            found
                .hops
                .extend((0..batch.len()).map(|row| Hop::read(batch, row).line()));
        })?;
    }
    Ok(found)
}

/// A row of table `hops`.
struct Hop {
    load: String,
    number: u64,
    address: Option<String>,
    kind: String,
    is_far_end: bool,
    sent: u64,
    answered: u64,
    idle_ms: Option<f64>,
    loaded_ms: Option<f64>,
    loaded_p95_ms: Option<f64>,
    added_ms: Option<f64>,
    persisting_ms: Option<f64>,
}

impl Hop {
    const COLUMNS: [&str; 14] = [
        "load",
        "hop",
        "address",
        "kind",
        "is_far_end",
        "idle_sent",
        "loaded_sent",
        "idle_answered",
        "loaded_answered",
        "idle_p50_ms",
        "loaded_p50_ms",
        "loaded_p95_ms",
        "added_ms",
        "persisting_ms",
    ];

    fn read(batch: &Batch, row: usize) -> Hop {
        let of = |column| column_of(batch, column);
        let text = |column| of(column).text(row).map(str::to_owned);
        let count = |column| of(column).u64(row).unwrap_or(0);
        let ms = |column| of(column).f64(row);
        Hop {
            load: text("load").unwrap_or_default(),
            number: count("hop"),
            address: text("address"),
            kind: text("kind").unwrap_or_default(),
            is_far_end: count("is_far_end") > 0,
            sent: count("idle_sent") + count("loaded_sent"),
            answered: count("idle_answered") + count("loaded_answered"),
            idle_ms: ms("idle_p50_ms"),
            loaded_ms: ms("loaded_p50_ms"),
            loaded_p95_ms: ms("loaded_p95_ms"),
            added_ms: ms("added_ms"),
            persisting_ms: ms("persisting_ms"),
        }
    }

    fn name(&self) -> String {
        match self.number {
            0 => "peer".to_owned(),
            number => number.to_string(),
        }
    }

    fn line(&self) -> Vec<String> {
        let ms = |value: Option<f64>| value.map_or("–".to_owned(), |ms| human(ms, "ms"));
        let share = 100 * self.answered / self.sent.max(1);
        vec![
            self.load.clone(),
            self.name() + if self.is_far_end { ", the far end" } else { "" },
            self.address.clone().unwrap_or_else(|| "–".to_owned()),
            self.kind.clone(),
            ms(self.idle_ms),
            ms(self.loaded_ms),
            ms(self.loaded_p95_ms),
            ms(self.added_ms),
            ms(self.persisting_ms),
            format!("{share} %"),
        ]
    }
}

/// Round trips hop by hop, idle and under each load, and what of it the path adds.
pub(crate) fn add_figures(
    run: &RunReader,
    figures: &mut BTreeMap<String, Vec<Curve>>,
) -> Result<Vec<SweepFigure>, RunError> {
    let mut hops = Vec::new();
    each_batch(run, "hops", &Hop::COLUMNS, |batch| {
        hops.extend((0..batch.len()).map(|row| Hop::read(batch, row)));
    })?;
    let mut ticks: Vec<(u64, String)> = hops.iter().map(|hop| (hop.number, hop.name())).collect();
    ticks.sort();
    ticks.dedup_by_key(|(number, _)| *number);
    let mut drawn: Vec<SweepFigure> = Vec::new();
    for hop in &hops {
        let at = ticks.iter().position(|(number, _)| *number == hop.number);
        // This host stands before all.
        let at = at.unwrap_or_default() as f64 + 1.0;
        let id = format!("locate-{}", hop.load);
        if drawn.iter().all(|figure| figure.id != id) {
            drawn.push(figure(&id, trip_title(&hop.load), "round trip", TRIP_NOTE));
        }
        add_trips(hop, at, figures.entry(id).or_default());
        if let Some(ms) = hop.persisting_ms {
            let added = figures.entry(ADDED.to_owned()).or_default();
            let curve = Curve::of(added, during(&hop.load));
            if curve.is_empty() {
                curve.push(0.0, 0.0);
            }
            curve.push(at, ms);
        }
    }
    if figures.contains_key(ADDED) {
        let title = "Delay that load adds on the path up to each hop";
        drawn.insert(0, figure(ADDED, title, "added delay", ADDED_NOTE));
    }
    for one in &mut drawn {
        let names = ticks.iter().map(|(_, name)| name.clone());
        one.ticks = std::iter::once("here".to_owned()).chain(names).collect();
    }
    Ok(drawn)
}

fn add_trips(hop: &Hop, at: f64, curves: &mut Vec<Curve>) {
    let values = [
        ("idle, median", hop.idle_ms),
        ("under load, median", hop.loaded_ms),
        ("under load, p95", hop.loaded_p95_ms),
    ];
    for (series, ms) in values {
        if let Some(ms) = ms {
            Curve::of(curves, series).push(at, ms);
        }
    }
}

const ADDED: &str = "locate-added";
const ADDED_NOTE: &str =
    "What a hop has and all later ones have too. The queue is where a line rises.";
const TRIP_NOTE: &str =
    "A delay that later hops do not have is the router's own. Silent hops have no point.";

fn figure(id: &str, title: &str, y: &str, note: &'static str) -> SweepFigure {
    SweepFigure {
        id: id.to_owned(),
        title: title.to_owned(),
        x: ["hop".to_owned(), "plain".to_owned()],
        y: [y.to_owned(), "ms".to_owned()],
        ticks: Vec::new(),
        note,
    }
}

fn during(load: &str) -> &str {
    match load {
        "down" => "during download",
        "up" => "during upload",
        _ => "during both at once",
    }
}

fn trip_title(load: &str) -> &str {
    match load {
        "down" => "Round trips, idle and during download",
        "up" => "Round trips, idle and during upload",
        _ => "Round trips, idle and during both at once",
    }
}
