//! A verdict as it is written for programs: in `locate.json` and in the document of a test.

use crate::{Confidence, Finding, HopKind, HopReport, Layer, Node, Phase, Reason, Step, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use unbloat_units::Delta;

/// Where the queue of one load is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadVerdict {
    pub load: Phase,
    /// The finding in words.
    pub text: String,
    pub finding: LoadFinding,
    pub hops: Vec<HopDocument>,
}

/// Where a queue is, that there is none, or why neither can be concluded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LoadFinding {
    Queue {
        #[serde(flatten)]
        step: StepDocument,
        /// The node that sends into the queue; null if it is not known.
        holder: Option<NodeDocument>,
        /// The layer of this host, if its own queue was measured.
        layer: Option<Layer>,
        is_certain: bool,
        /// Fraction of bootstrap samples with this place.
        agreement: f64,
        /// Further places where the path adds delay, nearest first.
        others: Vec<StepDocument>,
    },
    NoQueue {
        /// Upper bound of the added delay.
        at_most_ms: f64,
        /// The far end.
        until: NodeDocument,
    },
    Inconclusive {
        reason: ReasonName,
        /// The reason in words.
        text: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasonName {
    NoAnswers,
    FarEndSilent,
    RouteChanged,
    Undecided,
    Noise,
}

/// Delay that load adds between two nodes: the median with its 95 % confidence interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepDocument {
    pub from: NodeDocument,
    pub to: NodeDocument,
    pub added_ms: f64,
    pub low_ms: f64,
    pub high_ms: f64,
}

/// A point of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NodeDocument {
    ThisHost,
    /// The second node in the local network.
    Peer {
        address: IpAddr,
    },
    Hop {
        hop: u8,
        address: IpAddr,
    },
    FarEnd {
        hop: u8,
        address: IpAddr,
    },
}

/// One hop, idle and under this load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HopDocument {
    pub hop: u8,
    /// The addresses that answered, the most frequent first.
    pub addresses: Vec<IpAddr>,
    pub kind: HopKind,
    /// Probes sent while idle.
    pub idle_sent: usize,
    pub idle_answered: usize,
    /// Probes sent under load.
    pub loaded_sent: usize,
    pub loaded_answered: usize,
    pub idle_p50_ms: Option<f64>,
    pub loaded_p50_ms: Option<f64>,
    pub loaded_p95_ms: Option<f64>,
    /// Median under load minus the idle median.
    pub added_ms: Option<f64>,
    /// The part of it that all later hops have too.
    pub persisting_ms: Option<f64>,
}

impl From<&Verdict> for LoadVerdict {
    fn from(verdict: &Verdict) -> LoadVerdict {
        LoadVerdict {
            load: verdict.load,
            text: verdict.to_string(),
            finding: finding(&verdict.finding, verdict.load),
            hops: verdict.hops.iter().map(HopDocument::from).collect(),
        }
    }
}

fn finding(finding: &Finding, load: Phase) -> LoadFinding {
    match finding {
        Finding::Queue {
            step,
            confidence,
            agreement,
            layer,
            others,
        } => LoadFinding::Queue {
            step: step.into(),
            holder: step.place.sender(load).map(NodeDocument::from),
            layer: *layer,
            is_certain: *confidence == Confidence::Certain,
            agreement: *agreement,
            others: others.iter().map(StepDocument::from).collect(),
        },
        Finding::NoQueue { at_most, until } => LoadFinding::NoQueue {
            at_most_ms: at_most.as_ms(),
            until: (*until).into(),
        },
        Finding::Inconclusive(reason) => LoadFinding::Inconclusive {
            reason: reason.into(),
            text: reason.to_string(),
        },
    }
}

impl From<&Reason> for ReasonName {
    fn from(reason: &Reason) -> ReasonName {
        match reason {
            Reason::NoAnswers => ReasonName::NoAnswers,
            Reason::FarEndSilent { .. } => ReasonName::FarEndSilent,
            Reason::RouteChanged { .. } => ReasonName::RouteChanged,
            Reason::Undecided { .. } => ReasonName::Undecided,
            Reason::Noise { .. } => ReasonName::Noise,
        }
    }
}

impl From<&Step> for StepDocument {
    fn from(step: &Step) -> StepDocument {
        StepDocument {
            from: step.place.from.into(),
            to: step.place.to.into(),
            added_ms: step.added.as_ms(),
            low_ms: step.low.as_ms(),
            high_ms: step.high.as_ms(),
        }
    }
}

impl From<Node> for NodeDocument {
    fn from(node: Node) -> NodeDocument {
        match node {
            Node::ThisHost => NodeDocument::ThisHost,
            Node::Peer(address) => NodeDocument::Peer { address },
            Node::Hop(hop, address) => NodeDocument::Hop { hop, address },
            Node::FarEnd(hop, address) => NodeDocument::FarEnd { hop, address },
        }
    }
}

impl From<&HopReport> for HopDocument {
    fn from(hop: &HopReport) -> HopDocument {
        let ms = |span: Option<Delta>| span.map(Delta::as_ms);
        HopDocument {
            hop: hop.hop,
            addresses: hop.addresses.clone(),
            kind: hop.kind,
            idle_sent: hop.idle_sent,
            idle_answered: hop.idle_answered,
            loaded_sent: hop.loaded_sent,
            loaded_answered: hop.loaded_answered,
            idle_p50_ms: ms(hop.idle_p50),
            loaded_p50_ms: ms(hop.loaded_p50),
            loaded_p95_ms: ms(hop.loaded_p95),
            added_ms: ms(hop.added),
            persisting_ms: ms(hop.persisting),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Place;
    use serde::Serialize;
    use serde_json::{Value, json};

    fn written(value: impl Serialize) -> Value {
        serde_json::to_value(value).unwrap()
    }

    #[test]
    fn names_in_documents_are_those_in_tables() {
        for kind in [
            HopKind::Plain,
            HopKind::RateLimited,
            HopKind::SlowPath,
            HopKind::OtherWayBack,
            HopKind::Changed,
            HopKind::Silent,
        ] {
            assert_eq!(written(kind), kind.name());
        }
        for layer in [
            Layer::Socket,
            Layer::Qdisc,
            Layer::Driver,
            Layer::Below,
            Layer::DriverOrBelow,
        ] {
            assert_eq!(written(layer), layer.name());
        }
        for phase in [Phase::Idle, Phase::Down, Phase::Up, Phase::Both] {
            assert_eq!(written(phase), phase.name());
        }
    }

    #[test]
    fn a_queue_is_one_object_and_comes_back() {
        let address: IpAddr = "192.0.2.1".parse().unwrap();
        let step = Step {
            place: Place {
                from: Node::ThisHost,
                to: Node::Hop(1, address),
            },
            added: Delta::ms(80),
            low: Delta::ms(70),
            high: Delta::ms(90),
        };
        let verdict = Verdict {
            load: Phase::Up,
            finding: Finding::Queue {
                step,
                confidence: Confidence::Certain,
                agreement: 1.0,
                layer: Some(Layer::DriverOrBelow),
                others: Vec::new(),
            },
            hops: Vec::new(),
        };
        let document = LoadVerdict::from(&verdict);
        let json = written(&document);
        let expected = json!({
            "kind": "queue",
            "from": {"kind": "this_host"},
            "to": {"kind": "hop", "hop": 1, "address": "192.0.2.1"},
            "added_ms": 80.0, "low_ms": 70.0, "high_ms": 90.0,
            "holder": {"kind": "this_host"},
            "layer": "driver or below",
            "is_certain": true,
            "agreement": 1.0,
            "others": [],
        });
        assert_eq!(json["finding"], expected);
        let back: LoadVerdict = serde_json::from_value(json).unwrap();
        assert_eq!(back, document);
    }
}
