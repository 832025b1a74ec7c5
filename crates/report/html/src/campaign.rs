//! A campaign's medians and their spread, as one table: a line for each combination and load.

use crate::columns::{column_of, each_batch};
use crate::numbers::{human, three_digits};
use std::collections::BTreeMap;
use unbloat_run::{RunError, RunReader};

/// Lines of the table; all medians are in the run's tables.
const MOST: usize = 2_000;
const LOADS: [&str; 4] = ["idle", "down", "up", "both"];

/// What the page shows of a campaign; empty for other runs.
#[derive(Default)]
pub(crate) struct Campaign {
    pub(crate) heads: Vec<String>,
    pub(crate) lines: Vec<Vec<String>>,
}

/// The columns are those that the run itself chose to show (`shown` in its options).
pub(crate) fn campaign(run: &RunReader) -> Result<Campaign, RunError> {
    let shown: Vec<String> = run
        .info()
        .options
        .get("shown")
        .and_then(|shown| serde_json::from_value(shown.clone()).ok())
        .unwrap_or_default();
    let mut lines: BTreeMap<(u64, usize), Line> = BTreeMap::new();
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
    Ok(Campaign {
        heads: fixed.into_iter().chain(shown.iter().cloned()).collect(),
        lines: drawn.collect(),
    })
}

struct Line {
    title: String,
    runs: u64,
    values: Vec<String>,
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
    fn spread_is_shown_where_repeats_differ() {
        assert_eq!(cell("added_p95_ms", 5.0, Some(5.0), Some(5.0)), "5 ms");
        assert_eq!(
            cell("added_p95_ms", 5.0, Some(4.0), Some(9.25)),
            "5 ms (4 ms to 9.25 ms)"
        );
        assert_eq!(cell("mos", 3.456, None, None), "3.46");
    }
}
