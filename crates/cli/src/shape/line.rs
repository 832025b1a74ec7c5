//! One output line per event.

use serde_json::{Value, json};
use unbloat_autorate::Decision;
use unbloat_cake_nfqueue::{Counts, Event};
use unbloat_units::Time;

/// Seconds since the origin of the clock, which is boot.
fn seconds(at: Time) -> f64 {
    at.as_ns() as f64 / 1e9
}

pub fn json(event: &Event) -> String {
    let value = match event {
        Event::Counts { at, sides } => json!({
            "at_s": seconds(*at),
            "down": sides.down.as_ref().map(counts),
            "up": sides.up.as_ref().map(counts),
        }),
        Event::Decided(decision) => decision_json(decision),
    };
    value.to_string()
}

fn counts(counts: &Counts) -> Value {
    json!({
        "rate_bps": counts.rate.map(|rate| rate.as_bps()),
        "packets": counts.packets,
        "bytes": counts.bytes,
        "dropped": counts.dropped,
        "marked": counts.marked,
        "backlog_packets": counts.backlog.packets,
        "backlog_bytes": counts.backlog.bytes.as_u64(),
        "longest_wait_ms": counts.longest.as_ms(),
    })
}

pub fn decision_json(decision: &Decision) -> Value {
    let evidence = &decision.evidence;
    json!({
        "at_s": seconds(decision.at),
        "direction": decision.direction.name(),
        "before_bps": decision.before.map(|rate| rate.as_bps()),
        "after_bps": decision.after.as_bps(),
        "reason": decision.reason.name(),
        "delay_ms": evidence.delay.map(|delay| delay.as_ms()),
        "threshold_ms": evidence.threshold.as_ms(),
        "carried_bps": evidence.carried.as_bps(),
        "load": evidence.load,
        "under_way_bytes": evidence.under_way.map(|all| all.bytes),
    })
}

pub fn decision_text(decision: &Decision) -> String {
    let delay = decision
        .evidence
        .delay
        .map_or("unknown".to_owned(), |delay| delay.to_string());
    format!(
        "{}: {} ({}: delay {delay}, delivered {})",
        decision.direction.name(),
        decision.after,
        decision.reason.name(),
        decision.evidence.carried
    )
}

pub fn text(event: &Event) -> String {
    match event {
        Event::Counts { sides, .. } => {
            let parts = sides.entries().filter_map(|(direction, side)| {
                let counts = side.as_ref()?;
                let rate = counts
                    .rate
                    .map_or("no limit yet".to_owned(), |rate| rate.to_string());
                Some(format!(
                    "{}: {rate}, {} packets, {} dropped, {} marked, {} waiting, longest wait {:.1} ms",
                    direction.name(),
                    counts.packets,
                    counts.dropped,
                    counts.marked,
                    counts.backlog.packets,
                    counts.longest.as_ms()
                ))
            });
            parts.collect::<Vec<_>>().join("; ")
        }
        Event::Decided(decision) => decision_text(decision),
    }
}
