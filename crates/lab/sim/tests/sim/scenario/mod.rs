//! Experiments from the text of scenarios, and their results by name.

use flate2::read::GzDecoder;
use std::io::Read;
use unbloat_experiment::outcome::{Outcomes, is_conserved, results};
use unbloat_experiment::scenario::toml::Node;
use unbloat_experiment::scenario::{Experiment, build};
use unbloat_sim::run;

/// Links may name the traces in `traces/`.
pub fn experiment(text: &str) -> Experiment {
    let files = |name: &str| {
        let path = format!("{}/../../../traces/{name}", env!("CARGO_MANIFEST_DIR"));
        let packed = std::fs::read(path).map_err(|error| error.to_string())?;
        let mut bytes = Vec::new();
        match GzDecoder::new(&packed[..]).read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(error) => Err(error.to_string()),
        }
    };
    Node::parse(text)
        .and_then(|scenario| build(&scenario, &files))
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A run and what came of it.
pub struct Run {
    pub outcomes: Outcomes,
    named: Vec<unbloat_experiment::outcome::RunResult>,
}

impl Run {
    pub fn of(text: &str) -> Run {
        Run::from(&experiment(text))
    }

    /// Every run conserves packets and bytes, whatever it is for.
    pub fn from(experiment: &Experiment) -> Run {
        let outcomes = run(experiment);
        assert!(is_conserved(&outcomes), "{}", experiment.name);
        Run {
            named: results(&outcomes),
            outcomes,
        }
    }

    /// A result of a flow, of `down`, `up` or `all`.
    pub fn get(&self, subject: &str, metric: &str) -> f64 {
        let found = self
            .named
            .iter()
            .find(|result| result.subject == subject && result.metric == metric);
        found
            .unwrap_or_else(|| panic!("no {subject}.{metric} in {:?}", self.named))
            .value
    }
}
