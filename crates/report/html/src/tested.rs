//! The verdict of a test's run, its stages, and what became of its datagrams.

use crate::ReportError;
use crate::columns::{column_of, each_batch};
use crate::curve::Curve;
use crate::html::{coded, tiles};
use crate::numbers::{human, three_digits};
use maud::{Markup, html};
use serde::Serialize;
use std::collections::BTreeMap;
use unbloat_responsiveness::{Kind, LoadedDirection, Verdict};
use unbloat_run::{RunError, RunInfo, RunReader};
use unbloat_units::Both;

/// Out of `run.json`; None in runs that are not of `unbloat test`.
pub(crate) fn verdict_of(info: &RunInfo) -> Result<Option<Verdict>, ReportError> {
    let stored = info
        .options
        .get("findings")
        .and_then(|findings| findings.get("verdict"));
    let read = stored.map(|stored| serde_json::from_value(stored.clone()));
    read.transpose().map_err(ReportError::Verdict)
}

/// Grade and numbers, then where, what to do, and what casts doubt on it.
pub(crate) fn section(verdict: &Verdict) -> Markup {
    let class = match verdict.kind {
        Kind::Bloated | Kind::Slight => "bloated",
        Kind::Clean => "clean",
        Kind::Unknown => "inconclusive",
    };
    html! {
        section.card.verdict.(class) {
            h2 { (coded(&verdict.headline)) }
            (grade(verdict))
            dl {
                @if !verdict.places.is_empty() {
                    dt { "Where" } dd { @for (at, place) in verdict.places.iter().enumerate() { @if at > 0 { br; } (place) } }
                }
                @for (at, advice) in verdict.advice.iter().enumerate() {
                    dt { @if at == 0 { "What to do" } }
                    dd {
                        @if advice.is_alternative { "Or: " }
                        (coded(&advice.text))
                        @if !advice.evidence.is_empty() { br; span.note { (coded(&advice.evidence.join("; "))) } }
                    }
                }
                @for (at, doubt) in verdict.doubts.iter().enumerate() {
                    dt { @if at == 0 { "Warnings" } }
                    dd.doubt { (coded(&doubt.reason)) }
                }
            }
        }
    }
}

/// A stage of a test: what is marked in figures over time, and its row of numbers.
pub(crate) struct Stage {
    number: u64,
    load: String,
    stack: String,
    begin_ns: i64,
    judged_from_ns: i64,
    end_ns: i64,
    values: [Option<f64>; VALUES.len()],
}

/// Rows of the table of stages, in this order: title, and column of table `stages`. A row without any value is left out.
const VALUES: [(&str, &str); 11] = [
    ("delivered down", "delivered_down_bps"),
    ("delivered up", "delivered_up_bps"),
    ("round trip, median", "rtt_p50_ms"),
    ("added round trip, median", "added_rtt_p50_ms"),
    ("added round trip, p95", "added_rtt_p95_ms"),
    ("added round trip, p99", "added_rtt_p99_ms"),
    ("added on the way down, p95", "added_down_p95_ms"),
    ("added on the way up, p95", "added_up_p95_ms"),
    ("lost on the way down", "loss_down"),
    ("lost on the way up", "loss_up"),
    ("round trips per minute (RPM)", "rpm"),
];

/// The stages of a test in their order; none of other runs.
pub(crate) fn stages(run: &RunReader) -> Result<Vec<Stage>, RunError> {
    const KEYS: [&str; 6] = [
        "stage",
        "load",
        "stack",
        "begin_ns",
        "judged_from_ns",
        "end_ns",
    ];
    let mut stages = Vec::new();
    let wanted: Vec<&str> = KEYS
        .into_iter()
        .chain(VALUES.map(|(_, column)| column))
        .collect();
    each_batch(run, "stages", &wanted, |batch| {
        let [number, load, stack, begin, judged_from, end] =
            KEYS.map(|column| column_of(batch, column));
        let values = VALUES.map(|(_, column)| column_of(batch, column));
        stages.extend((0..batch.len()).filter_map(|row| {
            let begin_ns = begin.i64(row)?;
            Some(Stage {
                number: number.u64(row)?,
                load: load.text(row)?.to_owned(),
                stack: stack.text(row)?.to_owned(),
                begin_ns,
                judged_from_ns: judged_from.i64(row).unwrap_or(begin_ns),
                end_ns: end.i64(row)?,
                values: values.each_ref().map(|column| column.f64(row)),
            })
        }));
    })?;
    Ok(stages)
}

impl Stage {
    fn is_as_is(&self) -> bool {
        self.stack == "as_is" && self.load != "idle"
    }

    /// As headings name what is loaded.
    fn name(&self) -> String {
        let load = heading(&self.load);
        let suffix = if self.is_as_is() { ", as is" } else { "" };
        format!("{load}{suffix}")
    }
}

/// What loads the path, as headings name it.
pub(crate) fn heading(load: &str) -> &str {
    match load {
        "down" => "download",
        "up" => "upload",
        other => other,
    }
}

/// A span of time to be marked in figures.
#[derive(Serialize)]
pub(crate) struct Mark {
    pub(crate) begin_s: f64,
    pub(crate) end_s: f64,
    pub(crate) name: String,
}

pub(crate) fn marks(stages: &[Stage]) -> Vec<Mark> {
    let mark = |stage: &Stage| Mark {
        begin_s: stage.begin_ns as f64 / 1e9,
        end_s: stage.end_ns as f64 / 1e9,
        name: stage.name(),
    };
    stages.iter().map(mark).collect()
}

/// Points of a distribution.
const QUANTILES: usize = 400;

/// What became of the datagrams of a test: how many of each second were lost, and the round trips by load.
pub(crate) fn add_figures(
    run: &RunReader,
    stages: &[Stage],
    figures: &mut BTreeMap<String, Vec<Curve>>,
) -> Result<(), RunError> {
    let stages: BTreeMap<u64, &Stage> = stages.iter().map(|it| (it.number, it)).collect();
    if stages.is_empty() {
        return Ok(());
    }
    let mut seconds: BTreeMap<i64, (u64, Both<u64>)> = BTreeMap::new();
    let mut rtts: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    const COLUMNS: [&str; 4] = ["time_ns", "stage", "fate", "rtt_ms"];
    each_batch(run, "echoes", &COLUMNS, |batch| {
        let [time, number, fate, rtt] = COLUMNS.map(|column| column_of(batch, column));
        for row in 0..batch.len() {
            let (Some(at), Some(fate)) = (time.i64(row), fate.text(row)) else {
                continue;
            };
            // Between stages, and when the test has ended, nobody waits for all of them.
            let Some(stage) = number.u64(row).and_then(|number| stages.get(&number)) else {
                continue;
            };
            let (sent, lost) = seconds.entry(at / 1_000_000_000).or_default();
            *sent += 1;
            lost.down += u64::from(matches!(fate, "lost_down" | "lost"));
            lost.up += u64::from(matches!(fate, "lost_up" | "lost"));
            let is_judged = (stage.judged_from_ns..stage.end_ns).contains(&at);
            if let Some(rtt) = rtt.f64(row).filter(|_| is_judged) {
                rtts.entry(stage.number).or_default().push(rtt);
            }
        }
    })?;
    for (second, (sent, lost)) in seconds {
        let curves = figures.entry("test-loss".to_owned()).or_default();
        for (direction, count) in lost.entries() {
            let percent = 100.0 * *count as f64 / sent as f64;
            Curve::of(curves, direction.name()).push(second as f64 + 0.5, percent);
        }
    }
    for (number, mut of_stage) in rtts {
        of_stage.sort_by(f64::total_cmp);
        let curves = figures.entry("test-rtt".to_owned()).or_default();
        let curve = Curve::of(curves, &stages[&number].name());
        let step = of_stage.len().div_ceil(QUANTILES);
        let kept = of_stage.iter().enumerate().skip(step - 1).step_by(step);
        for (at, rtt) in kept {
            curve.push(*rtt, (at + 1) as f64 / of_stage.len() as f64);
        }
    }
    Ok(())
}

/// What each stage measured, side by side.
pub(crate) fn table(stages: &[Stage], verdict: Option<&Verdict>) -> Markup {
    let Some(verdict) = verdict.filter(|verdict| verdict.grade.is_some()) else {
        return Markup::default();
    };
    let shown = |column: &str, value: f64| match column {
        "rpm" => three_digits(value.round()),
        _ if column.ends_with("_bps") => human(value, "bit/s"),
        _ if column.ends_with("_ms") => human(value.max(0.0), "ms"),
        _ => human(100.0 * value, "%"),
    };
    let rows = VALUES
        .iter()
        .enumerate()
        .filter(|(at, _)| stages.iter().any(|stage| stage.values[*at].is_some()));
    let of_verdict = |stage: &Stage, of: fn(&LoadedDirection) -> String| {
        let loads = &mut verdict.directions.iter();
        let load = loads.find(|load| load.direction.name() == stage.load && !stage.is_as_is());
        load.map_or(String::new(), of)
    };
    html! {
        @if !stages.is_empty() {
            section {
                h2 { "Stages" }
                div.scroll tabindex="0" role="region" aria-label="Stages" {
                    table.results {
                        thead { tr { th scope="col" { "result" } @for stage in stages { th scope="col" { (stage.name()) } } } }
                        tbody {
                            tr { th scope="row" { "added round trip, mean" } @for stage in stages { td { (of_verdict(stage, |load| human(load.added.as_ms().max(0.0), "ms"))) } } }
                            tr { th scope="row" { "rate of the link" } @for stage in stages { td { (of_verdict(stage, |load| load.line.to_string())) } } }
                            @for (at, (name, column)) in rows {
                                tr {
                                    th scope="row" { (name) }
                                    @for stage in stages { td { @if let Some(value) = stage.values[at] { (shown(column, value)) } } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// None without a grade: the numbers of such a run mean nothing.
fn grade(verdict: &Verdict) -> Markup {
    let Some(grade) = &verdict.grade else {
        return Markup::default();
    };
    let mut numbers = vec![(grade.clone(), "grade of the worse direction".to_owned())];
    for load in &verdict.directions {
        let name = load.direction.load();
        let added_ms = load.added.as_ms().max(0.0);
        numbers.push((
            human(added_ms, "ms"),
            format!("added by {name}s, mean round trip"),
        ));
        numbers.push((load.delivered.to_string(), format!("delivered, {name}")));
    }
    tiles(&numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_responsiveness::{Doubt, verdict};
    use unbloat_units::{Delta, Direction, Rate};

    fn info(doubts: Vec<Doubt>) -> RunInfo {
        let up = LoadedDirection {
            direction: Direction::Up,
            delivered: Rate::mbps(5),
            line: Rate::kbps(5_180),
            is_steady: true,
            added: Delta::ms(778),
            added_p95: Delta::ms(800),
            idle_rtt: Delta::ms(20),
            unsent: None,
            is_starved: false,
            located: None,
        };
        let verdict = verdict(vec![up], doubts);
        let mut info = RunInfo::new("unbloat test", "1", Vec::new());
        let findings = serde_json::json!({ "verdict": verdict });
        info.options.insert("findings".to_owned(), findings);
        info
    }

    #[test]
    fn the_report_of_a_test_begins_with_its_verdict() {
        let verdict = verdict_of(&info(Vec::new())).unwrap().unwrap();
        let html = section(&verdict).into_string();
        let parts = [
            "grade F",
            "Uploads add 778 ms",
            "<b>F</b>",
            "5.00 Mbit/s",
            "Shape uploads to 4.92 Mbit/s",
            "<code>unbloat fix</code>",
        ];
        for part in parts {
            assert!(html.contains(part), "{part}: {html}");
        }
        let other = RunInfo::new("unbloat sim", "1", Vec::new());
        assert_eq!(verdict_of(&other).unwrap(), None);
    }

    #[test]
    fn a_run_that_tells_nothing_shows_no_numbers_and_hostile_words_stay_words() {
        let doubt = Doubt {
            is_fatal: true,
            reason: "<script>".to_owned(),
        };
        let html = section(&verdict_of(&info(vec![doubt])).unwrap().unwrap()).into_string();
        assert!(html.contains("No verdict: &lt;script&gt;"), "{html}");
        assert!(!html.contains("<b>"), "{html}");
    }
}
