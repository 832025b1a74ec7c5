//! What a test said, as far as cures depend on it.

use serde::Deserialize;
use std::net::SocketAddr;
use unbloat_units::{Delta, Rate};

/// The schema that is read; what others say may mean something else.
const SCHEMA: &str = "unbloat.test/1";
/// A day, and ten terabits: beyond, numbers are damage.
const MOST_MS: f64 = 86.4e6;
const MOST_BPS: u64 = 10_000_000_000_000;

/// One direction, loaded alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loaded {
    /// What the path carried.
    pub goodput: Rate,
    /// Medians and 95th percentiles of what the load added: one way where that is known, else there and back.
    pub added_p50: Delta,
    pub added_p95: Delta,
    /// The path carried the same all the time.
    pub is_steady: bool,
}

/// A finished test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tested {
    pub target: String,
    /// Who answered.
    pub address: Option<SocketAddr>,
    pub idle_rtt: Option<Delta>,
    /// None: that direction was not loaded alone.
    pub down: Option<Loaded>,
    pub up: Option<Loaded>,
    /// Why the run is not to be trusted, if it is not.
    pub distrust: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum NotATest {
    #[error("it is no JSON of a test: {0}")]
    Json(#[from] serde_json::Error),
    #[error(
        "its schema is {found:?}, and {SCHEMA:?} is wanted: run the test again with this version"
    )]
    Schema { found: String },
    #[error("it was stopped before its end: run the test again")]
    Cut,
}

#[derive(Deserialize)]
struct Document {
    schema: String,
    target: String,
    is_cut: bool,
    server: ServerPart,
    idle: IdlePart,
    loads: Vec<LoadPart>,
    #[serde(default)]
    distrust: Vec<DistrustPart>,
}

#[derive(Deserialize)]
struct ServerPart {
    address: Option<String>,
}

#[derive(Deserialize)]
struct IdlePart {
    rtt_p50_ms: Option<f64>,
}

#[derive(Deserialize)]
struct LoadPart {
    load: String,
    stack: String,
    down: DirectionPart,
    up: DirectionPart,
    added_rtt: Option<AddedPart>,
    is_saturated: bool,
}

#[derive(Deserialize)]
struct DirectionPart {
    /// Absent from tests of before this field: then what came in order stands for it.
    #[serde(default)]
    delivered_bps: Option<u64>,
    goodput_bps: Option<u64>,
    #[serde(default)]
    is_steady: Option<bool>,
    added: Option<AddedPart>,
}

#[derive(Clone, Copy, Deserialize)]
struct AddedPart {
    p50: EstimatePart,
    p95: EstimatePart,
}

#[derive(Clone, Copy, Deserialize)]
struct EstimatePart {
    ms: f64,
}

#[derive(Deserialize)]
struct DistrustPart {
    is_fatal: bool,
    reason: String,
}

impl Tested {
    /// From the JSON of `unbloat test`.
    pub fn read(json: &str) -> Result<Tested, NotATest> {
        let document: Document = serde_json::from_str(json)?;
        if document.schema != SCHEMA {
            let found = document.schema.chars().take(40).collect();
            return Err(NotATest::Schema { found });
        }
        if document.is_cut {
            return Err(NotATest::Cut);
        }
        let reasons = document.distrust.into_iter();
        Ok(Tested {
            idle_rtt: document.idle.rtt_p50_ms.and_then(span),
            down: alone(&document.loads, "down"),
            up: alone(&document.loads, "up"),
            distrust: reasons.filter(|r| r.is_fatal).map(|r| r.reason).collect(),
            address: document
                .server
                .address
                .and_then(|address| address.parse().ok()),
            target: document.target,
        })
    }
}

/// The stage that loads this direction alone: with senders' buffers held short, if there is one, since that is the network's part.
fn alone(loads: &[LoadPart], direction: &str) -> Option<Loaded> {
    let mut of = loads.iter().filter(|load| load.load == direction);
    let first = of.clone().next();
    let load = of.find(|load| load.stack == "network_only").or(first)?;
    let part = match direction {
        "down" => &load.down,
        _ => &load.up,
    };
    let added = part.added.or(load.added_rtt)?;
    let carried = part.delivered_bps.or(part.goodput_bps);
    let goodput = carried.filter(|bps| *bps <= MOST_BPS)?;
    Some(Loaded {
        goodput: Rate::bps(goodput),
        added_p50: span(added.p50.ms)?,
        added_p95: span(added.p95.ms)?,
        is_steady: part.is_steady.unwrap_or(load.is_saturated),
    })
}

fn span(ms: f64) -> Option<Delta> {
    (ms.abs() <= MOST_MS).then(|| Delta::from_secs_f64(ms / 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn document() -> Value {
        let added = |p50: f64, p95: f64| json!({"p50": {"ms": p50}, "p95": {"ms": p95}});
        let idle = json!({"goodput_bps": null, "added": null});
        json!({
            "schema": "unbloat.test/1", "target": "box", "is_cut": false, "server": {"address": "192.0.2.1:4043"},
            "idle": {"rtt_p50_ms": 20.5},
            "loads": [
                {"load": "down", "stack": "as_is", "is_saturated": false, "added_rtt": null,
                 "down": {"goodput_bps": 1, "added": added(1.0, 2.0)}, "up": idle},
                {"load": "down", "stack": "network_only", "is_saturated": true, "added_rtt": null,
                 "down": {"delivered_bps": 48_000_000, "goodput_bps": 45_000_000, "is_steady": false, "added": added(150.0, 160.0)}, "up": idle},
                {"load": "up", "stack": "as_is", "is_saturated": true, "added_rtt": added(200.0, 240.0),
                 "down": idle, "up": {"goodput_bps": 9_500_000, "added": null}},
            ],
            "distrust": [{"is_fatal": false, "reason": "busy"}, {"is_fatal": true, "reason": "late"}],
        })
    }

    #[test]
    fn the_stage_that_tells_of_the_network_is_taken_and_round_trips_where_ways_are_unknown() {
        let tested = Tested::read(&document().to_string()).unwrap();
        let down = tested.down.unwrap();
        assert_eq!((down.goodput, down.is_steady), (Rate::mbps(48), false));
        assert!(tested.up.unwrap().is_steady);
        assert_eq!(down.added_p95, Delta::ms(160));
        assert_eq!(tested.up.unwrap().added_p95, Delta::ms(240));
        assert_eq!(tested.idle_rtt, Some(Delta::us(20_500)));
        assert_eq!(tested.distrust, ["late"]);
        assert_eq!(tested.address, Some("192.0.2.1:4043".parse().unwrap()));
    }

    #[test]
    fn what_is_no_finished_test_is_refused_with_a_reason() {
        let changed = |key: &str, value: Value| {
            let mut document = document();
            document[key] = value;
            Tested::read(&document.to_string()).unwrap_err().to_string()
        };
        assert!(changed("schema", json!("unbloat.test/9")).contains("unbloat.test/9"));
        assert!(changed("is_cut", json!(true)).contains("stopped"));
        assert!(changed("loads", json!(3)).contains("no JSON of a test"));
        assert!(Tested::read("").is_err());
    }

    #[test]
    fn numbers_that_cannot_be_are_as_if_they_were_not_there() {
        let mut document = document();
        document["loads"][1]["down"]["delivered_bps"] = json!(u64::MAX);
        document["loads"][2]["added_rtt"]["p95"]["ms"] = json!(1e300);
        document["idle"]["rtt_p50_ms"] = json!(-1e300);
        let tested = Tested::read(&document.to_string()).unwrap();
        assert_eq!(
            (tested.down, tested.up, tested.idle_rtt),
            (None, None, None)
        );
    }
}
