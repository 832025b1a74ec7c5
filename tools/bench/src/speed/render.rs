//! The result as text that people read: Markdown tables.

use super::contestants::UNBLOAT;
use super::goals::STUDY_PACKETS;
use super::result::{Met, Row, SpeedResult, median};
use std::fmt::Write;

pub fn markdown(result: &SpeedResult) -> String {
    let mut text = String::new();
    head(&mut text, result);
    goals(&mut text, result);
    captures(&mut text, result);
    rows(&mut text, result);
    memory(&mut text, result);
    text
}

fn line(text: &mut String, args: std::fmt::Arguments<'_>) {
    text.write_fmt(args).expect("a string takes all");
    text.push('\n');
}

fn head(text: &mut String, result: &SpeedResult) {
    let machine = &result.machine;
    line(text, format_args!("# Speed, {}\n", result.date));
    line(
        text,
        format_args!(
            "{}, {} processors, {:.0} GiB, {}; commit {}. {} rounds; load average at their beginnings: {}.",
            machine.processor,
            machine.processors,
            machine.memory_bytes as f64 / (1u64 << 30) as f64,
            machine.kernel,
            machine.commit,
            result.rounds,
            result
                .loads
                .iter()
                .map(|l| format!("{l:.1}"))
                .collect::<Vec<_>>()
                .join(", "),
        ),
    );
    let tools: Vec<String> = machine
        .tools
        .iter()
        .map(|(name, v)| format!("{name}: {v}"))
        .collect();
    line(
        text,
        format_args!("{}.\n", tools.join("; ").trim_end_matches('.')),
    );
    line(
        text,
        format_args!(
            "CPU is user and system time of the whole process, files in the page cache, outputs thrown away; \
             medians of rounds. Mpps: million packets per CPU-second. Ratios are paired within rounds.\n"
        ),
    );
}

fn goals(text: &mut String, result: &SpeedResult) {
    line(
        text,
        format_args!("| goal | wanted | found | |\n|---|---|---|---|"),
    );
    for goal in &result.goals {
        let met = match goal.met {
            Met::Hit => "hit",
            Met::Miss => "**miss**",
            Met::Untold => "cannot tell",
        };
        line(
            text,
            format_args!(
                "| {} | {} | {} | {met} |",
                goal.name, goal.wanted, goal.found
            ),
        );
    }
    if let Some(minutes) = result.whole_study_cpu_minutes {
        let billions = STUDY_PACKETS / 1e9;
        line(
            text,
            format_args!(
                "\nExtrapolated at the paper-like rate: the study's {billions} billion packets take {minutes:.1} minutes of one core, plus reading."
            ),
        );
    }
    text.push('\n');
}

fn captures(text: &mut String, result: &SpeedResult) {
    line(
        text,
        format_args!(
            "| capture | packets | flows | alive at once | MB | what |\n|---|---|---|---|---|---|"
        ),
    );
    for c in &result.captures {
        let mb = c.bytes as f64 / 1e6;
        line(
            text,
            format_args!(
                "| {} | {} | {} | {} | {mb:.0} | {} |",
                c.name, c.packets, c.flows, c.peak_live_flows, c.purpose
            ),
        );
    }
    text.push('\n');
}

fn rows(text: &mut String, result: &SpeedResult) {
    line(
        text,
        format_args!(
            "| capture | program | CPU s (least to most) | wall s | Mpps | CPU / unbloat's | peak RSS MB | rounds |\n|---|---|---|---|---|---|---|---|"
        ),
    );
    for row in &result.rows {
        line(text, format_args!("{}", cells(row)));
    }
    text.push('\n');
}

fn cells(row: &Row) -> String {
    let begin = format!("| {} | {} |", row.capture, row.contestant);
    if let Some(why) = &row.absent {
        return format!("{begin} {why} | | | | | |");
    }
    let cpu = median(&row.cpu_s).unwrap_or(f64::NAN);
    let least = row.cpu_s.iter().copied().fold(f64::INFINITY, f64::min);
    let most = row.cpu_s.iter().copied().fold(0.0, f64::max);
    let wall = median(&row.wall_s).unwrap_or(f64::NAN);
    let mpps = row
        .packets_per_cpu_s
        .map_or_else(String::new, |r| format!("{:.2}", r / 1e6));
    let times = row.times_unbloat.filter(|_| row.contestant != UNBLOAT);
    let times = times.map_or_else(String::new, |t| format!("{t:.2}"));
    let rss = row.peak_rss().unwrap_or(0) as f64 / 1e6;
    let rounds = row.cpu_s.len();
    format!(
        "{begin} {cpu:.3} ({least:.3}-{most:.3}) | {wall:.2} | {mpps} | {times} | {rss:.0} | {rounds} |"
    )
}

fn memory(text: &mut String, result: &SpeedResult) {
    let m = &result.memory;
    let mb = |bytes: Option<u64>| {
        bytes.map_or_else(|| "?".to_owned(), |b| format!("{:.1} MB", b as f64 / 1e6))
    };
    line(text, format_args!("Memory of `{UNBLOAT}`, peak RSS:\n"));
    let per_flow = m.bytes_per_live_flow.unwrap_or(f64::NAN);
    let live = |name| result.capture(name).map_or(0, |c| c.peak_live_flows);
    line(
        text,
        format_args!(
            "- a live flow: from {} on `many`, {} flows alive at once, to {} on `million`, {}: {per_flow:.0} B each, with its \
             share of its user (a user has about two flows in both) and of every index; at no flow that line is at {:.1} MB;",
            mb(m.many_rss_bytes),
            live("many"),
            mb(m.million_rss_bytes),
            live("million"),
            m.bytes_beside_flows.unwrap_or(f64::NAN) / 1e6,
        ),
    );
    line(
        text,
        format_args!(
            "- the same with all buffers charged to flows: ({} on `many` - {} on an empty capture) / {} flows = {:.0} B;",
            mb(m.many_rss_bytes),
            mb(m.empty_rss_bytes),
            live("many"),
            m.charged_bytes_per_live_flow.unwrap_or(f64::NAN),
        ),
    );
    let growth = m.tenfold_growth_pct.unwrap_or(f64::NAN);
    line(
        text,
        format_args!(
            "- tenfold trace, equal concurrency: {} on `once`, {} on `tenfold`: {growth:+.1} %;",
            mb(m.once_rss_bytes),
            mb(m.tenfold_rss_bytes),
        ),
    );
    let flood = &result.flood;
    let said = if flood.said.is_empty() {
        "nothing".to_owned()
    } else {
        flood.said.join(" / ")
    };
    line(
        text,
        format_args!(
            "- SYN flood of {} flows, each from an address of its own, through a pipe: {}, {:.1} CPU s; it said: {said}.",
            flood.flows,
            mb(flood.peak_rss_bytes),
            flood.cpu_s.unwrap_or(f64::NAN),
        ),
    );
}
