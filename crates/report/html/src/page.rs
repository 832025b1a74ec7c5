//! The parts of the page that need no script: verdict, key numbers, what made the run.

use crate::RenderOptions;
use crate::campaign::Campaign;
use crate::html::{list, tiles, warnings};
use crate::location::{HEADS, Location};
use crate::numbers::{human, three_digits};
use crate::sim::SimResult;
use crate::tested;
use maud::{Markup, Render, html};
use unbloat_run::{Clock, RunInfo, Status};
use unbloat_summary::{DirectionVerdict, Metric, Verdict, VerdictKind};
use unbloat_units::Direction;

pub(crate) struct Parts<'a> {
    pub(crate) info: &'a RunInfo,
    pub(crate) verdict: Option<&'a Verdict>,
    /// Of a test.
    pub(crate) tested: Option<&'a unbloat_responsiveness::Verdict>,
    pub(crate) metrics: &'a [Metric],
    /// Of a single run of a simulation.
    pub(crate) results: &'a [SimResult],
    pub(crate) campaign: &'a Campaign,
    pub(crate) location: &'a Location,
    /// A capture was analysed; otherwise there is nothing to say of packets and flows.
    pub(crate) has_flows: bool,
    pub(crate) embedded: u64,
    pub(crate) flows_total: u64,
    pub(crate) options: &'a RenderOptions,
}

pub(crate) fn title(parts: &Parts) -> String {
    format!("unbloat: {}", inputs(parts.info))
}

pub(crate) fn body(parts: &Parts) -> Markup {
    html! {
        main {
            (header(parts))
            @if let Some(found) = parts.verdict { (verdict(found)) }
            @if let Some(found) = parts.tested { (tested::section(found)) }
            (location(parts.location))
            @if parts.has_flows { (time_lines(parts)) }
            (key_numbers(parts.metrics))
            (bounds(parts.info))
            (medians(parts.campaign))
            (figures(parts.has_flows))
            (results(parts.results))
            (hops(parts.location))
            (left_out(&parts.info.left_out))
            (made_by(parts.info))
        }
    }
}

fn figures(has_flows: bool) -> Markup {
    html! {
        section #figures-section {
            h2 { "Figures" }
            p.note {
                @if has_flows {
                    "As numbered in the SIGCOMM 2013 study. Rings mark values that its text gives. "
                }
                "Drag to zoom, double-click to zoom out."
            }
            div #figures {}
            noscript {
                p { "The figures and time lines are drawn by a script in this file; it is switched off here." }
            }
        }
    }
}

fn header(parts: &Parts) -> Markup {
    let info = parts.info;
    html! {
        header {
            h1 { "unbloat" }
            p {
                (inputs(info))
                @if parts.has_flows {
                    ": " (three_digits(info.packets as f64)) " packets, "
                    (three_digits(parts.flows_total as f64)) " flows"
                    @if let Some(start) = info.trace_start { ", from " (second(&start.rfc3339())) }
                }
            }
        }
        (doubts(info))
    }
}

/// "2012-10-12T08:00:00.000000001Z" to the second.
fn second(rfc3339: &str) -> String {
    let date_and_time = rfc3339.split('.').next().unwrap_or(rfc3339);
    format!(
        "{} UTC",
        date_and_time.replace('T', " ").trim_end_matches('Z')
    )
}

fn inputs(info: &RunInfo) -> String {
    match info.inputs.as_slice() {
        [] => format!("a run of {}", info.program),
        [one] => one.name.clone(),
        [first, rest @ ..] => format!("{} and {} more", first.name, rest.len()),
    }
}

fn doubts(info: &RunInfo) -> Markup {
    let mut lines = Vec::new();
    match info.status {
        Status::Complete => {}
        Status::Interrupted => {
            lines.push("The run was stopped before the end of its input.".to_owned())
        }
        Status::Damaged => lines
            .push("The input was cut or corrupt; this is what came before the damage.".to_owned()),
    }
    if info.evicted_flows > 0 {
        lines.push(format!(
            "{} flows were closed early because of the memory limit.",
            three_digits(info.evicted_flows as f64)
        ));
    }
    warnings(lines.iter().map(String::as_str))
}

fn verdict(verdict: &Verdict) -> Markup {
    html! {
        section.verdict.(class(verdict.kind)) {
            h2 { (verdict.sentence) }
            (tiles(&numbers(verdict)))
            dl {
                @for (label, text) in verdict.details() {
                    @if label == "Note" {
                        dt {} dd.note { (text) }
                    } @else {
                        dt { (label) } dd { (text) }
                    }
                }
            }
            (verdict_tables(verdict))
        }
    }
}

fn class(kind: VerdictKind) -> &'static str {
    match kind {
        VerdictKind::Bloated => "bloated",
        VerdictKind::Clean => "clean",
        VerdictKind::Slight
        | VerdictKind::OtherDelay
        | VerdictKind::NotTested
        | VerdictKind::CannotTell => "inconclusive",
    }
}

/// The numbers to see from afar.
fn numbers(verdict: &Verdict) -> Vec<(String, String)> {
    let mut numbers = Vec::new();
    for direction in verdict.by_weight() {
        let name = match direction.direction {
            Direction::Down => "download",
            Direction::Up => "upload",
        };
        let stands = matches!(direction.kind, VerdictKind::Bloated | VerdictKind::Slight);
        if let Some(ms) = direction.standing_p50_ms.filter(|_| stands) {
            numbers.push((human(ms, "ms"), format!("standing delay, {name}")));
        }
        if let Some(bdp) = direction.queue_bdp {
            numbers.push((
                format!("{} BDP", three_digits(bdp)),
                format!("queue, {name}"),
            ));
        }
    }
    if let Some(word) = verdict.confidence_word {
        numbers.push((word.name().to_owned(), "confidence".to_owned()));
    }
    numbers
}

fn verdict_tables(verdict: &Verdict) -> Markup {
    let fillers = |direction: &DirectionVerdict| {
        let rows = direction.fillers.iter().map(|f| {
            vec![
                flow_link(f.flow_id),
                text(f.arrow(direction.direction)),
                text(human(100.0 * f.share, "%")),
            ]
        });
        rows.collect::<Vec<_>>()
    };
    let waiting = |direction: &DirectionVerdict| {
        let rows = direction.waiting.iter().map(|f| {
            vec![
                flow_link(f.flow_id),
                text(&f.client),
                text(&f.server),
                text(human(f.standing_p50_ms, "ms")),
                text(human(f.standing_p95_ms, "ms")),
                text(human(f.standing_s, "s")),
            ]
        });
        rows.collect::<Vec<_>>()
    };
    html! {
        @for direction in verdict.by_weight() {
            @let name = direction.direction.name();
            (folded(
                &format!("Flows that fill the queue, {name}"),
                &["flow", "sender and receiver", "share"],
                &fillers(direction),
                true,
            ))
            (folded(
                &format!("Flows that wait, {name}"),
                &["flow", "client", "server", "p50", "p95", "for"],
                &waiting(direction),
                false,
            ))
        }
    }
}

/// Where the queues of a path stand, in words.
fn location(location: &Location) -> Markup {
    let findings = || {
        location
            .verdicts
            .iter()
            .map(|(finding, _)| finding.as_str())
    };
    let (class, headline) = match findings().next() {
        None => return Markup::default(),
        _ if findings().any(|finding| finding == "queue") => ("bloated", "Load fills a queue"),
        _ if findings().all(|finding| finding == "no queue") => ("clean", "No queue"),
        _ => ("inconclusive", "Inconclusive"),
    };
    html! {
        section.verdict.(class) {
            h2 { (headline) }
            @for (_, sentences) in &location.verdicts {
                p {
                    @for (at, line) in sentences.lines().enumerate() {
                        @if at > 0 { br; }
                        (line)
                    }
                }
            }
        }
    }
}

fn hops(location: &Location) -> Markup {
    open_table("Hops", &HEADS, &location.hops)
}

fn flow_link(id: u64) -> Markup {
    html! { a href={ "#flow=" (id) } { (id) } }
}

fn text(cell: impl Render) -> Markup {
    html! { (cell) }
}

/// A section of one table; nothing without rows.
fn open_table(title: &str, heads: &[&str], rows: &[Vec<String>]) -> Markup {
    let row = |cells: &Vec<String>| cells.iter().map(text).collect();
    let rows: Vec<Vec<Markup>> = rows.iter().map(row).collect();
    html! {
        @if !rows.is_empty() { section { (folded(title, heads, &rows, true)) } }
    }
}

/// A table that opens on demand; nothing without rows.
fn folded(title: &str, heads: &[&str], rows: &[Vec<Markup>], open: bool) -> Markup {
    html! {
        @if !rows.is_empty() {
            details open[open] {
                summary { (title) " (" (rows.len()) ")" }
                div.scroll {
                    table {
                        thead {
                            tr { @for head in heads { th class=[alignment(head)] { (head) } } }
                        }
                        tbody {
                            @for cells in rows {
                                tr {
                                    @for (head, cell) in heads.iter().zip(cells) {
                                        td class=[alignment(head)] { (cell) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The class of a column of words; numbers need none.
fn alignment(head: &str) -> Option<&'static str> {
    let is_text = matches!(
        head,
        "client"
            | "server"
            | "sender and receiver"
            | "subject"
            | "result"
            | "combination"
            | "load"
            | "address"
            | "kind"
    );
    is_text.then_some("text")
}

fn time_lines(parts: &Parts) -> Markup {
    let (embedded, total) = (parts.embedded, parts.flows_total);
    let which = match parts.options.only_flow {
        Some(_) => "the one asked for",
        None if embedded == total => "all of them",
        None => "those the verdict names, those with the largest added delay, and the largest",
    };
    html! {
        section #flows-section {
            h2 { "Time line of a flow" }
            p.note {
                "This file holds " (three_digits(embedded as f64)) " of "
                (three_digits(total as f64)) " flows: " (which) "."
                @if embedded != total {
                    " For any other: "
                    code { "unbloat report " (parts.options.run_name) " --flow ID" }
                    "."
                }
            }
            div #picker {}
            div #timeline {}
        }
    }
}

fn key_numbers(metrics: &[Metric]) -> Markup {
    let compared = metrics.iter().any(|metric| metric.paper.is_some());
    html! {
        @if !metrics.is_empty() {
            section {
                h2 { "Key numbers" }
                p.note {
                    @if compared {
                        "Beside each number, where it is comparable, that of the SIGCOMM 2013 study of an LTE network. "
                    }
                    "Open a name for its definition."
                }
                div.numbers {
                    @for group in metrics.chunk_by(|a, b| a.group == b.group) {
                        (number_group(group, compared))
                    }
                }
            }
        }
    }
}

fn number_group(metrics: &[Metric], compared: bool) -> Markup {
    html! {
        table {
            thead {
                tr {
                    th { @if let Some(first) = metrics.first() { (first.group) } }
                    th { "this run" }
                    @if compared { th { "study" } }
                    th { "samples" }
                }
            }
            tbody {
                @for metric in metrics {
                    tr {
                        td { details { summary { (metric.metric) } p { (metric.doc) } } }
                        td {
                            @if let Some(value) = metric.value {
                                (human(value, &metric.unit))
                            } @else {
                                span.none { "none seen" }
                            }
                        }
                        @if compared {
                            td { @if let Some(paper) = metric.paper { (human(paper, &metric.unit)) } }
                        }
                        td { (three_digits(metric.samples as f64)) }
                    }
                }
            }
        }
    }
}

/// Which bounds of its scenario a simulation kept.
fn bounds(info: &RunInfo) -> Markup {
    let lines = info.options.get("score").and_then(|list| list.as_array());
    let lines: Vec<&str> = lines
        .into_iter()
        .flatten()
        .filter_map(|line| line.as_str())
        .collect();
    html! {
        @if !lines.is_empty() { section { h2 { "Bounds" } (list(None, lines)) } }
    }
}

fn results(results: &[SimResult]) -> Markup {
    let rows = results.iter().map(|result| {
        let mean = match result.metric.rsplit_once('_') {
            Some((_, "ms")) => human(result.mean, "ms"),
            Some((_, "bps")) => human(result.mean, "bit/s"),
            Some((_, "bytes")) => human(result.mean, "B"),
            _ => three_digits(result.mean),
        };
        vec![result.subject.clone(), result.metric.clone(), mean]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    open_table("Results", &["subject", "result", "value"], &rows)
}

/// A campaign's first table: what it was made for.
fn medians(campaign: &Campaign) -> Markup {
    let heads: Vec<&str> = campaign.heads.iter().map(String::as_str).collect();
    open_table(
        "Medians over repeats, and what they lie between",
        &heads,
        &campaign.lines,
    )
}

fn left_out(sentences: &[String]) -> Markup {
    html! {
        @if !sentences.is_empty() {
            section { h2 { "Left out" } (list(None, sentences.iter().map(String::as_str))) }
        }
    }
}

fn made_by(info: &RunInfo) -> Markup {
    let clock = match info.clock {
        Clock::Capture => "of the capture",
        Clock::Virtual => "virtual",
        Clock::Real => "of this machine",
    };
    let mut facts = vec![
        ("program", format!("{} {}", info.program, info.version)),
        ("command", info.command.join(" ")),
        ("clock", clock.to_owned()),
        ("kernel", info.kernel.clone().unwrap_or_default()),
        ("seed", info.seed.map(|s| s.to_string()).unwrap_or_default()),
    ];
    facts.extend(
        info.inputs
            .iter()
            .take(20)
            .map(|i| ("input", i.name.clone())),
    );
    let skipped = info.skipped.iter().filter(|(_, n)| **n > 0);
    facts.extend(
        skipped.map(|(why, n)| ("skipped packets", format!("{n} {}", why.replace('_', " ")))),
    );
    facts.extend(
        info.options
            .iter()
            .map(|(name, value)| ("option", format!("{name} = {value}"))),
    );
    facts.retain(|(_, value)| !value.is_empty());
    html! {
        section {
            details {
                summary { "What made this report" }
                table.facts {
                    @for (name, value) in &facts { tr { th { (name) } td { (value) } } }
                }
            }
        }
    }
}
