//! A summary of the results.

use super::averages::{Average, averages};
use super::campaign::Campaign;
use super::plan::Plan;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use unbloat_experiment::scenario::toml::closest;
use unbloat_text::{Layout, Table, Tone};
use unbloat_units::Rate;

/// Results shown of a sweep without `--show`.
const HEADLINES: [&str; 8] = [
    "all.goodput_bps",
    "all.jain_index",
    "all.rpm",
    "down.queue_delay_mean_ms",
    "down.queue_delay_p95_ms",
    "down.drops",
    "up.queue_delay_p95_ms",
    "up.drops",
];

const KEPT: &str = "kept";

/// Names that an error lists.
const CLOSE: usize = 5;

/// A summary of the results, laid out for where it is read. Bounds first: they are the verdict.
pub fn text(plan: &Plan, campaign: &Campaign, layout: Layout) -> String {
    let columns = layout.columns;
    let found = averages(campaign);
    let mut text = match plan.points.first() {
        Some(first) if !first.name.is_empty() => {
            format!("{}\n{}\n\n", first.name, first.about.trim())
        }
        _ => String::new(),
    };
    for line in judgements(plan, campaign).lines() {
        let tone = match line.starts_with(KEPT) {
            true => Tone::Good,
            false => Tone::Bad,
        };
        let _ = writeln!(text, "{}", tone.paint(line));
    }
    if !plan.bounds.is_empty() {
        text.push('\n');
    }
    text += &if plan.points.len() == 1 {
        single(plan, &found, columns)
    } else {
        sweep(plan, &found, columns)
    };
    for note in campaign.notes() {
        let _ = writeln!(text, "{note}");
    }
    layout.lay(&text)
}

/// One point: one line per result.
fn single(plan: &Plan, found: &[Average], room: Option<usize>) -> String {
    let mut table = Table::new(2);
    let is_shown = |one: &&Average| plan.show.is_empty() || plan.show.contains(&name(one));
    for average in found.iter().filter(is_shown) {
        table.row([
            average.subject.clone(),
            average.metric.clone(),
            shown(average),
        ]);
    }
    format!("{}\n", table.text(room))
}

/// A sweep: one line per point, one column per key and result.
fn sweep(plan: &Plan, found: &[Average], room: Option<usize>) -> String {
    let named: BTreeMap<_, _> = found
        .iter()
        .map(|average| ((average.point, name(average)), average))
        .collect();
    let is_known = |column: &String| found.iter().any(|average| name(average) == *column);
    let columns: Vec<String> = match plan.show.is_empty() {
        true => HEADLINES
            .map(str::to_owned)
            .into_iter()
            .filter(is_known)
            .collect(),
        false => plan.show.clone(),
    };
    let keys: Vec<_> = plan
        .sweep
        .axes
        .iter()
        .map(|axis| axis.key.clone())
        .collect();
    let mut table = Table::new(keys.len()).head(keys.iter().chain(&columns));
    for index in 0..plan.sweep.points() {
        let values = plan
            .sweep
            .point(index)
            .values
            .into_iter()
            .map(|(_, value)| value.to_string());
        let results = columns.iter().map(|column| {
            named
                .get(&(index, column.clone()))
                .map_or("-".to_owned(), |average| shown(average))
        });
        table.row(values.chain(results));
    }
    format!("{}\n", table.text(room))
}

/// One line per bound.
pub fn judgements(plan: &Plan, campaign: &Campaign) -> String {
    let mut text = String::new();
    for (bound, index) in plan.bounds.iter().zip(0..) {
        let judged = campaign
            .runs
            .iter()
            .filter_map(|run| Some((run, run.judgements.get(index)?)));
        let broken: Vec<_> = judged.filter(|(_, judgement)| !judgement.holds).collect();
        let _ = match broken.first() {
            None => writeln!(text, "{KEPT}    {bound}"),
            Some((run, judgement)) => {
                let why = match &judgement.worst {
                    Some(worst) => format!(
                        "{} {} is {}",
                        worst.subject,
                        worst.metric,
                        number(&worst.metric, worst.value)
                    ),
                    None => "no result has that name and unit; --format csv lists them".to_owned(),
                };
                let more = if broken.len() > 1 {
                    format!(", and in {} more runs", broken.len() - 1)
                } else {
                    String::new()
                };
                writeln!(text, "BROKEN  {bound}: {why} (seed {}{more})", run.seed)
            }
        };
    }
    text
}

/// The first name of `--show` that no run has as a result, as an error says it.
pub fn unknown(plan: &Plan, campaign: &Campaign) -> Option<String> {
    let runs = campaign.runs.iter();
    let names: BTreeSet<String> = runs
        .flat_map(|run| &run.results)
        .map(|result| format!("{}.{}", result.subject, result.metric))
        .collect();
    let wanted = plan.show.iter().find(|name| !names.contains(*name))?;
    let mut near = closest(wanted, names.iter().map(String::as_str));
    near.truncate(CLOSE);
    Some(format!(
        "--show: no run has a result {wanted:?}; the closest names are {}; --format csv lists all",
        near.join(", ")
    ))
}

fn name(average: &Average) -> String {
    format!("{}.{}", average.subject, average.metric)
}

/// Mean, with its interval if repeats differ.
fn shown(average: &Average) -> String {
    let mean = number(&average.metric, average.mean);
    match average.ci95 {
        Some(ci95) if ci95 > 0.0 => format!("{mean} ± {}", number(&average.metric, ci95)),
        _ => mean,
    }
}

fn number(metric: &str, value: f64) -> String {
    match () {
        () if metric.ends_with("_bps") => Rate::from_bps_f64(value).to_string(),
        () if value.fract() == 0.0 && value.abs() < 1e15 => format!("{value}"),
        () if value.abs() < 10.0 => format!("{value:.3}"),
        () => format!("{value:.1}"),
    }
}
