//! One output line per event.

use schemars::JsonSchema;
use serde::Serialize;
use unbloat_autorate::Decision;
use unbloat_autorate_host::Source;
use unbloat_cake_nfqueue::{Counts, Event};
use unbloat_units::{Direction, Time};

/// Every second the counters, and each decision on a rate.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Line {
    Counts {
        /// Since boot.
        at_s: f64,
        down: Option<CountsLine>,
        up: Option<CountsLine>,
    },
    Decided(DecisionLine),
}

/// Counters of one direction.
#[derive(Serialize, JsonSchema)]
pub struct CountsLine {
    /// Null: no limit yet.
    rate_bps: Option<u64>,
    packets: u64,
    bytes: u64,
    dropped: u64,
    /// Marked by ECN in place of being dropped.
    marked: u64,
    backlog_packets: u32,
    backlog_bytes: u64,
    /// Longest wait of a packet since the line before.
    longest_wait_ms: f64,
}

/// A change of the rate of one direction, with its evidence.
#[derive(Serialize, JsonSchema)]
pub struct DecisionLine {
    /// `shape`: since boot; `autorate`: since 1970.
    at_s: f64,
    direction: Direction,
    before_bps: Option<u64>,
    after_bps: u64,
    reason: &'static str,
    /// Delay beyond the least one; null: nothing measured it lately.
    delay_ms: Option<f64>,
    /// Delay beyond which the rate falls.
    threshold_ms: f64,
    /// What the line delivered lately.
    carried_bps: u64,
    /// What passed the shaper lately, as a share of its rate.
    load: f64,
    /// What was let onto the line and has not come back yet.
    under_way_bytes: Option<u64>,
    /// `autorate`: how packets are observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    tap: Option<&'static str>,
}

/// Seconds since the origin of the clock.
fn seconds(at: Time) -> f64 {
    at.as_ns() as f64 / 1e9
}

impl Line {
    pub fn of(event: &Event) -> Line {
        match event {
            Event::Counts { at, sides } => Line::Counts {
                at_s: seconds(*at),
                down: sides.down.as_ref().map(counts),
                up: sides.up.as_ref().map(counts),
            },
            Event::Decided(decision) => Line::Decided(DecisionLine::of(decision, None)),
        }
    }
}

fn counts(counts: &Counts) -> CountsLine {
    CountsLine {
        rate_bps: counts.rate.map(|rate| rate.as_bps()),
        packets: counts.packets,
        bytes: counts.bytes,
        dropped: counts.dropped,
        marked: counts.marked,
        backlog_packets: counts.backlog.packets,
        backlog_bytes: counts.backlog.bytes.as_u64(),
        longest_wait_ms: counts.longest.as_ms(),
    }
}

impl DecisionLine {
    pub fn of(decision: &Decision, tap: Option<Source>) -> DecisionLine {
        let evidence = &decision.evidence;
        DecisionLine {
            at_s: seconds(decision.at),
            direction: decision.direction,
            before_bps: decision.before.map(|rate| rate.as_bps()),
            after_bps: decision.after.as_bps(),
            reason: decision.reason.name(),
            delay_ms: evidence.delay.map(|delay| delay.as_ms()),
            threshold_ms: evidence.threshold.as_ms(),
            carried_bps: evidence.carried.as_bps(),
            load: evidence.load,
            under_way_bytes: evidence.under_way.map(|all| all.bytes),
            tap: tap.map(Source::name),
        }
    }
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
