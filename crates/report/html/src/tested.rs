//! The verdict of a test's run, above its figures.

use crate::ReportError;
use crate::html::{coded, tiles};
use crate::numbers::human;
use maud::{Markup, html};
use unbloat_responsiveness::{Kind, Verdict};
use unbloat_run::RunInfo;
use unbloat_units::Delta;

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
        (directions(verdict))
    }
}

/// What each load did, side by side.
fn directions(verdict: &Verdict) -> Markup {
    let ms = |delay: Delta| human(delay.as_ms(), "ms");
    html! {
        @if verdict.grade.is_some() {
            section {
                h2 { "Results" }
                div.scroll tabindex="0" role="region" aria-label="Results" {
                    table.results {
                        thead {
                            tr {
                                th scope="col" { "result" }
                                @for load in &verdict.directions { th scope="col" { (load.direction.load()) } }
                            }
                        }
                        tbody {
                            tr { th scope="row" { "added round-trip delay, mean" } @for load in &verdict.directions { td { (ms(load.added)) } } }
                            tr { th scope="row" { "delay added in this direction, p95" } @for load in &verdict.directions { td { (ms(load.added_p95)) } } }
                            tr { th scope="row" { "idle round-trip time" } @for load in &verdict.directions { td { (ms(load.idle_rtt)) } } }
                            tr { th scope="row" { "delivered" } @for load in &verdict.directions { td { (load.delivered) } } }
                            tr { th scope="row" { "rate of the link" } @for load in &verdict.directions { td { (load.line) } } }
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
    use unbloat_responsiveness::{Doubt, LoadedDirection, verdict};
    use unbloat_units::{Direction, Rate};

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
