//! A finished test, as far as cures depend on it: from this process, or from the file of a run.

use serde::Deserialize;
use std::net::SocketAddr;
use unbloat_responsiveness::{SCHEMA, Verdict};
use unbloat_said::one_line;

/// A finished test.
#[derive(Clone, Debug, PartialEq)]
pub struct Tested {
    pub target: String,
    /// Who answered.
    pub address: Option<SocketAddr>,
    pub verdict: Verdict,
}

#[derive(Debug, thiserror::Error)]
pub enum NotATest {
    #[error("it is no JSON of a test: {}", one_line(&.0.to_string()))]
    Json(#[from] serde_json::Error),
    #[error("its schema is {found:?}, not {SCHEMA:?}: run the test again with this version")]
    Schema { found: String },
    #[error("it was stopped before its end: run the test again")]
    Cut,
}

#[derive(Deserialize)]
struct Head {
    schema: String,
}

#[derive(Deserialize)]
struct Document {
    target: String,
    is_cut: bool,
    server: Server,
    verdict: Verdict,
}

#[derive(Deserialize)]
struct Server {
    address: Option<SocketAddr>,
}

impl Tested {
    /// From the JSON of `unbloat test`.
    pub fn read(json: &str) -> Result<Tested, NotATest> {
        let head: Head = serde_json::from_str(json)?;
        if head.schema != SCHEMA {
            let found = head.schema.chars().take(40).collect();
            return Err(NotATest::Schema { found });
        }
        let document: Document = serde_json::from_str(json)?;
        match document.is_cut {
            true => Err(NotATest::Cut),
            false => Ok(Tested {
                target: document.target,
                address: document.server.address,
                verdict: document.verdict,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{loaded, tested};
    use serde_json::{Value, json};
    use unbloat_workload::Direction;

    fn document() -> Value {
        let verdict = tested(vec![loaded(Direction::Up, 240, 10)]).verdict;
        json!({
            "schema": SCHEMA, "target": "box", "is_cut": false,
            "server": {"address": "192.0.2.1:4043", "http": "2"}, "verdict": verdict, "loads": [],
        })
    }

    #[test]
    fn a_stored_test_is_the_verdict_that_was_stored() {
        let read = Tested::read(&document().to_string()).unwrap();
        assert_eq!(
            read.verdict,
            tested(vec![loaded(Direction::Up, 240, 10)]).verdict
        );
        assert_eq!(read.address, Some("192.0.2.1:4043".parse().unwrap()));
    }

    #[test]
    fn others_schemas_cut_runs_and_damage_are_no_tests() {
        let with = |key: &str, value: Value| {
            let mut document = document();
            document[key] = value;
            Tested::read(&document.to_string()).unwrap_err().to_string()
        };
        assert!(with("schema", json!("unbloat.test/1")).contains("unbloat.test/1"));
        assert!(with("is_cut", json!(true)).contains("stopped before its end"));
        assert!(with("verdict", json!({"kind": "bloated"})).contains("no JSON of a test"));
        for damaged in ["", "{", "[]", "null", "{\"schema\": 1}"] {
            assert!(
                matches!(Tested::read(damaged), Err(NotATest::Json(_))),
                "{damaged}"
            );
        }
    }
}
