//! Text output.

use crate::keep::Kept;
use std::fmt::Write;
use unbloat_sqm::{Device, Finding, Plan, Severity};
use unbloat_sqm_host::QueueStatus;
use unbloat_units::Rate;
use unbloat_untrusted::in_line;

/// One line.
pub fn plan(plan: &Plan) -> String {
    let rate = |shaped: Option<Rate>| shaped.map_or("not shaped".to_owned(), |r| r.to_string());
    format!(
        "unbloat: {} down {}, up {}; {}; {}",
        plan.device,
        rate(plan.down),
        rate(plan.up),
        plan.qdisc,
        plan.framing
    )
}

/// A line for each file.
pub fn kept(kept: &Kept) -> String {
    let mut text = format!(
        "{}, applied after each reboot: {}\n",
        kept.device,
        in_line(&kept.command)
    );
    for file in &kept.files {
        let edited = match kept.edited.as_ref() == Some(file) {
            true => " (changed since unbloat wrote it; `sqm remove` will not remove it)",
            false => "",
        };
        text += &format!("  {}{edited}\n", in_line(file));
    }
    text
}

pub fn findings(findings: &[Finding]) -> String {
    if findings.is_empty() {
        return "no errors found\n".to_owned();
    }
    let line = |f: &Finding| {
        let severity = match f.severity {
            Severity::Wrong => "wrong",
            Severity::Weak => "weak",
        };
        let (section, reason) = (in_line(&f.section), in_line(&f.reason));
        format!(
            "{severity}  {section}.{}: {reason}\n       {}\n",
            f.option,
            in_line(&f.fix)
        )
    };
    findings.iter().map(line).collect()
}

pub const NOT_OURS: &str = "not shaped by unbloat";

pub fn shaped_by(command: &str) -> String {
    format!("shaped by {}", in_line(command))
}

pub fn queues(device: &Device, by: &str, queues: &[QueueStatus]) -> String {
    let mut text = format!("{device}, {by}\n");
    for queue in queues {
        let rate = queue
            .rate_bps
            .map_or(String::new(), |bps| format!(" at {}", Rate::bps(bps)));
        writeln!(
            text,
            "  {:<15} {}{rate}: {} packets, {} dropped, {} marked, {} B waiting",
            in_line(&queue.device),
            in_line(&queue.kind),
            queue.sent_packets,
            queue.dropped,
            queue.marked,
            queue.backlog_bytes
        )
        .expect("strings grow");
    }
    text
}
