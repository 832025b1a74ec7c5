//! `docs/lte-chain.md`.

use super::bulk::{Estimator, SPREADS, Ticks, Utilisation};
use super::cost::Cost;
use super::vary::{COLUMNS, Variation};
use super::{Plan, Scored};
use unbloat_lte_trace::Params;
use unbloat_lte_trace::score::{Bound, Check, Row, Source, checks_over_seeds, over_seeds, range};

pub(super) struct Made<'a> {
    pub plan: Plan,
    pub command: &'a str,
    pub params: &'a Params,
    pub traces: &'a [Scored],
    pub cost: Cost,
    pub variations: &'a [Variation],
    pub estimator: &'a [Estimator],
    pub utilisation: &'a [Utilisation],
    pub ticks: &'a [Ticks],
}

/// Why statistics that follow differ from the published ones, by beginnings of group and name.
const BECAUSE: &[(&str, &str, &str)] = &[
    (
        "Traffic",
        "HTTPS",
        "size and port are drawn independently except at the top 5 % of flows",
    ),
    ("Flow rate", "", "size and duration are drawn independently"),
    (
        "Concurrency",
        "",
        "users open their flows less in bursts than browsers do",
    ),
    (
        "Bytes in flight",
        "",
        "decided by the receive window of phones: see the last table",
    ),
    (
        "Retransmission",
        "",
        "one copy is 10 % of the packets of a flow of median size: the published numbers fit flows of a thousand packets, not all flows",
    ),
    (
        "Duplicate ACKs",
        "",
        "decided by losses before the monitor, which the study could not see: see the last table",
    ),
    (
        "Undesired slow start",
        "of all",
        "decided by the same losses",
    ),
    (
        "Undesired slow start",
        "timeouts",
        "counts all timeouts of large flows; the study's 95 % are of undesired slow starts",
    ),
    (
        "Table 1",
        "",
        "few flows qualify: large, without a second of silence, not through the proxy",
    ),
    (
        "Bandwidth utilisation",
        "",
        "decided by pauses within flows and by variation of the rates: see the last table",
    ),
    (
        "Receive window",
        "",
        "only 4 % of flows carry more than the published first window of 131,712 B: 52.6 % cannot be of all downlink flows",
    ),
];

pub(super) fn document(made: &Made<'_>) -> String {
    let Plan { users, seeds, .. } = made.plan;
    let packets: u64 = made.traces.iter().map(|trace| trace.packets).sum();
    let flows: usize = made.traces.iter().map(|trace| trace.flows).sum();
    let mut text = format!(
        "# The LTE study's statistics, from a synthetic trace\n\n\
        Huang et al. (SIGCOMM 2013) analysed ten days of packets between base stations and core of an LTE network. Their trace is not public. \
        unbloat generates one: {users} simulated users whose flows follow the study's published distributions, over the simulator's LTE radio and TCP, \
        captured in GTP-U between radio and core. `unbloat analyze` reads it, and its numbers are compared with the study and with the truth.\n\n\
        `{}` writes this page. Do not edit it.\n\n\
        Statistics that the generator was **given** only check the analyzer. Statistics that **followed** come from the simulated mechanisms and the assumptions below. \
        No assumption was tuned to reach a published number.\n\n",
        made.command
    );
    text += &format!(
        "{seeds} traces (seeds 1 to {seeds}) of {users} users: {:.1} million packets and {flows} TCP flows, generated and analyzed in {:.0} CPU-seconds \
        ({:.1} microseconds a packet) with {:.0} MB of memory at most.\n\n",
        packets as f64 / 1e6,
        made.cost.cpu_s,
        1e6 * made.cost.cpu_s / packets.max(1) as f64,
        made.cost.peak_mb,
    );
    let rows = over_seeds(
        &made
            .traces
            .iter()
            .map(|t| t.statistics.clone())
            .collect::<Vec<_>>(),
    );
    text += "## Followed from mechanisms\n\n\
        A number agrees if the mean of ours is within 20 % of the published one, or that is between the smallest and largest of all seeds. `truth` is the same number as the simulated hosts and the radio know it.\n\n";
    text += &statistics(
        rows.iter().filter(|row| row.source == Source::Followed),
        true,
    );
    text += "## Given to the generator\n\n\
        Returned: the analysis is within 1 % of what was drawn, or near the published number by the rule above. Sums over flows vary between traces because a few flows carry most bytes.\n\n";
    text += &statistics(rows.iter().filter(|row| row.source == Source::Given), false);
    text += "Not modelled: UDP other than DNS (TCP is 97.2 % of bytes in the study).\n\n";
    text += "## The analysis against the truth\n\n";
    text += &checks(made.traces);
    text += "Timeouts: after needless retransmissions a RACK sender (RFC 8985) waits up to a smoothed round trip before it repeats a lost retransmission. \
        On a bloated path that wait exceeds 180 ms, and the analysis counts it as a timeout. \
        Rss is the study's heuristic: few flows that it names had an undesired slow start, and it misses most that had one. \
        G: the study says that its error is below 0.1 % for the vast majority of large flows; the bound here is on 95 % of them.\n\n";
    text += "## Bandwidth estimation (section 6.2, Fig. 19)\n\n\
        10 downloads of a minute. As in the study: sliding windows, each with the estimate nearest to its centre, against the throughput of the client in that window; mean error in %. \
        The study's error is 7.9 % in windows of 1.0 s. `radio`: the same estimates against what the radio could carry.\n\n";
    text += &estimator(made.estimator);
    text += "The study does not publish how much its rates vary, which decides these errors: an estimate covers a few round trips, and the window a second. \
        The estimates against the radio in their own windows are in the table above.\n\n\
        ## Utilization against the round trip (section 6.3)\n\n\
        10 downloads of a minute; the rate changes every 500 ms in the mean. Throughput over what the radio could carry, in %, by the spread of the rates. \
        The study: above 95 % at small round trips, below 50 % above 400 ms, less with more variation; it does not publish the buffer of its scheduler. Here the buffer holds 1.5 MB, more than the product of rate and round trip.\n\n";
    text += &utilisation(made.utilisation);
    text += "## Error of G against delta_G (Fig. 18)\n\n\
        Downloads a little longer than delta_G, clocks of 1 ms. The study: below 0.1 % at 3 s.\n\n";
    text += &ticks(made.ticks);
    text += "## Assumptions\n\n\
        What the study does not publish.\n\n";
    let stated = made.params.stated();
    let stated = stated.iter().map(|one| {
        vec![
            one.name.to_owned(),
            one.value.clone(),
            one.reason.to_owned(),
        ]
    });
    text += &table(&["parameter", "value", "reason"], stated.collect());
    text += "Also: users do not share cells; sizes, durations, ports and round trips are independent of each other, except that the top 5 % by size use HTTP more often; \
        servers run CUBIC of Linux 3.1 with an initial window of ten segments, SACK always, and find losses by RACK, where those of 2012 counted SACKed segments.\n\n\
        ## What the assumptions do\n\n\
        One assumption changed at a time, seed 1. The first row is the study.\n\n";
    text += &variations(made.variations);
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn statistics<'r>(rows: impl Iterator<Item = &'r Row>, with_reason: bool) -> String {
    let mut headings = vec![
        "figure or section",
        "statistic",
        "published",
        "ours",
        "range",
        "truth",
        "n",
        "verdict",
    ];
    if with_reason {
        headings.push("because");
    }
    let lines = rows.map(|row| {
        let truth = mean(&row.truth);
        let verdict = row.verdict().name();
        let mut line = vec![
            row.group.clone(),
            row.name.clone(),
            with_unit(row.published, &row.unit),
            with_unit(row.mean(), &row.unit),
            row.range().map_or(String::new(), |(a, b)| {
                format!("{} to {}", short(a), short(b))
            }),
            truth.map_or(String::new(), short),
            row.samples.to_string(),
            verdict.to_owned(),
        ];
        if with_reason {
            let reason = BECAUSE.iter().find(|(group, name, _)| {
                row.group.starts_with(group) && row.name.starts_with(name)
            });
            let reason = reason.filter(|_| verdict == "differs");
            line.push(reason.map_or(String::new(), |(_, _, because)| (*because).to_owned()));
        }
        line
    });
    table(&headings, lines.collect())
}

fn checks(traces: &[Scored]) -> String {
    let all: Vec<Vec<Check>> = traces.iter().map(|trace| trace.checks.clone()).collect();
    let lines = checks_over_seeds(&all).into_iter().map(|(check, values)| {
        let is_hit = all
            .iter()
            .flatten()
            .filter(|one| one.name == check.name)
            .all(|one| one.is_hit() != Some(false));
        let (bound, reason) = match check.bound {
            Some(Bound::AtMost(most, reason)) => {
                (format!("<= {}", with_unit(Some(most), check.unit)), reason)
            }
            Some(Bound::AtLeast(least, reason)) => {
                (format!(">= {}", with_unit(Some(least), check.unit)), reason)
            }
            None => (String::new(), ""),
        };
        let verdict = match (bound.is_empty(), is_hit) {
            (true, _) => "",
            (false, true) => "hit",
            (false, false) => "MISS",
        };
        vec![
            check.group.to_owned(),
            check.name.to_owned(),
            with_unit(mean(&values), check.unit),
            range(&values).map_or(String::new(), |(a, b)| {
                format!("{} to {}", short(a), short(b))
            }),
            check.samples.to_string(),
            bound,
            verdict.to_owned(),
            reason.to_owned(),
        ]
    });
    let headings = [
        "figure or section",
        "quantity",
        "mean over seeds",
        "range",
        "n",
        "bound",
        "",
        "reason",
    ];
    table(&headings, lines.collect())
}

fn estimator(list: &[Estimator]) -> String {
    let lines = list.iter().map(|one| {
        let errors = one
            .errors
            .iter()
            .map(|error| error.map_or(String::new(), short));
        [one.name.to_owned()].into_iter().chain(errors).collect()
    });
    table(
        &[
            "rates",
            "1.0 s, client",
            "1.0 s, radio",
            "0.1 s, client",
            "0.1 s, radio",
        ],
        lines.collect(),
    )
}

fn utilisation(list: &[Utilisation]) -> String {
    let spreads = SPREADS.map(|spread| format!("spread {spread}"));
    let headings: Vec<&str> = ["round trip behind the monitor"]
        .into_iter()
        .chain(spreads.iter().map(String::as_str))
        .collect();
    let lines = list.iter().map(|one| {
        let shares = one
            .percent
            .iter()
            .map(|share| share.map_or(String::new(), short));
        [one.rtt.to_string()].into_iter().chain(shares).collect()
    });
    table(&headings, lines.collect())
}

fn ticks(list: &[Ticks]) -> String {
    let percent = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.4} %"));
    let lines = list.iter().map(|one| {
        vec![
            one.delta_g.to_string(),
            one.flows.to_string(),
            percent(one.median),
            percent(one.most),
        ]
    });
    table(
        &["delta_G", "flows", "median error", "largest error"],
        lines.collect(),
    )
}

fn variations(list: &[Variation]) -> String {
    let mut headings = vec!["changed"];
    headings.extend(COLUMNS.map(|(heading, _, _)| heading));
    let published = COLUMNS.map(|(_, _, value)| short(value));
    let first = ["the study".to_owned()]
        .into_iter()
        .chain(published)
        .collect();
    let lines = list.iter().map(|one| {
        let values = one
            .values
            .iter()
            .map(|value| value.map_or(String::new(), short));
        [one.name.to_owned()].into_iter().chain(values).collect()
    });
    table(&headings, [first].into_iter().chain(lines).collect())
}

fn mean(list: &[f64]) -> Option<f64> {
    (!list.is_empty()).then(|| list.iter().sum::<f64>() / list.len() as f64)
}

fn with_unit(value: Option<f64>, unit: &str) -> String {
    value.map_or(String::new(), |value| {
        format!("{} {unit}", short(value)).trim_end().to_owned()
    })
}

/// Three digits that mean something.
fn short(value: f64) -> String {
    let size = value.abs();
    let digits = if size >= 100.0 || value == value.round() {
        0
    } else if size >= 10.0 {
        1
    } else if size >= 1.0 {
        2
    } else {
        3
    };
    format!("{value:.digits$}")
}

/// In Markdown, columns aligned.
fn table(headings: &[&str], rows: Vec<Vec<String>>) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells
            .max()
            .unwrap_or(0)
            .max(headings[column].chars().count())
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded = cells
            .zip(widths.iter().copied())
            .map(|(cell, wide)| format!(" {cell:wide$} |"));
        format!("|{}\n", padded.collect::<String>())
    };
    let rules: Vec<String> = widths.iter().map(|wide| "-".repeat(*wide)).collect();
    let mut text = line(&mut headings.iter().copied());
    text += &line(&mut rules.iter().map(String::as_str));
    for row in &rows {
        text += &line(&mut row.iter().map(String::as_str));
    }
    text + "\n"
}
