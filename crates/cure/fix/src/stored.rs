//! A finished test out of the file of a run, which may come from anywhere.

use serde::Deserialize;
use unbloat_responsiveness::SCHEMA;
use unbloat_responsiveness::document::Test;
use unbloat_untrusted::one_line;

#[derive(Debug, thiserror::Error)]
pub enum NotATest {
    #[error("it is not the JSON of a test: {}", one_line(&.0.to_string()))]
    Json(#[from] serde_json::Error),
    #[error("its schema is {found:?}, not {SCHEMA:?}; repeat the test with this version")]
    Schema { found: String },
    #[error("it was stopped before its end; repeat the test")]
    Cut,
}

#[derive(Deserialize)]
struct Head {
    schema: String,
}

/// The document of a whole test, from the JSON of `unbloat test`.
pub fn read(json: &str) -> Result<Test, NotATest> {
    let head: Head = serde_json::from_str(json)?;
    if head.schema != SCHEMA {
        let found = head.schema.chars().take(40).collect();
        return Err(NotATest::Schema { found });
    }
    let test: Test = serde_json::from_str(json)?;
    match test.is_cut {
        true => Err(NotATest::Cut),
        false => Ok(test),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{loaded, tested};
    use serde_json::{Value, json};
    use unbloat_units::Delta;
    use unbloat_units::Direction;

    fn document() -> Value {
        let mut test = tested(vec![loaded(Direction::Up, 240, 10)]);
        test.server.address = Some("192.0.2.1:4043".parse().unwrap());
        serde_json::to_value(test).unwrap()
    }

    #[test]
    fn a_stored_test_is_the_test_that_was_stored() {
        let test = read(&document().to_string()).unwrap();
        assert_eq!(serde_json::to_value(&test).unwrap(), document());
        assert_eq!(
            test.verdict,
            tested(vec![loaded(Direction::Up, 240, 10)]).verdict
        );
    }

    #[test]
    fn what_no_cure_needs_may_be_missing_and_a_former_name_is_known() {
        let verdict = tested(vec![loaded(Direction::Up, 240, 10)]).verdict;
        let least = json!({
            "schema": SCHEMA, "target": "box", "is_cut": false, "server": {}, "verdict": verdict,
            "lacks": ["ICMP"], "idle": {"jitter_ms": 1.5},
        });
        let test = read(&least.to_string()).unwrap();
        assert_eq!((test.verdict, test.loads), (verdict, Vec::new()));
        assert_eq!(test.limitations, ["ICMP"]);
        assert_eq!(test.idle.jitter, Some(Delta::us(1_500)));
    }

    #[test]
    fn spans_that_no_test_has_are_refused() {
        for (part, key) in [("idle", "jitter_ms"), ("clocks", "error_ms")] {
            for span in ["86400001", "-86400001", "1e300", "1e999", "\"1\"", "true"] {
                let mut damaged = document();
                damaged[part] = json!({ "drift_ppm": 0.0 });
                damaged[part][key] = json!("SPAN");
                let text = damaged.to_string().replace("\"SPAN\"", span);
                assert!(matches!(read(&text), Err(NotATest::Json(_))), "{text}");
            }
        }
    }

    #[test]
    fn others_schemas_cut_runs_and_damage_are_no_tests() {
        let with = |key: &str, value: Value| {
            let mut document = document();
            document[key] = value;
            read(&document.to_string()).unwrap_err().to_string()
        };
        assert!(with("schema", json!("unbloat.test/1")).contains("unbloat.test/1"));
        assert!(with("is_cut", json!(true)).contains("stopped before its end"));
        assert!(with("verdict", json!({"kind": "bloated"})).contains("not the JSON of a test"));
        for damaged in ["", "{", "[]", "null", "{\"schema\": 1}"] {
            assert!(matches!(read(damaged), Err(NotATest::Json(_))), "{damaged}");
        }
    }
}
