//! A campaign's medians and their spread, as one table: a line for each combination and load.

use crate::columns::{Tables, column_of, each_batch};
use crate::comparison::words::quantity;
use crate::numbers::{human, three_digits};
use std::collections::BTreeMap;
use unbloat_run::{RunError, RunInfo};

/// Lines of the table; all medians are in the run's tables.
const MOST: usize = 2_000;
const LOADS: [&str; 4] = ["idle", "down", "up", "both"];

/// What the page shows of a campaign; empty for other runs.
#[derive(Default)]
pub(crate) struct Campaign {
    pub(crate) heads: Vec<String>,
    pub(crate) lines: Vec<Vec<String>>,
    /// Mean delay in ms that each load adds at each point.
    pub(crate) added: Vec<(u64, &'static str, f64)>,
    /// What each point is.
    pub(crate) titles: BTreeMap<u64, String>,
}

/// The columns are those that the run itself chose to show (`shown` in its options).
pub(crate) fn campaign(run: &(impl Tables + ?Sized), info: &RunInfo) -> Result<Campaign, RunError> {
    let shown: Vec<String> = info
        .options
        .get("shown")
        .and_then(|shown| serde_json::from_value(shown.clone()).ok())
        .unwrap_or_default();
    let mut lines: BTreeMap<(u64, usize), Line> = BTreeMap::new();
    let mut found = Campaign::default();
    const COLUMNS: [&str; 9] = [
        "point", "title", "load", "subject", "metric", "runs", "median", "min", "max",
    ];
    each_batch(run, "campaign", &COLUMNS, |batch| {
        let [point, title, load, subject, metric, runs, median, min, max] =
            COLUMNS.map(|column| column_of(batch, column));
        for row in 0..batch.len() {
            let (Some(point), Some(load), Some(subject), Some(metric)) = (
                point.u64(row),
                load.text(row),
                subject.text(row),
                metric.text(row),
            ) else {
                continue;
            };
            if let Some(title) = title.text(row).filter(|title| !title.is_empty()) {
                found.titles.insert(point, title.to_owned());
            }
            let direction = match load {
                "down" => Some("download"),
                "up" => Some("upload"),
                _ => None,
            };
            let added = median.f64(row).filter(|_| metric == "added_mean_ms");
            if let Some((direction, ms)) = direction.zip(added) {
                found.added.push((point, direction, ms));
            }
            let name = format!("{subject}.{metric}");
            let place = LOADS.iter().position(|known| *known == load);
            let column = shown.iter().position(|known| *known == name);
            let (Some(place), Some(column)) = (place, column) else {
                continue;
            };
            let line = lines.entry((point, place)).or_insert_with(|| Line {
                title: title.text(row).unwrap_or_default().to_owned(),
                runs: 0,
                values: vec!["–".to_owned(); shown.len()],
            });
            line.runs = line.runs.max(runs.u64(row).unwrap_or(0));
            if let Some(median) = median.f64(row) {
                line.values[column] = cell(metric, median, min.f64(row), max.f64(row));
            }
        }
    })?;
    let fixed = ["combination", "load", "runs"].map(str::to_owned);
    let drawn = lines.into_iter().take(MOST).map(|((_, load), line)| {
        let labels = [line.title, LOADS[load].to_owned(), line.runs.to_string()];
        labels.into_iter().chain(line.values).collect()
    });
    found.lines = drawn.collect();
    let heads = shown.iter().map(|name| head(name));
    found.heads = fixed.into_iter().chain(heads).collect();
    Ok(found)
}

struct Line {
    title: String,
    runs: u64,
    values: Vec<String>,
}

/// "down.added_p95_ms" in words.
fn head(name: &str) -> String {
    let (subject, metric) = name.split_once('.').unwrap_or(("", name));
    let of = match subject {
        "all" => "",
        "down" => "download: ",
        "up" => "upload: ",
        other => return format!("{other}: {}", quantity(metric)),
    };
    format!("{of}{}", quantity(metric))
}

/// The median, and where repeats differ what they lie between.
fn cell(metric: &str, median: f64, least: Option<f64>, most: Option<f64>) -> String {
    let number = |value: f64| match metric.rsplit_once('_') {
        Some((_, "bps")) => human(value, "bit/s"),
        Some((_, "ms")) => human(value, "ms"),
        _ => three_digits(value),
    };
    match least.zip(most) {
        Some((least, most)) if least < most => {
            format!("{} ({} to {})", number(median), number(least), number(most))
        }
        _ => number(median),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_named_in_words() {
        assert_eq!(head("down.added_p95_ms"), "download: added p95");
        assert_eq!(head("all.rtt_p50_ms"), "rtt p50");
        assert_eq!(head("call.mos"), "call: mos");
    }

    #[test]
    fn spread_is_shown_where_repeats_differ() {
        assert_eq!(cell("added_p95_ms", 5.0, Some(5.0), Some(5.0)), "5 ms");
        assert_eq!(
            cell("added_p95_ms", 5.0, Some(4.0), Some(9.25)),
            "5 ms (4 ms to 9.25 ms)"
        );
        assert_eq!(cell("mos", 3.456, None, None), "3.46");
    }
}
