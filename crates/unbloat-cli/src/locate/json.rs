//! Verdicts as one JSON object; `docs/locate.md` describes its keys.

use serde_json::{Value, json};
use unbloat_hop::{Confidence, Finding, HopReport, Layer, Node, Reason, Step, Verdict};
use unbloat_locate::{Located, Options};
use unbloat_units::Delta;

/// Raised when a key changes its meaning or is removed.
const VERSION: u32 = 1;

pub fn object(options: &Options, located: &Located) -> Value {
    let counts = located.counts;
    json!({
        "format": "unbloat locate",
        "format_version": VERSION,
        "target": options.target,
        "probe": options.kind.name(),
        "far_end_hop": located.far_end,
        "is_cut": located.is_cut,
        "failed": located.failed,
        "verdicts": located.verdicts.iter().map(verdict).collect::<Vec<_>>(),
        "probes": {
            "sent": counts.sent,
            "answered": counts.answered,
            "refused": counts.refused,
            "repeated": counts.repeated,
            "foreign": counts.foreign,
            "ambiguous": counts.ambiguous,
            "malformed": counts.malformed,
        },
    })
}

pub fn verdict(verdict: &Verdict) -> Value {
    let mut value = json!({
        "load": verdict.load.name(),
        "text": verdict.to_string(),
        "hops": verdict.hops.iter().map(hop).collect::<Vec<_>>(),
    });
    value["finding"] = match &verdict.finding {
        Finding::Queue {
            step: found,
            confidence,
            agreement,
            layer,
            others,
        } => {
            let mut queue = step(found);
            queue["kind"] = json!("queue");
            queue["holder"] = found.place.sender(verdict.load).map_or(Value::Null, node);
            queue["layer"] = json!(layer.map(Layer::name));
            queue["is_certain"] = json!(*confidence == Confidence::Certain);
            queue["agreement"] = json!(agreement);
            queue["others"] = others.iter().map(step).collect();
            queue
        }
        Finding::NoQueue { at_most, until } => json!({
            "kind": "no_queue",
            "at_most_ms": at_most.as_ms(),
            "until": node(*until),
        }),
        Finding::Inconclusive(reason) => json!({
            "kind": "inconclusive",
            "reason": match reason {
                Reason::NoAnswers => "no_answers",
                Reason::RouteChanged { .. } => "route_changed",
                Reason::Undecided { .. } => "undecided",
                Reason::Noise { .. } => "noise",
            },
            "text": reason.to_string(),
        }),
    };
    value
}

fn step(step: &Step) -> Value {
    json!({
        "from": node(step.place.from),
        "to": node(step.place.to),
        "added_ms": step.added.as_ms(),
        "low_ms": step.low.as_ms(),
        "high_ms": step.high.as_ms(),
    })
}

fn node(node: Node) -> Value {
    match node {
        Node::ThisHost => json!({"kind": "this_host"}),
        Node::Peer(address) => json!({"kind": "peer", "address": address}),
        Node::Hop(hop, address) => json!({"kind": "hop", "hop": hop, "address": address}),
        Node::FarEnd(hop, address) => json!({"kind": "far_end", "hop": hop, "address": address}),
    }
}

fn hop(hop: &HopReport) -> Value {
    let ms = |delta: Option<Delta>| json!(delta.map(Delta::as_ms));
    json!({
        "hop": hop.hop,
        "addresses": hop.addresses,
        "kind": hop.kind.name(),
        "idle_sent": hop.idle_sent,
        "idle_answered": hop.idle_answered,
        "loaded_sent": hop.loaded_sent,
        "loaded_answered": hop.loaded_answered,
        "idle_p50_ms": ms(hop.idle_p50),
        "loaded_p50_ms": ms(hop.loaded_p50),
        "loaded_p95_ms": ms(hop.loaded_p95),
        "added_ms": ms(hop.added),
        "persisting_ms": ms(hop.persisting),
    })
}
