//! Figures of a simulation or a test, from the tables that `unbloat sim` and its like write: courses of a single run, or results over a sweep.

use crate::columns::{column_of, each_batch};
use crate::curve::Curve;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use unbloat_run::{Batch, RunError, RunReader};

/// Points of a curve over time; of the samples between two points the largest is drawn, so that no peak is lost.
const POINTS: usize = 1_000;

/// Flows and points with curves of their own.
const CURVES: usize = 12;

/// Figures of a sweep.
const FIGURES: usize = 12;

/// Results worth a figure, in this order, by the name after the subject.
const HEADLINES: [&str; 16] = [
    "goodput_bps",
    "added_p50_ms",
    "added_p95_ms",
    "rpm",
    "queue_delay_mean_ms",
    "queue_delay_p95_ms",
    "load_time_p95_ms",
    "page_load_p95_ms",
    "fetch_p95_ms",
    "mos",
    "stalls",
    "rtt_mean_ms",
    "rtt_p95_ms",
    "jain_index",
    "drops",
    "marks",
];

/// A figure that the page does not know beforehand.
#[derive(Serialize)]
pub(crate) struct SweepFigure {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) x: [String; 2],
    pub(crate) y: [String; 2],
    /// What stands at 0, 1, 2 ...
    pub(crate) ticks: Vec<String>,
    pub(crate) note: &'static str,
}

/// A value over time: what is drawn of a table.
struct Course {
    figure: &'static str,
    table: &'static str,
    value: &'static str,
    /// The columns by which curves are told apart.
    series: &'static [&'static str],
    /// Of which curve a row is, if it is of any.
    curve: fn(&Batch, usize) -> Option<String>,
}

const OF_PATH: &[&str] = &["direction", "hop", "place"];

const COURSES: [Course; 10] = [
    Course {
        figure: "sim-backlog",
        table: "queue_series",
        value: "backlog_bytes",
        series: OF_PATH,
        curve: |batch, row| {
            let is_whole = column_of(batch, "place").text(row) == Some("path");
            is_whole.then(|| direction(batch, row))?
        },
    },
    Course {
        figure: "sim-layers",
        table: "queue_series",
        value: "backlog_bytes",
        series: OF_PATH,
        curve: |batch, row| {
            let hop = column_of(batch, "hop").u64(row)?;
            let place = column_of(batch, "place").text(row)?;
            Some(format!("{} {hop}: {place}", direction(batch, row)?))
        },
    },
    of_flow("sim-cwnd", "cwnd_bytes"),
    of_flow("sim-in-flight", "in_flight_bytes"),
    of_flow("sim-srtt", "srtt_ms"),
    of_datagrams("added_down_ms", |_, _| Some("down".to_owned())),
    of_datagrams("added_up_ms", |_, _| Some("up".to_owned())),
    Course {
        figure: "test-goodput",
        table: "goodput_series",
        value: "delivered_bps",
        series: &["direction"],
        curve: direction,
    },
    of_senders("in_flight_bytes", direction),
    of_senders("bdp_bytes", |batch, row| {
        Some(format!(
            "bandwidth-delay product, {}",
            direction(batch, row)?
        ))
    }),
];

/// What the senders of a test's load had on the way, and what the path needs.
const fn of_senders(value: &'static str, curve: fn(&Batch, usize) -> Option<String>) -> Course {
    Course {
        figure: "test-in-flight",
        table: "in_flight_series",
        value,
        series: &["direction"],
        curve,
    }
}

/// What load adds one way to the datagrams of a test.
const fn of_datagrams(value: &'static str, curve: fn(&Batch, usize) -> Option<String>) -> Course {
    Course {
        figure: "test-added",
        table: "echoes",
        value,
        series: &[],
        curve,
    }
}

const fn of_flow(figure: &'static str, value: &'static str) -> Course {
    Course {
        figure,
        table: "window_series",
        value,
        series: &["flow"],
        curve: |batch, row| Some(column_of(batch, "flow").text(row)?.to_owned()),
    }
}

fn direction(batch: &Batch, row: usize) -> Option<String> {
    Some(column_of(batch, "direction").text(row)?.to_owned())
}

/// Adds the courses of a single run, or of the first of several.
pub(crate) fn add_courses(
    run: &RunReader,
    figures: &mut BTreeMap<String, Vec<Curve>>,
) -> Result<(), RunError> {
    for course in &COURSES {
        let curves = curves(run, course)?;
        if !curves.is_empty() {
            let of_figure = figures.entry(course.figure.to_owned());
            of_figure.or_default().extend(curves);
        }
    }
    Ok(())
}

fn curves(run: &RunReader, course: &Course) -> Result<Vec<Curve>, RunError> {
    let mut end = 0;
    each_batch(run, course.table, &["time_ns"], |batch| {
        let time = column_of(batch, "time_ns");
        end = (0..batch.len())
            .filter_map(|row| time.i64(row))
            .fold(end, i64::max);
    })?;
    let step = end / POINTS as i64 + 1;
    let mut bins: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
    let columns = [&["run", "time_ns", course.value], course.series].concat();
    each_batch(run, course.table, &columns, |batch| {
        let [number, time, y] = ["run", "time_ns", course.value].map(|name| column_of(batch, name));
        // Of several runs the first is drawn.
        for row in (0..batch.len()).filter(|row| number.u64(*row).unwrap_or(0) == 0) {
            let key = (course.curve)(batch, row);
            let (Some(at), Some(key), Some(y)) = (time.i64(row), key, y.f64(row)) else {
                continue;
            };
            if !bins.contains_key(&key) && bins.len() == CURVES {
                continue;
            }
            let of_key = bins.entry(key).or_insert_with(|| vec![None; POINTS + 1]);
            if let Some(bin) = of_key.get_mut((at / step) as usize) {
                *bin = Some(bin.map_or(y, |old: f64| old.max(y)));
            }
        }
    })?;
    let mut curves = Vec::new();
    for (key, values) in bins {
        let curve = Curve::of(&mut curves, &key);
        for (bin, y) in values.into_iter().enumerate() {
            if let Some(y) = y {
                curve.push((bin as i64 * step) as f64 / 1e9, y);
            }
        }
    }
    Ok(curves)
}

/// One figure for each headline result: the axis that varies fastest from left to right, a curve for each value of the others.
pub(crate) fn add_sweep(
    run: &RunReader,
    figures: &mut BTreeMap<String, Vec<Curve>>,
) -> Result<Vec<SweepFigure>, RunError> {
    let (axis, points) = points(run)?;
    let mut found: BTreeMap<(usize, String), Vec<Mean>> = BTreeMap::new();
    const COLUMNS: [&str; 5] = ["point", "subject", "metric", "mean", "ci95"];
    each_batch(run, "averages", &COLUMNS, |batch| {
        let [point, subject, metric, mean, ci95] = COLUMNS.map(|column| column_of(batch, column));
        for row in 0..batch.len() {
            let (Some(point), Some(subject), Some(metric), Some(mean)) = (
                point.u64(row),
                subject.text(row),
                metric.text(row),
                mean.f64(row),
            ) else {
                continue;
            };
            let rank = HEADLINES.iter().position(|headline| *headline == metric);
            if let (Some(rank), Some(place)) = (rank, points.get(&point)) {
                let of_figure = found.entry((rank, subject.to_owned())).or_default();
                let (tick, series) = (place.tick, place.series.clone());
                let ci95 = ci95.f64(row).unwrap_or(0.0);
                of_figure.push(Mean {
                    tick,
                    series,
                    mean,
                    ci95,
                });
            }
        }
    })?;
    let groups: BTreeSet<String> = found.keys().map(|(_, subject)| subject.clone()).collect();
    found.retain(|(rank, subject), means| {
        !is_member(subject, &groups) && is_changed(HEADLINES[*rank], means)
    });
    let mut drawn = Vec::new();
    for ((rank, subject), means) in found.into_iter().take(FIGURES) {
        let id = format!("sweep-{}", drawn.len());
        let curves = figures.entry(id.clone()).or_default();
        for one in means {
            let curve = Curve::of(curves, &one.series);
            curve.push_with_error(one.tick as f64, one.mean, one.ci95);
        }
        curves.truncate(CURVES);
        let (title, unit) = words(HEADLINES[rank]);
        drawn.push(SweepFigure {
            id,
            title: match subject.as_str() {
                "all" => format!("{title}, all flows"),
                _ => format!("{title}, {subject}"),
            },
            x: [axis.key.clone(), "plain".to_owned()],
            y: [title, unit.to_owned()],
            ticks: axis.ticks.clone(),
            note: "Bars: 95 % confidence interval of the mean over repeats.",
        });
    }
    Ok(drawn)
}

/// Whether a flow is one of several of which the group is a subject, too: "download_2" of "download_*".
pub(crate) fn is_member(subject: &str, subjects: &BTreeSet<String>) -> bool {
    let group = subject
        .rsplit_once('_')
        .map(|(name, _)| format!("{name}_*"));
    !subject.ends_with('*') && group.is_some_and(|group| subjects.contains(&group))
}

/// A result that the sweep changes by less than 1 %, or a delay below 1 ms, needs no figure; the table has it.
fn is_changed(metric: &str, means: &[Mean]) -> bool {
    let values = || means.iter().map(|one| one.mean);
    let (least, most) = (
        values().fold(f64::INFINITY, f64::min),
        values().fold(f64::NEG_INFINITY, f64::max),
    );
    let is_tiny = metric.ends_with("_ms") && most < 1.0;
    !is_tiny && most - least > 0.01 * most.abs()
}

struct Mean {
    tick: usize,
    series: String,
    mean: f64,
    ci95: f64,
}

/// The axis from left to right.
#[derive(Default)]
struct Axis {
    key: String,
    ticks: Vec<String>,
}

/// Where a point of the sweep is drawn.
struct Place {
    tick: usize,
    series: String,
}

fn points(run: &RunReader) -> Result<(Axis, BTreeMap<u64, Place>), RunError> {
    let mut values: BTreeMap<u64, Vec<(String, String)>> = BTreeMap::new();
    each_batch(run, "points", &["point", "key", "value"], |batch| {
        let [point, key, value] = ["point", "key", "value"].map(|column| column_of(batch, column));
        for row in 0..batch.len() {
            if let (Some(point), Some(key), Some(value)) =
                (point.u64(row), key.text(row), value.text(row))
            {
                let of_point = values.entry(point).or_default();
                of_point.push((key.to_owned(), value.to_owned()));
            }
        }
    })?;
    let mut axis = Axis::default();
    let mut places = BTreeMap::new();
    for (point, mut pairs) in values {
        let Some((key, value)) = pairs.pop() else {
            continue;
        };
        let known = axis.ticks.iter().position(|tick| *tick == value);
        let tick = known.unwrap_or_else(|| {
            axis.ticks.push(value);
            axis.ticks.len() - 1
        });
        axis.key = key;
        let others: Vec<_> = pairs.into_iter().map(|(_, other)| other).collect();
        let series = match others.is_empty() {
            true => "mean".to_owned(),
            false => others.join(", "),
        };
        places.insert(point, Place { tick, series });
    }
    Ok((axis, places))
}

/// Title and unit of a result's name.
fn words(metric: &str) -> (String, &'static str) {
    let (name, unit) = match metric.rsplit_once('_') {
        Some((name, "bps")) => (name, "rate"),
        Some((name, "ms")) => (name, "ms"),
        _ => (metric, "plain"),
    };
    let mut words = name.replace('_', " ");
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    (words, unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_named_and_measured_by_its_suffix() {
        let titles = ["goodput_bps", "rtt_p95_ms", "jain_index"].map(words);
        let expected = [
            ("Goodput", "rate"),
            ("Rtt p95", "ms"),
            ("Jain index", "plain"),
        ];
        assert_eq!(
            titles,
            expected.map(|(title, unit)| (title.to_owned(), unit))
        );
    }
}
