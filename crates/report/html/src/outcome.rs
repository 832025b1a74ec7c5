//! What a simulation, an experiment or a campaign came to: one sentence, its numbers, and a table of results by topic.

use crate::campaign::{Campaign, campaign};
use crate::columns::{Tables, column_of, each_batch};
use crate::comparison::words::{quantity, topic};
use crate::html::tiles;
use crate::numbers::human;
use crate::sim::is_member;
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};
use unbloat_compare::{Topic, meaning, unit};
use unbloat_responsiveness::letter;
use unbloat_run::{RunError, RunInfo};
use unbloat_table::{Rows, Table};
use unbloat_units::Delta;

/// Points of a sweep that are columns of the table.
const MOST_POINTS: usize = 24;

/// Grades that need no cure.
const GOOD: [&str; 3] = ["A+", "A", "B"];

/// Empty for runs of captures and tests.
#[derive(Default)]
pub(crate) struct Outcome {
    /// What was varied, as "link.down.queue.kind".
    axes: Vec<String>,
    points: Vec<Point>,
    results: Vec<Line>,
}

/// One combination.
#[derive(Clone, Default)]
struct Point {
    number: u64,
    title: String,
    /// The mean delay that load adds, of the worse direction, and which this is.
    added: Option<(f64, &'static str)>,
    goodput_bps: Option<f64>,
}

/// A result at all points.
struct Line {
    topic: Topic,
    is_key: bool,
    subject: String,
    metric: String,
    values: BTreeMap<u64, f64>,
}

pub(crate) fn outcome(
    run: &(impl Tables + ?Sized),
    campaign: &Campaign,
) -> Result<Outcome, RunError> {
    let (axes, titles) = points(run)?;
    let results = results(run)?;
    let mut points: BTreeMap<u64, Point> = BTreeMap::new();
    for line in &results {
        for (&number, &value) in &line.values {
            let point = points.entry(number).or_insert_with(|| Point {
                number,
                title: titles.get(&number).cloned().unwrap_or_default(),
                ..Point::default()
            });
            match (line.subject.as_str(), line.metric.as_str()) {
                ("down", "queue_delay_mean_ms") => point.add(value, "download"),
                ("up", "queue_delay_mean_ms") => point.add(value, "upload"),
                ("all", "goodput_bps") => point.goodput_bps = Some(value),
                _ => {}
            }
        }
    }
    for (number, direction, ms) in &campaign.added {
        let point = points.entry(*number).or_default();
        point.number = *number;
        point.add(*ms, direction);
        if let Some(title) = campaign.titles.get(number) {
            point.title.clone_from(title);
        }
    }
    Ok(Outcome {
        axes,
        points: points.into_values().collect(),
        results: if campaign.lines.is_empty() {
            results
        } else {
            Vec::new()
        },
    })
}

impl Point {
    /// Noise may make less of an idle line's delay than of none; load takes no delay away.
    fn add(&mut self, ms: f64, direction: &'static str) {
        let ms = ms.max(0.0);
        if self.added.is_none_or(|(worse, _)| ms > worse) {
            self.added = Some((ms, direction));
        }
    }

    fn added_ms(&self) -> f64 {
        self.added.map_or(0.0, |(ms, _)| ms)
    }
}

fn grade(ms: f64) -> &'static str {
    letter(Delta::from_secs_f64(ms / 1e3))
}

/// Names of the axes, and what each point of the sweep is.
fn points(run: &(impl Tables + ?Sized)) -> Result<(Vec<String>, BTreeMap<u64, String>), RunError> {
    const COLUMNS: [&str; 3] = ["point", "key", "value"];
    let mut axes: Vec<String> = Vec::new();
    let mut titles: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    each_batch(run, "points", &COLUMNS, |batch| {
        let [point, key, value] = COLUMNS.map(|column| column_of(batch, column));
        for row in 0..batch.len() {
            if let (Some(point), Some(key), Some(value)) =
                (point.u64(row), key.text(row), value.text(row))
            {
                if axes.iter().all(|axis| axis != key) {
                    axes.push(key.to_owned());
                }
                titles.entry(point).or_default().push(value.to_owned());
            }
        }
    })?;
    let joined = titles
        .into_iter()
        .map(|(point, values)| (point, values.join(", ")));
    Ok((axes, joined.collect()))
}

/// Means over repeats, by topic; key results first.
fn results(run: &(impl Tables + ?Sized)) -> Result<Vec<Line>, RunError> {
    const COLUMNS: [&str; 4] = ["point", "subject", "metric", "mean"];
    let mut lines: Vec<Line> = Vec::new();
    let mut places: BTreeMap<(String, String), usize> = BTreeMap::new();
    each_batch(run, "averages", &COLUMNS, |batch| {
        let [point, subject, metric, mean] = COLUMNS.map(|column| column_of(batch, column));
        for row in 0..batch.len() {
            let (Some(subject), Some(metric), Some(mean)) =
                (subject.text(row), metric.text(row), mean.f64(row))
            else {
                continue;
            };
            let place = *places
                .entry((subject.to_owned(), metric.to_owned()))
                .or_insert_with(|| {
                    let meaning = meaning(metric);
                    lines.push(Line {
                        topic: meaning.topic,
                        is_key: meaning.is_key,
                        subject: subject.to_owned(),
                        metric: metric.to_owned(),
                        values: BTreeMap::new(),
                    });
                    lines.len() - 1
                });
            if let Some(line) = lines.get_mut(place) {
                line.values.insert(point.u64(row).unwrap_or(0), mean);
            }
        }
    })?;
    // What never happened is no result.
    lines.retain(|line| line.values.values().any(|value| *value != 0.0));
    let subjects: BTreeSet<String> = lines.iter().map(|line| line.subject.clone()).collect();
    for line in &mut lines {
        line.is_key &= !is_minor(&line.metric) && !is_member(&line.subject, &subjects);
    }
    lines.sort_by_key(|line| line.topic);
    Ok(lines)
}

/// Median and 95th percentile say enough of a distribution.
fn is_minor(metric: &str) -> bool {
    ["_p5_", "_p25_", "_p75_", "_p99_", "_rsd"]
        .iter()
        .any(|part| metric.contains(part))
}

/// What all points come to in a sentence, which kind of verdict that is, and its ends.
struct Judged<'a> {
    kind: &'static str,
    headline: String,
    least: &'a Point,
    most: &'a Point,
}

/// Kind and sentence of the run that these tables become; none where no load added a delay.
///
/// # Errors
/// None of rows in memory.
pub fn outcome_headline(
    info: &RunInfo,
    tables: &[(Table, Rows)],
) -> Result<Option<(&'static str, String)>, RunError> {
    let outcome = outcome(tables, &campaign(tables, info)?)?;
    Ok(judged(&outcome).map(|judged| (judged.kind, judged.headline)))
}

fn judged(outcome: &Outcome) -> Option<Judged<'_>> {
    let known = outcome.points.iter().filter(|point| point.added.is_some());
    let by_delay = |a: &&Point, b: &&Point| a.added_ms().total_cmp(&b.added_ms());
    let (least, most) = (known.clone().min_by(by_delay)?, known.max_by(by_delay)?);
    let (worst, best) = (grade(most.added_ms()), grade(least.added_ms()));
    let kind = match (GOOD.contains(&best), GOOD.contains(&worst)) {
        (_, true) => "clean",
        (true, false) => "mixed",
        (false, false) => "bloated",
    };
    let ms = |point: &Point| human(point.added_ms(), "ms");
    let headline = if least.number == most.number {
        let direction = most.added.map_or("", |(_, direction)| direction);
        format!(
            "Grade {worst}: {direction}s wait {} in queues on average.",
            ms(most)
        )
    } else {
        let varied = match outcome.axes.as_slice() {
            [] => String::new(),
            axes => format!(", by {}", axes.join(" and ")),
        };
        format!(
            "Added delay from {} (grade {best}) to {} (grade {worst}){varied}.",
            ms(least),
            ms(most),
        )
    };
    Some(Judged {
        kind,
        headline,
        least,
        most,
    })
}

/// The verdict; nothing where neither delay nor goodput is known.
pub(crate) fn card(outcome: &Outcome) -> Markup {
    let Some(Judged {
        kind,
        headline,
        least,
        most,
    }) = judged(outcome)
    else {
        return Markup::default();
    };
    let class = match kind {
        "mixed" => "inconclusive",
        kind => kind,
    };
    html! {
        section.card.verdict.(class) {
            h2 { (headline) }
            (numbers(least, most))
            dl {
                @if least.number != most.number {
                    dt { "Least delay" } dd { (sentence(least)) }
                    dt { "Most delay" } dd { (sentence(most)) }
                }
                dt { "What to do" }
                dd { (advice(least, most)) }
                dt { "Grades" }
                dd.note { "DSLReports' scale, for the mean delay that load adds in the worse direction." }
            }
        }
    }
}

fn numbers(least: &Point, most: &Point) -> Markup {
    let mut numbers = Vec::new();
    let named = |what: &str, point: &Point| match point.title.as_str() {
        "" => what.to_owned(),
        title => format!("{what}, {title}"),
    };
    let is_one = least.number == most.number;
    for point in if is_one {
        vec![most]
    } else {
        vec![least, most]
    } {
        numbers.push((grade(point.added_ms()).to_owned(), named("grade", point)));
        numbers.push((
            human(point.added_ms(), "ms"),
            named("mean added delay", point),
        ));
        if let Some(bps) = point.goodput_bps {
            numbers.push((human(bps, "bit/s"), named("goodput", point)));
        }
    }
    tiles(&numbers)
}

fn sentence(point: &Point) -> String {
    let (ms, direction) = point.added.unwrap_or_default();
    let goodput = point
        .goodput_bps
        .map(|bps| format!(" at {} goodput", human(bps, "bit/s")));
    format!(
        "{}: {} when {direction}ing{}.",
        point.title,
        human(ms, "ms"),
        goodput.unwrap_or_default()
    )
}

fn advice(least: &Point, most: &Point) -> String {
    let is_good = |point: &Point| GOOD.contains(&grade(point.added_ms()));
    match (is_good(least), is_good(most)) {
        (_, true) => "Nothing: no combination bloats.".to_owned(),
        (true, false) => format!(
            "Use {}, unless its goodput is too low for you.",
            least.title
        ),
        (false, false) => {
            "Try CAKE or fq_codel on the slow link, or a shorter queue there.".to_owned()
        }
    }
}

/// Results by topic: key results open, all others folded.
pub(crate) fn tables(outcome: &Outcome) -> Markup {
    let (key, other): (Vec<&Line>, Vec<&Line>) =
        outcome.results.iter().partition(|line| line.is_key);
    html! {
        @if !key.is_empty() {
            section { h2 { "Results" } (table(outcome, &key)) }
        }
        @if !other.is_empty() {
            section {
                details {
                    summary { "All other results (" (other.len()) ")" }
                    (table(outcome, &other))
                }
            }
        }
    }
}

fn table(outcome: &Outcome, lines: &[&Line]) -> Markup {
    let shown = outcome.points.len().min(MOST_POINTS);
    let titles = || {
        outcome
            .points
            .iter()
            .take(shown)
            .map(|point| match point.title.as_str() {
                "" => "value",
                title => title,
            })
    };
    html! {
        @if !outcome.axes.is_empty() {
            p.note {
                "Means over repeats, by " (outcome.axes.join(" and "))
                @if shown < outcome.points.len() {
                    "; the first " (shown) " of " (outcome.points.len()) " combinations"
                }
                "."
            }
        }
        div.scroll tabindex="0" role="region" aria-label="Results" {
            table.results {
                thead { tr { th scope="col" { "result" } @for title in titles() { th scope="col" { (title) } } } }
                @for group in lines.chunk_by(|one, next| one.topic == next.topic) {
                    tbody {
                        @if let Some(first) = group.first() {
                            tr.topic { th scope="rowgroup" colspan=(shown + 1) { (topic(first.topic)) } }
                        }
                        @for line in group {
                            tr {
                                th scope="row" { (line.subject) " " (quantity(&line.metric)) }
                                @for point in outcome.points.iter().take(shown) {
                                    td { @if let Some(value) = line.values.get(&point.number) { (human(*value, unit(&line.metric))) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
