//! The report as text: one line per combination and load, one column per number.

use super::measure::Measure;
use super::readings::ADDED_MEAN;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use unbloat_campaign::{Campaign, Finding, Job, Run};
use unbloat_responsiveness::{Kind, letter};
use unbloat_text::Table;
use unbloat_units::{Delta, Rate};

/// Columns shown if the campaign does not choose any, as far as they have values.
const HEADLINES: [&str; 22] = [
    "all.rtt_p50_ms",
    "down.delivered_bps",
    "up.delivered_bps",
    "down.added_p50_ms",
    "down.added_p95_ms",
    "up.added_p50_ms",
    "up.added_p95_ms",
    "down.loss_share",
    "up.loss_share",
    "all.rpm",
    "*.load_time_p50_ms",
    "*.load_time_p95_ms",
    "*.page_load_p50_ms",
    "*.fetch_p50_ms",
    "*.completion_ms",
    "*.stalls",
    "*.stalled_ms",
    "*.bitrate_mean_bps",
    "*.mos",
    "*.lag_up_p95_ms",
    "*.lag_down_p95_ms",
    "*.rtt_p95_ms",
];

const LOADS: [&str; 4] = ["idle", "down", "up", "both"];

/// The missing runs in order, with their duration.
pub fn order(campaign: &Campaign, left: &[Job], measure: &impl Measure) -> String {
    let cells = campaign.cells();
    let mut text = String::new();
    let mut whole = Delta::ZERO;
    // Writing to a String cannot fail.
    for job in left {
        let cell = &cells[job.cell];
        let lasts = measure.lasts(cell) + campaign.pause;
        whole += lasts;
        let _ = writeln!(
            text,
            "{:>6}  {}  {}",
            format!("{:.0} s", lasts.as_secs()),
            cell.run_name(job.repeat),
            cell.title()
        );
    }
    let (count, all) = (left.len(), campaign.runs());
    let _ = writeln!(
        text,
        "{count} of {all} runs are left, about {}",
        hours(whole)
    );
    text
}

fn hours(span: Delta) -> String {
    let minutes = (span.as_secs() / 60.0).ceil() as u64;
    match minutes {
        0..60 => format!("{minutes} min"),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

/// The grades, then medians, with minimum and maximum where repeats differ. For so many columns of a terminal; none: as wide as it is.
pub fn text(
    campaign: &Campaign,
    found: &[Finding],
    runs: &[Run],
    foreign: usize,
    columns: Option<usize>,
) -> String {
    let mut text = String::new();
    if !campaign.name.is_empty() {
        let _ = writeln!(text, "{}\n{}\n", campaign.name, campaign.about.trim());
    }
    match found.is_empty() {
        true => text += "No run is finished yet.\n",
        false => {
            text += &grades(campaign, found);
            let table = table(campaign, found).text(columns);
            let _ = writeln!(text, "{table}\n");
            text += "Medians over repeats; minimum and maximum in brackets.\n";
        }
    }
    let _ = writeln!(
        text,
        "{} of {} runs are finished.",
        runs.len(),
        campaign.runs()
    );
    if foreign > 0 {
        let _ = writeln!(
            text,
            "{foreign} finished runs in the folder belong to combinations that the file no longer has."
        );
    }
    for (note, count) in notes(runs) {
        let _ = writeln!(text, "In {count} of {} runs: {note}", runs.len());
    }
    text
}

/// One line per combination: the grade of a verdict, from the medians over its runs.
fn grades(campaign: &Campaign, found: &[Finding]) -> String {
    let mut text = String::new();
    for cell in campaign.cells() {
        let of = |load: &str| {
            let is_graded = |one: &&Finding| {
                (one.cell, one.load.as_str(), one.metric.as_str()) == (cell.index, load, ADDED_MEAN)
            };
            found.iter().find(is_graded).map(Finding::median)
        };
        let added = [("downloads", of("down")), ("uploads", of("up"))];
        let mut added: Vec<(&str, f64)> = added
            .into_iter()
            .filter_map(|(name, ms)| Some((name, ms?)))
            .collect();
        added.sort_by(|a, b| b.1.total_cmp(&a.1));
        if let Some((_, worst)) = added.first() {
            let added_mean = Delta::from_secs_f64(worst / 1e3);
            let grade = letter(added_mean);
            let all: Vec<String> = added
                .iter()
                .map(|(name, ms)| format!("{name} add {:.0} ms", ms.max(0.0)))
                .collect();
            let line = format!("Grade {grade}: {} ({})", all.join(", "), cell.title());
            let _ = writeln!(text, "{}", Kind::of(added_mean).tone().paint(&line));
        }
    }
    text
}

fn notes(runs: &[Run]) -> Vec<(&str, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for run in runs {
        let unique: BTreeSet<&str> = run.notes.iter().map(String::as_str).collect();
        unique
            .into_iter()
            .for_each(|note| *counts.entry(note).or_default() += 1);
    }
    let mut notes: Vec<_> = counts.into_iter().collect();
    notes.sort_by_key(|(note, count)| (std::cmp::Reverse(*count), *note));
    notes
}

/// Names of the shown columns, in order.
pub fn columns(campaign: &Campaign, found: &[Finding]) -> Vec<String> {
    let mut known: Vec<(String, &Finding)> = Vec::new();
    for finding in found {
        let name = name(finding);
        if !known.iter().any(|(other, _)| *other == name) {
            known.push((name, finding));
        }
    }
    let fits = |pattern: &str, name: &str, finding: &Finding| match pattern.strip_prefix("*.") {
        Some(metric) => {
            finding.metric == metric && !["all", "down", "up"].contains(&&finding.subject[..])
        }
        None => pattern == name,
    };
    let patterns: Vec<&str> = match campaign.show.is_empty() {
        true => HEADLINES.to_vec(),
        false => campaign.show.iter().map(String::as_str).collect(),
    };
    let of_pattern = |pattern: &&str| {
        let fitting = known
            .iter()
            .filter(|(name, finding)| fits(pattern, name, finding));
        fitting.map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    patterns.iter().flat_map(of_pattern).collect()
}

/// One line of the report.
pub struct Line {
    /// The value on each axis that has several, then the load.
    pub labels: Vec<String>,
    pub runs: usize,
    /// For each column the median, with minimum and maximum where repeats differ.
    pub values: Vec<Option<String>>,
}

/// Headers and lines, for text and HTML alike.
pub fn lines(
    campaign: &Campaign,
    found: &[Finding],
    columns: &[String],
) -> (Vec<String>, Vec<Line>) {
    let axes: Vec<&str> = campaign
        .axes
        .iter()
        .filter(|axis| axis.values.len() > 1)
        .map(|axis| axis.name.as_str())
        .collect();
    let cells = campaign.cells();
    let named: BTreeMap<(usize, &str, String), &Finding> = found
        .iter()
        .map(|finding| ((finding.cell, &finding.load[..], name(finding)), finding))
        .collect();
    let mut lines = Vec::new();
    for cell in &cells {
        for load in LOADS {
            let of_line = columns
                .iter()
                .map(|column| named.get(&(cell.index, load, column.clone())).copied());
            let of_line: Vec<Option<&Finding>> = of_line.collect();
            let Some(runs) = of_line
                .iter()
                .flatten()
                .map(|finding| finding.values.len())
                .max()
            else {
                continue;
            };
            let labels = axes
                .iter()
                .map(|axis| cell.value(axis).unwrap_or_default().to_owned());
            lines.push(Line {
                labels: labels.chain([load.to_owned()]).collect(),
                runs,
                values: of_line.iter().map(|finding| finding.map(shown)).collect(),
            });
        }
    }
    let headers = axes.iter().map(|axis| (*axis).to_owned());
    (
        headers
            .chain(["load".to_owned(), "runs".to_owned()])
            .chain(columns.iter().cloned())
            .collect(),
        lines,
    )
}

fn table(campaign: &Campaign, found: &[Finding]) -> Table {
    let (headers, lines) = lines(campaign, found, &columns(campaign, found));
    let texts = lines.first().map_or(0, |line| line.labels.len());
    let mut table = Table::new(texts).head(headers);
    for line in lines {
        let values = line
            .values
            .into_iter()
            .map(|value| value.unwrap_or_else(|| "-".to_owned()));
        table.row(
            line.labels
                .into_iter()
                .chain([line.runs.to_string()])
                .chain(values),
        );
    }
    table
}

fn name(finding: &Finding) -> String {
    format!("{}.{}", finding.subject, finding.metric)
}

fn shown(finding: &Finding) -> String {
    let number = |value| number(&finding.metric, value);
    let (median, least, most) = (
        number(finding.median()),
        number(finding.least()),
        number(finding.most()),
    );
    match least == most {
        true => median,
        false => format!("{median} [{least}, {most}]"),
    }
}

fn number(metric: &str, value: f64) -> String {
    match () {
        () if metric.ends_with("_bps") => Rate::from_bps_f64(value).to_string(),
        () if value.fract() == 0.0 && value.abs() < 1e15 => format!("{value}"),
        () if value.abs() < 0.1 => format!("{value:.4}"),
        () if value.abs() < 10.0 => format!("{value:.2}"),
        () => format!("{value:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_campaign::{Reading, table1};

    fn found() -> (Campaign, Vec<Run>) {
        let text = "server = \"b\"\nname = \"Two\"\nrepeats = 2\nlabels.queue = [\"as is\", \"sqm\"]\nlabels.who = [\"me\"]";
        let reading = |load: &str, subject: &str, metric: &str, value| Reading {
            load: load.to_owned(),
            subject: subject.to_owned(),
            metric: metric.to_owned(),
            value,
        };
        let run = |cell, repeat, value: f64| Run {
            cell,
            repeat,
            readings: vec![
                reading("up", "up", "added_p95_ms", value),
                reading("up", "all", "added_mean_ms", value),
                reading("up", "up", "delivered_bps", 11_347_000.0),
                reading("idle", "all", "rtt_p50_ms", 20.5),
                reading("up", "call", "mos", 1.23),
                reading("up", "call", "lost_share_up", 0.5),
            ],
            notes: vec!["the CPU was busy".to_owned()],
        };
        let runs = vec![run(0, 0, 240.0), run(0, 1, 238.25), run(1, 0, 5.0)];
        (Campaign::parse(text).unwrap(), runs)
    }

    #[test]
    fn a_line_is_a_combination_under_a_load() {
        let (campaign, runs) = found();
        let shown = text(&campaign, &table1(&runs), &runs, 1, None);
        let expected = [
            "queue load runs all.rtt_p50_ms up.delivered_bps up.added_p95_ms call.mos",
            "as is idle 2 20.5 - - -",
            "as is up 2 - 11.35 Mbit/s 239.1 [238.2, 240] 1.23",
            "sqm idle 1 20.5 - - -",
            "sqm up 1 - 11.35 Mbit/s 5 1.23",
        ];
        assert!(
            shown.contains("Grade D: uploads add 239 ms (queue=as is"),
            "{shown}"
        );
        assert!(shown.contains("Grade A: uploads add 5 ms"), "{shown}");
        let lines: Vec<String> = shown
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        for line in expected {
            assert!(lines.iter().any(|found| found == line), "{line}\n{shown}");
        }
        assert!(shown.contains("3 of 4 runs are finished"));
        assert!(shown.contains("1 finished runs in the folder belong"));
        assert!(shown.contains("In 3 of 3 runs: the CPU was busy"));
    }

    #[test]
    fn a_campaign_chooses_its_columns() {
        let (mut campaign, runs) = found();
        campaign.show = vec!["call.lost_share_up".to_owned(), "*.mos".to_owned()];
        assert_eq!(
            columns(&campaign, &table1(&runs)),
            ["call.lost_share_up", "call.mos"]
        );
    }
}
