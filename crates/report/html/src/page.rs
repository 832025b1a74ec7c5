//! The parts of the page that need no script: verdict, key numbers, what made the run.

use crate::RenderOptions;
use crate::campaign::Campaign;
use crate::html::{SCRIPTLESS, ZOOM, list, tiles, warnings};
use crate::location::{HEADS, Location};
use crate::numbers::{human, three_digits};
use crate::outcome::{self, Outcome};
use crate::tested;
use maud::{Markup, Render, html};
use unbloat_run::{Clock, RunInfo, Status};
use unbloat_summary::{DirectionVerdict, Metric, Place, Verdict, VerdictKind};
use unbloat_units::{Direction, Rate};

pub(crate) struct Parts<'a> {
    pub(crate) info: &'a RunInfo,
    pub(crate) verdict: Option<&'a Verdict>,
    /// Of a test.
    pub(crate) tested: Option<&'a unbloat_responsiveness::Verdict>,
    pub(crate) stages: &'a [tested::Stage],
    pub(crate) metrics: &'a [Metric],
    /// Of a simulation, an experiment or a campaign.
    pub(crate) outcome: &'a Outcome,
    pub(crate) campaign: &'a Campaign,
    pub(crate) location: &'a Location,
    /// A capture was analysed; otherwise there is nothing to say of packets and flows.
    pub(crate) has_flows: bool,
    pub(crate) embedded: u64,
    pub(crate) flows_total: u64,
    pub(crate) options: &'a RenderOptions,
}

pub(crate) fn title(parts: &Parts) -> String {
    if let Some(test) = test_of(parts) {
        return format!("unbloat: {test}");
    }
    let shown = inputs(parts.info);
    // Titles go into saved pictures: the folder is nobody's business there.
    let name = match parts.info.inputs.as_slice() {
        [one] => one.name.rsplit('/').next().unwrap_or(&shown),
        _ => &shown,
    };
    format!("unbloat: {name}")
}

/// The verdict as a card, what it rests on, what makes it up, and how it was made.
pub(crate) fn body(parts: &Parts) -> Markup {
    html! {
        main {
            (header(parts))
            @if let Some(found) = parts.verdict { (verdict(found)) }
            @if let Some(found) = parts.tested { (tested::section(found)) }
            (location(parts.location))
            (outcome::card(parts.outcome))
            (bounds(parts.info))
            @if parts.has_flows {
                (figures("The link", "Round trips above the smallest between the same hosts, and what the flows of this report delivered. Shaded: a queue stands. "))
                (evidence(parts))
                (study(parts.metrics))
            } @else {
                (outcome::tables(parts.outcome))
                (medians(parts.campaign))
                (figures("Charts", ""))
                (tested::table(parts.stages, parts.tested))
                (hops(parts.location))
                @if !parts.metrics.is_empty() { section { h2 { "Key numbers" } (key_numbers(parts.metrics)) } }
            }
            (left_out(parts))
            (made_by(parts.info))
        }
    }
}

fn figures(title: &str, note: &str) -> Markup {
    html! {
        section #figures-section {
            h2 { (title) }
            p.note { (note) (ZOOM) }
            div #figures {}
            noscript { p { (SCRIPTLESS) } }
        }
    }
}

/// What compares this capture with a study, for those who want it.
fn study(metrics: &[Metric]) -> Markup {
    html! {
        section {
            details #study {
                summary { h2 { "Statistics, beside Huang et al. (SIGCOMM 2013)" } }
                p.note { "The study is of an LTE network. Open a name for its definition. Groups without any value are left out." }
                (key_numbers(metrics))
                h3 { "Figures of the study, for this capture" }
                p.note { "Rings mark values that the text of the study gives. " (ZOOM) }
                div #study-figures .figures {}
                noscript { p { (SCRIPTLESS) } }
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
                (test_of(parts).unwrap_or_else(|| inputs(info)))
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

/// What was tested, from where, when, and over which line; none of other runs.
fn test_of(parts: &Parts) -> Option<String> {
    let option = |name| parts.info.options.get(name)?.as_str();
    let target = option("target")?.trim_start_matches("https://");
    let mut said = format!("test of {}", target.trim_end_matches("/.well-known/nq"));
    if let Some(host) = option("host") {
        said += &format!(" from {host}");
    }
    if let Some(start) = parts.info.trace_start {
        said += &format!(", {}", second(&start.rfc3339()));
    }
    let tested = parts.tested.filter(|verdict| verdict.grade.is_some());
    let lines = tested.iter().flat_map(|verdict| &verdict.directions);
    let lines = lines.map(|load| format!("{} {}", load.line, load.direction.name()));
    let lines: Vec<String> = lines.collect();
    if !lines.is_empty() {
        said += &format!(", line of {}", lines.join(", "));
    }
    Some(said)
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
        section.card.verdict.(class(verdict.kind)) {
            h2 { (verdict.sentence) }
            (tiles(&numbers(verdict)))
            dl {
                @for (label, text) in verdict.details() {
                    // The answer is above.
                    @if label == "Note" {
                        dt { "Note" } dd.note { (text) }
                    } @else if text != verdict.sentence {
                        dt { (label) } dd { (text) }
                    }
                }
                dt { "What to do" } dd { (advice(verdict)) }
            }
        }
    }
}

/// The next step, by what was found in the direction that decides.
fn advice(verdict: &Verdict) -> String {
    let [main, _] = verdict.by_weight();
    let transfers = match main.direction {
        Direction::Down => "downloads",
        Direction::Up => "uploads",
    };
    match main.kind {
        VerdictKind::Bloated | VerdictKind::Slight if main.place == Some(Place::SendingHost) => {
            "The queue is in the device on which you captured, above its interface: use fq_codel or fq there. unbloat watch shows which layer holds the packets.".to_owned()
        }
        VerdictKind::Bloated | VerdictKind::Slight => {
            let rate = main.rate_bps.map(|bps| {
                let rate = Rate::from_bps_f64(0.95 * bps);
                format!(" to {rate}, a little below the rate of the link,")
            });
            format!(
                "Shape {transfers}{} with CAKE or fq_codel in front of the slow link, on the router or with unbloat fix. Then capture again under the same load.",
                rate.unwrap_or_default()
            )
        }
        VerdictKind::Clean => "Nothing, for this load.".to_owned(),
        VerdictKind::OtherDelay => {
            "No shaper removes this delay. Look for its cause at the host or link named above.".to_owned()
        }
        VerdictKind::NotTested => {
            "Capture again while the path is loaded: a large download, then a large upload, ten seconds each.".to_owned()
        }
        VerdictKind::CannotTell => {
            "Capture again: begin before the load, load for ten seconds or more, at the host that sends or with TCP timestamps enabled.".to_owned()
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
                &format!("Flows that fill the queue, {name}load"),
                &["flow", "sender and receiver", "share"],
                fillers(direction),
                true,
            ))
            (folded(
                &format!("Flows that wait, {name}load"),
                &["flow", "client", "server", "p50", "p95", "for"],
                waiting(direction),
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
        section.card.verdict.(class) {
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
        @if !rows.is_empty() { section { (folded(title, heads, rows, true)) } }
    }
}

/// A table that opens on demand; nothing without rows. A column that is the same in all of several rows is said once, above.
fn folded(title: &str, heads: &[&str], rows: Vec<Vec<Markup>>, open: bool) -> Markup {
    let Some((first, others)) = rows.split_first() else {
        return Markup::default();
    };
    let is_constant = |at: usize| {
        let same = |row: &Vec<Markup>| {
            row.get(at).map(|cell| &cell.0) == first.get(at).map(|cell| &cell.0)
        };
        !others.is_empty() && at > 0 && others.iter().all(same)
    };
    let (constant, varied): (Vec<usize>, Vec<usize>) =
        (0..heads.len().min(first.len())).partition(|at| is_constant(*at));
    let said = constant
        .iter()
        .filter(|at| !matches!(first[**at].0.as_str(), "" | "–"));
    let said: Vec<_> = said.map(|at| (heads[*at], &first[*at])).collect();
    html! {
        details open[open] {
            summary { (title) " (" (rows.len()) ")" }
            @if !said.is_empty() {
                p.note {
                    "The same in all rows: "
                    @for (number, (head, cell)) in said.iter().enumerate() {
                        @if number > 0 { ", " }
                        (head) " " (cell)
                    }
                    "."
                }
            }
            div.scroll tabindex="0" role="region" aria-label=(title) {
                table {
                    thead {
                        tr { @for at in &varied { th scope="col" class=[alignment(heads[*at])] { (heads[*at]) } } }
                    }
                    tbody {
                        @for cells in &rows {
                            tr {
                                @for at in &varied {
                                    td class=[alignment(heads[*at])] { (cells[*at]) }
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

/// The flows behind the verdict and their time lines.
fn evidence(parts: &Parts) -> Markup {
    let (embedded, total) = (parts.embedded, parts.flows_total);
    let which = match parts.options.only_flow {
        Some(_) => "the one asked for",
        None => "those the verdict names, those with the largest added delay, and the largest",
    };
    html! {
        section #flows-section {
            h2 { "Evidence: flows" }
            @if let Some(found) = parts.verdict { (verdict_tables(found)) }
            @if embedded > 0 {
                p.note {
                    @if embedded == total && parts.options.only_flow.is_none() {
                        "All " (three_digits(total as f64)) " flows are included."
                    } @else {
                        (three_digits(embedded as f64)) " of " (three_digits(total as f64)) " flows are included: "
                        (which) ". For any other: "
                        code { "unbloat report " (parts.options.run_name) " --flow ID" }
                        "."
                    }
                    @if let Some(bin) = bin(parts.info) {
                        " Round trips and bytes in flight are in bins of " (bin) "; "
                        code { "unbloat analyze --bin '0 ms'" }
                        " keeps every sample."
                    }
                    @if parts.info.options.get("tables").is_some_and(|kept| kept == "usual") {
                        " Short flows that are not included here have no such bins; "
                        code { "unbloat analyze --tables all" }
                        " keeps those too."
                    }
                    " " (ZOOM)
                }
                div #picker {}
                div #timeline {}
                noscript { p { (SCRIPTLESS) } }
            } @else {
                p.note { "The capture has no flows." }
            }
        }
    }
}

/// What the samples of time lines were thinned to.
fn bin(info: &RunInfo) -> Option<&str> {
    let bin = info.options.get("bin")?.as_str()?;
    (bin != "0 s").then_some(bin)
}

/// All groups in which something was seen.
fn key_numbers(metrics: &[Metric]) -> Markup {
    let compared = metrics.iter().any(|metric| metric.paper.is_some());
    let groups = metrics.chunk_by(|a, b| a.group == b.group);
    html! {
        div.numbers {
            @for group in groups.filter(|group| group.iter().any(is_seen)) {
                (number_group(group, compared))
            }
        }
    }
}

fn is_seen(metric: &Metric) -> bool {
    metric.value.is_some() && metric.samples > 0
}

fn number_group(metrics: &[Metric], compared: bool) -> Markup {
    html! {
        table {
            thead {
                tr {
                    th scope="col" { @if let Some(first) = metrics.first() { (first.group) } }
                    th scope="col" { "this run" }
                    @if compared { th scope="col" { "study" } }
                    th scope="col" { "samples" }
                }
            }
            tbody {
                @for metric in metrics.iter().filter(|metric| metric.value.is_some()) {
                    tr {
                        td { details { summary { (metric.metric) } p { (metric.doc) } } }
                        td { @if let Some(value) = metric.value { (human(value, &metric.unit)) } }
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

/// A campaign's first table: what it was made for.
fn medians(campaign: &Campaign) -> Markup {
    let heads: Vec<&str> = campaign.heads.iter().map(String::as_str).collect();
    open_table(
        "Medians over repeats, with the range of the repeats",
        &heads,
        &campaign.lines,
    )
}

/// What the run could not tell (captures), or its warnings (tests and experiments).
fn left_out(parts: &Parts) -> Markup {
    let sentences = &parts.info.left_out;
    let title = match parts.has_flows {
        true => "Not in this report",
        false => "Notes",
    };
    html! {
        @if !sentences.is_empty() {
            section { h2 { (title) } (list(None, sentences.iter().map(String::as_str))) }
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
    // Whole findings are no options; the page has them above.
    let options = info.options.iter().filter(|(_, value)| !value.is_object());
    facts.extend(options.map(|(name, value)| ("option", format!("{name} = {value}"))));
    facts.retain(|(_, value)| !value.is_empty());
    html! {
        section {
            details {
                summary { "What made this report" }
                table.facts {
                    @for (name, value) in &facts { tr { th scope="row" { (name) } td { (value) } } }
                }
            }
        }
    }
}
