//! How much a page may have measured: a run comes from a stranger, and is judged by a server that others use.

use super::PageStage;
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// A page has four, or three.
const STAGES: usize = 8;
/// A page has eight.
const LANES: u16 = 64;
/// A page has some 2,500 samples, and less of anything else.
const READINGS: usize = 20_000;
const FAILURES: usize = 1_000;

type Sample = (u16, f64, f64);

pub fn stages<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<PageStage>, D::Error> {
    at_most(STAGES, from)
}

pub fn failures<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    at_most(FAILURES, from)
}

pub fn readings<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    at_most(READINGS, from)
}

pub fn samples<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Sample>, D::Error> {
    let samples: Vec<Sample> = readings(from)?;
    match samples.iter().all(|sample| sample.0 < LANES) {
        true => Ok(samples),
        false => Err(D::Error::custom(format!(
            "a page has at most {LANES} lanes"
        ))),
    }
}

/// Refuses a list as soon as it is too long, before the rest is read.
fn at_most<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    most: usize,
    from: D,
) -> Result<Vec<T>, D::Error> {
    struct AtMost<T>(usize, PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for AtMost<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of at most {} elements", self.0)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
            let mut all = Vec::new();
            while let Some(element) = list.next_element()? {
                if all.len() == self.0 {
                    return Err(A::Error::invalid_length(all.len() + 1, &self));
                }
                all.push(element);
            }
            Ok(all)
        }
    }

    from.deserialize_seq(AtMost(most, PhantomData))
}

#[cfg(test)]
mod tests {
    use crate::PageRun;

    /// A run with so many stages, and samples on as many lanes.
    fn run(stages: usize, samples: usize, lanes: usize) -> Result<PageRun, String> {
        let stage = r#"{"name":"down","start_ms":0,"end_ms":1000}"#;
        let samples = (0..samples).map(|n| format!("[{},{},1]", n % lanes, n % 1000));
        let text = format!(
            r#"{{"stages":[{}],"samples":[{}],"unanswered":[],"down":[],"up":[],"watched":{{"hidden_ms":0,"late_p95_ms":1,"failures":[],
            "lanes":8,"lanes_lost":0,"interval_ms":20,"network_changed":false,"connections":16,"congestion_control":null,"limit_bps":null}}}}"#,
            vec![stage; stages].join(","),
            samples.collect::<Vec<_>>().join(",")
        );
        serde_json::from_str(&text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_run_that_would_take_long_to_judge_is_refused() {
        assert!(run(8, 20_000, 64).is_ok());
        for (stages, samples, lanes) in [(9, 1, 1), (1, 20_001, 1), (1, 100, 65)] {
            let error = run(stages, samples, lanes).unwrap_err();
            assert!(error.contains("at most"), "{error}");
        }
    }
}
