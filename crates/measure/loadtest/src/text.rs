//! What was found, for people.

use crate::applications;
use crate::findings::{Findings, Idle, LoadFindings};
use crate::measured::{Counter, Measured};
use crate::plan::{Load, Stack};
use crate::verdict_text::verdict_text;
use std::fmt::Write;
use unbloat_responsiveness::Added;
use unbloat_text::Layout;
use unbloat_units::{Both, Bytes, Delta, Direction};

/// The verdict, then the numbers it rests on in a few lines.
pub fn text(measured: &Measured, findings: &Findings, layout: Layout) -> String {
    let mut text = place(measured);
    text += &verdict_text(&findings.verdict);
    text.push('\n');
    text += &numbers(measured, findings);
    text += &applications::text(measured);
    layout.lay(&text)
}

/// The verdict, then everything that was measured.
pub fn detailed_text(measured: &Measured, findings: &Findings, layout: Layout) -> String {
    let mut text = place(measured);
    text += &verdict_text(&findings.verdict);
    text += "\nDetails\n";
    server(&mut text, measured);
    grades(&mut text, findings);
    loads(&mut text, findings);
    sockets(&mut text, findings);
    text += &applications::text(measured);
    if !measured.limitations.is_empty() {
        text += "not measured\n";
    }
    for limitation in &measured.limitations {
        let _ = writeln!(text, "  {limitation}");
    }
    layout.lay(&text)
}

/// Whom the load met, where that is not the address that was asked.
fn place(measured: &Measured) -> String {
    let server = &measured.server;
    let both = server.address.zip(server.asked);
    both.map_or_else(String::new, |(address, asked)| {
        format!("Measured to {address}, which the server at {asked} named for its load.\n")
    })
}

/// Who was asked.
fn server(text: &mut String, measured: &Measured) {
    if let Some(address) = measured.server.address.or(measured.server.echo) {
        let _ = writeln!(text, "server    {address}");
    }
}

/// A line for each stage.
fn numbers(measured: &Measured, findings: &Findings) -> String {
    let mut text = String::new();
    server(&mut text, measured);
    if let Some([p50, p95, _]) = findings.idle.rtt {
        let _ = writeln!(text, "idle      round trip {}, p95 {}", ms(p50), ms(p95));
    }
    for found in &findings.loads {
        let name = match found.load {
            Load::Idle => continue,
            Load::Down => "download",
            Load::Up => "upload",
            Load::Both => "both",
        };
        let added = match (found.made(&findings.idle), found.view.foreign) {
            (Some(added), _) => format!(
                "adds {} (mean), p95 {}",
                ms(added.mean.value),
                ms(added.p95.value)
            ),
            (None, Some(foreign)) => format!("adds {} (median of probes)", ms(foreign)),
            (None, None) => "added delay not measured".to_owned(),
        };
        let _ = write!(text, "{name:<9} {added}");
        for direction in Direction::BOTH {
            if let Some(rate) = found.delivered[direction] {
                let _ = write!(text, "; {rate} delivered {}", direction.name());
            } else if let Some(partial) = partial(measured, found, direction) {
                let _ = write!(text, "; {partial}");
            }
        }
        text.push('\n');
    }
    text
}

/// What connections carried that broke too early for their stage to be judged.
fn partial(measured: &Measured, found: &LoadFindings, direction: Direction) -> Option<String> {
    let broken = measured.flows.iter().filter(|flow| {
        let is_of_stage = flow.stage == found.stage && flow.direction == direction;
        is_of_stage && flow.failure.is_some()
    });
    let begin = broken.clone().map(|flow| flow.begin).min()?;
    let lasted = broken.clone().map(|flow| flow.end).max()?.since(begin);
    let bytes: u64 = broken.map(|flow| flow.bytes.as_u64()).sum();
    let rate = Bytes::new(bytes).over(lasted).filter(|_| bytes > 0)?;
    Some(format!(
        "{rate} {} for {:.1} s, until the connections broke",
        direction.name(),
        lasted.as_secs()
    ))
}

fn grades(text: &mut String, findings: &Findings) {
    let marks: Vec<String> = findings
        .marks
        .iter()
        .map(|mark| format!("{} {} ({})", mark.of, mark.mark, mark.because))
        .collect();
    if !marks.is_empty() {
        let _ = writeln!(text, "grade    {}", marks.join("; "));
        let _ = writeln!(text, "         by {}", findings.rule.in_words());
    }
    if let Some([p50, p95, _]) = findings.idle.rtt {
        let _ = writeln!(text, "idle     round trip {}, p95 {}", ms(p50), ms(p95));
    } else if let Some(trip) = findings.idle.view.foreign {
        let _ = writeln!(text, "idle     round trip {} by probes of HTTP", ms(trip));
    }
}

fn loads(text: &mut String, findings: &Findings) {
    let several = findings
        .loads
        .iter()
        .any(|found| found.stack == Stack::AsIs);
    for found in &findings.loads {
        let name = match found.load {
            Load::Idle => continue,
            Load::Down => "download",
            Load::Up => "upload",
            Load::Both => "both",
        };
        let stack = match (several, found.stack) {
            (false, _) => "",
            (true, Stack::AsIs) => ", sockets as they are",
            (true, Stack::NetworkOnly) => ", sockets held at 5 ms",
        };
        let _ = writeln!(text, "{name}{stack}");
        load(text, found);
        kernel_view(text, found, &findings.idle);
    }
}

/// What the senders' kernels say, and the medians of each kind of round trip beside each other.
fn kernel_view(text: &mut String, found: &LoadFindings, idle: &Idle) {
    for direction in Direction::BOTH {
        let product = found.bandwidth_delay_product(idle, direction);
        let Some((bytes, product)) = found.in_flight[direction].zip(product) else {
            continue;
        };
        let times = bytes.as_u64() as f64 / product.as_u64().max(1) as f64;
        let _ = writeln!(
            text,
            "  in flight {:<5}{}, {times:.1} times delivered rate x idle round trip",
            direction.name(),
            kb(bytes)
        );
    }
    let view = &found.view;
    let kinds = [
        ("UDP", view.udp),
        ("ICMP", view.icmp),
        ("new connections", view.foreign),
        ("TCP's own", view.tcp),
        ("among the load", view.own),
    ];
    let known: Vec<String> = kinds
        .into_iter()
        .filter_map(|(name, span)| Some(format!("{name} {}", ms(span?))))
        .collect();
    if known.len() > 1 {
        let _ = writeln!(
            text,
            "  by probe    {} (added there and back)",
            known.join(", ")
        );
    }
}

fn kb(bytes: Bytes) -> String {
    format!("{:.0} kB", bytes.as_u64() as f64 / 1e3)
}

fn load(text: &mut String, found: &LoadFindings) {
    let one_way = found.added.iter().any(Option::is_some);
    for direction in Direction::BOTH {
        if let Some(added) = &found.added[direction] {
            let _ = writeln!(text, "  added {:<5} {}", direction.name(), quantiles(added));
        }
    }
    if let (Some(added), false) = (&found.added_rtt, one_way) {
        let _ = writeln!(text, "  added       {} there and back", quantiles(added));
    } else if let (None, Some(foreign)) = (&found.added_rtt, found.view.foreign) {
        let _ = writeln!(
            text,
            "  added       p50 {} there and back, by foreign probes",
            ms(foreign)
        );
    } else if let (None, Some(tcp)) = (&found.added_rtt, found.view.tcp) {
        let _ = writeln!(
            text,
            "  added       p50 {} there and back, by TCP's own round trip (TCP_INFO) less its least",
            ms(tcp)
        );
    }
    for direction in Direction::BOTH {
        let Some((delivered, goodput)) = found.delivered[direction].zip(found.goodput[direction])
        else {
            continue;
        };
        let counted = match found.goodput_by[direction] {
            Some(Counter::Acknowledged) => " acknowledged by the server's TCP",
            _ => " in order",
        };
        let _ = writeln!(
            text,
            "  delivered {:<5}{delivered}, {goodput}{counted}",
            direction.name()
        );
    }
    loss(text, found);
    if let Some(rpm) = found.rpm {
        let legacy = found.rpm_legacy.map_or(String::new(), |legacy| {
            format!(" (older formula: {legacy})")
        });
        let _ = writeln!(
            text,
            "  responsiveness {rpm}, {}, confidence {}, by draft-09{legacy}",
            rpm.class().name(),
            found.confidence.name()
        );
    }
}

fn loss(text: &mut String, found: &LoadFindings) {
    let account = &found.account;
    let told = match account.loss() {
        Both {
            down: Some(down),
            up: Some(up),
        } => format!("{} down, {} up", percent(down), percent(up)),
        _ if account.sent > 0 => percent(account.lost as f64 / account.sent as f64),
        _ => return,
    };
    let _ = write!(text, "  lost    {told}");
    if account.reordered_down + account.reordered_up > 0 {
        let (down, up) = (account.reordered_down, account.reordered_up);
        let _ = write!(text, "; overtaken {down} down, {up} up of {}", account.sent);
    }
    text.push('\n');
}

fn sockets(text: &mut String, findings: &Findings) {
    for (direction, split) in &findings.splits {
        let _ = writeln!(text, "{}: {}", direction.load(), split.in_words());
    }
}

fn quantiles(added: &Added) -> String {
    let (p50, p95, p99) = (added.p50.value, added.p95.value, added.p99.value);
    let (low, high) = (added.p95.low, added.p95.high);
    format!(
        "p50 {}  p95 {} ({} to {})  p99 {}",
        ms(p50),
        ms(p95),
        ms(low),
        ms(high),
        ms(p99)
    )
}

fn ms(span: Delta) -> String {
    let ms = span.as_ms();
    match ms.abs() {
        10.0.. => format!("{ms:.0} ms"),
        _ => format!("{ms:.1} ms"),
    }
}

fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}
