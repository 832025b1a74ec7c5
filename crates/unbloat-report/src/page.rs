//! The parts of the page that need no script: verdict, key numbers, what made the run.

use crate::RenderOptions;
use crate::campaign::Campaign;
use crate::html::escape;
use crate::location::{HEADS, Location};
use crate::numbers::{human, three_digits};
use crate::sim::SimResult;
use crate::tested;
use unbloat_run::{Clock, RunInfo, Status};
use unbloat_summary::{Direction, Metric, Verdict, VerdictKind};

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
    escape(&format!("unbloat: {}", inputs(parts.info)))
}

pub(crate) fn body(parts: &Parts) -> String {
    let sections = [
        header(parts),
        parts.verdict.map(verdict).unwrap_or_default(),
        parts.tested.map(tested::section).unwrap_or_default(),
        location(parts.location),
        time_lines(parts),
        key_numbers(parts.metrics),
        bounds(parts.info),
        medians(parts.campaign),
        figures(parts.has_flows),
        results(parts.results),
        hops(parts.location),
        left_out(&parts.info.left_out),
        made_by(parts.info),
    ];
    format!("<main>\n{}</main>\n", sections.concat())
}

fn figures(has_flows: bool) -> String {
    let study = match has_flows {
        true => "As numbered in the SIGCOMM 2013 study. Rings mark values that its text gives. ",
        false => "",
    };
    format!(
        "<section id=\"figures-section\">\n<h2>Figures</h2>\n\
         <p class=\"note\">{study}Drag to zoom, double-click to zoom out.</p>\n<div id=\"figures\"></div>\n\
         <noscript><p>The figures and time lines are drawn by a script in this file; it is switched off here.</p></noscript>\n</section>\n"
    )
}

fn header(parts: &Parts) -> String {
    let info = parts.info;
    if !parts.has_flows {
        let made_of = escape(&inputs(info));
        let warnings = warnings(info);
        return format!("<header><h1>unbloat</h1><p>{made_of}</p></header>\n{warnings}");
    }
    let start = info.trace_start.map(|t| t.rfc3339());
    let start = start.map_or(String::new(), |t| format!(", from {}", second(&t)));
    format!(
        "<header><h1>unbloat</h1><p>{}: {} packets, {} flows{}</p></header>\n{}",
        escape(&inputs(info)),
        three_digits(info.packets as f64),
        three_digits(parts.flows_total as f64),
        escape(&start),
        warnings(info)
    )
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

fn warnings(info: &RunInfo) -> String {
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
    let items: Vec<String> = lines
        .iter()
        .map(|l| format!("<li>{}</li>", escape(l)))
        .collect();
    match items.is_empty() {
        true => String::new(),
        false => format!("<ul class=\"warnings\">{}</ul>\n", items.concat()),
    }
}

fn verdict(verdict: &Verdict) -> String {
    let details = verdict.details();
    let details = details.iter().map(|(label, text)| match *label {
        "Note" => format!("<dt></dt><dd class=\"note\">{}</dd>", escape(text)),
        label => format!("<dt>{}</dt><dd>{}</dd>", escape(label), escape(text)),
    });
    format!(
        "<section class=\"verdict {}\">\n<h2>{}</h2>\n{}<dl>{}</dl>\n{}</section>\n",
        class(verdict.kind),
        escape(&verdict.sentence),
        tiles(verdict),
        details.collect::<String>(),
        verdict_tables(verdict)
    )
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
fn tiles(verdict: &Verdict) -> String {
    let mut tiles = Vec::new();
    for direction in verdict.by_weight() {
        let name = match direction.direction {
            Direction::Down => "download",
            Direction::Up => "upload",
        };
        let stands = matches!(direction.kind, VerdictKind::Bloated | VerdictKind::Slight);
        if let Some(ms) = direction.standing_p50_ms.filter(|_| stands) {
            tiles.push((human(ms, "ms"), format!("standing delay, {name}")));
        }
        if let Some(bdp) = direction.queue_bdp {
            tiles.push((
                format!("{} BDP", three_digits(bdp)),
                format!("queue, {name}"),
            ));
        }
    }
    if let Some(word) = verdict.confidence_word {
        tiles.push((word.name().to_owned(), "confidence".to_owned()));
    }
    let tiles = tiles.iter().map(|(number, label)| {
        format!(
            "<div><b>{}</b><span>{}</span></div>",
            escape(number),
            escape(label)
        )
    });
    format!("<div class=\"tiles\">{}</div>\n", tiles.collect::<String>())
}

fn verdict_tables(verdict: &Verdict) -> String {
    let tables = verdict.by_weight().map(|direction| {
        let fillers = direction.fillers.iter().map(|f| {
            vec![
                flow_link(f.flow_id),
                escape(&f.arrow(direction.direction)),
                human(100.0 * f.share, "%"),
            ]
        });
        let waiting = direction.waiting.iter().map(|f| {
            vec![
                flow_link(f.flow_id),
                escape(&f.client),
                escape(&f.server),
                human(f.standing_p50_ms, "ms"),
                human(f.standing_p95_ms, "ms"),
                human(f.standing_s, "s"),
            ]
        });
        let name = direction.direction.name();
        [
            folded(
                &format!("Flows that fill the queue, {name}"),
                "flow,sender and receiver,share",
                fillers.collect(),
                true,
            ),
            folded(
                &format!("Flows that wait, {name}"),
                "flow,client,server,p50,p95,for",
                waiting.collect(),
                false,
            ),
        ]
        .concat()
    });
    tables.concat()
}

/// Where the queues of a path stand, in words.
fn location(location: &Location) -> String {
    let findings = || {
        location
            .verdicts
            .iter()
            .map(|(finding, _)| finding.as_str())
    };
    let (class, headline) = match findings().next() {
        None => return String::new(),
        _ if findings().any(|finding| finding == "queue") => ("bloated", "Load fills a queue"),
        _ if findings().all(|finding| finding == "no queue") => ("clean", "No queue"),
        _ => ("inconclusive", "Inconclusive"),
    };
    let sentences = location.verdicts.iter().map(|(_, text)| {
        let lines: Vec<String> = text.lines().map(escape).collect();
        format!("<p>{}</p>\n", lines.join("<br>"))
    });
    format!(
        "<section class=\"verdict {class}\">\n<h2>{headline}</h2>\n{}</section>\n",
        sentences.collect::<String>()
    )
}

fn hops(location: &Location) -> String {
    let escaped = |line: &Vec<String>| line.iter().map(|cell| escape(cell)).collect();
    let rows = location.hops.iter().map(escaped).collect();
    match folded("Hops", HEADS, rows, true) {
        table if table.is_empty() => table,
        table => format!("<section>{table}</section>\n"),
    }
}

fn flow_link(id: u64) -> String {
    format!("<a href=\"#flow={id}\">{id}</a>")
}

/// A table that opens on demand; cells are HTML already.
fn folded(title: &str, heads: &str, rows: Vec<Vec<String>>, open: bool) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let heads: Vec<&str> = heads.split(',').collect();
    let class = |i: usize| match heads[i] {
        "client"
        | "server"
        | "sender and receiver"
        | "subject"
        | "result"
        | "combination"
        | "load"
        | "address"
        | "kind" => " class=\"text\"",
        _ => "",
    };
    let head_cells = heads.iter().enumerate();
    let head_cells = head_cells.map(|(i, h)| format!("<th{}>{}</th>", class(i), escape(h)));
    let head_cells: String = head_cells.collect();
    let row = |cells: &Vec<String>| {
        let cells = cells.iter().enumerate();
        let cells = cells.map(|(i, c)| format!("<td{}>{c}</td>", class(i)));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let body: String = rows.iter().map(row).collect();
    let open = if open { " open" } else { "" };
    format!(
        "<details{open}><summary>{} ({})</summary><div class=\"scroll\"><table><thead><tr>{head_cells}</tr></thead><tbody>\n{body}</tbody></table></div></details>\n",
        escape(title),
        rows.len()
    )
}

fn time_lines(parts: &Parts) -> String {
    if !parts.has_flows {
        return String::new();
    }
    let (embedded, total) = (parts.embedded, parts.flows_total);
    let which = match parts.options.only_flow {
        Some(_) => "the one asked for",
        None if embedded == total => "all of them",
        None => "those the verdict names, those with the largest added delay, and the largest",
    };
    let more = match embedded == total {
        true => String::new(),
        false => format!(
            " For any other: <code>unbloat report {} --flow ID</code>.",
            escape(&parts.options.run_name)
        ),
    };
    format!(
        "<section id=\"flows-section\">\n<h2>Time line of a flow</h2>\n\
         <p class=\"note\">This file holds {} of {} flows: {which}.{more}</p>\n\
         <div id=\"picker\"></div>\n<div id=\"timeline\"></div>\n</section>\n",
        three_digits(embedded as f64),
        three_digits(total as f64)
    )
}

fn key_numbers(metrics: &[Metric]) -> String {
    let compared = metrics.iter().any(|metric| metric.paper.is_some());
    let groups = metrics
        .chunk_by(|a, b| a.group == b.group)
        .map(|group| number_group(group, compared));
    let groups: String = groups.collect();
    let study = match compared {
        true => {
            "Beside each number, where it is comparable, that of the SIGCOMM 2013 study of an LTE network. "
        }
        false => "",
    };
    match groups.is_empty() {
        true => String::new(),
        false => format!(
            "<section>\n<h2>Key numbers</h2>\n<p class=\"note\">{study}Open a name for its definition.</p>\n\
             <div class=\"numbers\">\n{groups}</div>\n</section>\n"
        ),
    }
}

fn number_group(metrics: &[Metric], compared: bool) -> String {
    let study = |cell: String| if compared { cell } else { String::new() };
    let rows = metrics.iter().map(|metric| {
        let number = |x: Option<f64>| x.map(|x| escape(&human(x, &metric.unit)));
        let unseen = || "<span class=\"none\">none seen</span>".to_owned();
        format!(
            "<tr><td><details><summary>{}</summary><p>{}</p></details></td><td>{}</td>{}<td>{}</td></tr>\n",
            escape(&metric.metric),
            escape(&metric.doc),
            number(metric.value).unwrap_or_else(unseen),
            study(format!("<td>{}</td>", number(metric.paper).unwrap_or_default())),
            three_digits(metric.samples as f64),
        )
    });
    let rows: String = rows.collect();
    let name = metrics
        .first()
        .map(|m| escape(&m.group))
        .unwrap_or_default();
    format!(
        "<table><thead><tr><th>{name}</th><th>this run</th>{}<th>samples</th></tr></thead><tbody>\n{rows}</tbody></table>\n",
        study("<th>study</th>".to_owned())
    )
}

/// Which bounds of its scenario a simulation kept.
fn bounds(info: &RunInfo) -> String {
    let lines = info.options.get("score").and_then(|list| list.as_array());
    let items: String = lines
        .into_iter()
        .flatten()
        .filter_map(|line| line.as_str())
        .map(|line| format!("<li>{}</li>", escape(line)))
        .collect();
    match items.is_empty() {
        true => String::new(),
        false => format!("<section><h2>Bounds</h2><ul>{items}</ul></section>\n"),
    }
}

fn results(results: &[SimResult]) -> String {
    let rows = results.iter().map(|result| {
        let mean = match result.metric.rsplit_once('_') {
            Some((_, "ms")) => human(result.mean, "ms"),
            Some((_, "bps")) => human(result.mean, "bit/s"),
            Some((_, "bytes")) => human(result.mean, "B"),
            _ => three_digits(result.mean),
        };
        [&result.subject, &result.metric, &mean]
            .map(|cell| escape(cell))
            .to_vec()
    });
    match folded("Results", "subject,result,value", rows.collect(), true) {
        table if table.is_empty() => table,
        table => format!("<section>{table}</section>\n"),
    }
}

/// A campaign's first table: what it was made for.
fn medians(campaign: &Campaign) -> String {
    let heads = campaign.heads.join(",");
    let escaped = |line: &Vec<String>| line.iter().map(|cell| escape(cell)).collect();
    let rows: Vec<Vec<String>> = campaign.lines.iter().map(escaped).collect();
    match folded(
        "Medians over repeats, and what they lie between",
        &heads,
        rows,
        true,
    ) {
        table if table.is_empty() => table,
        table => format!("<section>{table}</section>\n"),
    }
}

fn left_out(sentences: &[String]) -> String {
    let items: String = sentences
        .iter()
        .map(|s| format!("<li>{}</li>", escape(s)))
        .collect();
    match sentences.is_empty() {
        true => String::new(),
        false => format!("<section><h2>Left out</h2><ul>{items}</ul></section>\n"),
    }
}

fn made_by(info: &RunInfo) -> String {
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
    let rows = facts.iter().filter(|(_, value)| !value.is_empty());
    let rows =
        rows.map(|(name, value)| format!("<tr><th>{name}</th><td>{}</td></tr>\n", escape(value)));
    format!(
        "<section><details><summary>What made this report</summary><table class=\"facts\">{}</table></details></section>\n",
        rows.collect::<String>()
    )
}
