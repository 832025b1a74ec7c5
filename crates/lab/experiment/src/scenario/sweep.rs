//! `[sweep]`: one run for every combination of values, each repeated with seeds of its own.

use crate::scenario::preset;
use crate::scenario::toml::{Error, Node, Origin, Value};

/// More runs than this in one sweep are a slip of the pen.
const MAX_RUNS: usize = 1_000_000;

/// A key that is varied.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    pub key: String,
    pub values: Vec<Node>,
}

/// All combinations of the axes' values, the last axis varying fastest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sweep {
    pub axes: Vec<Axis>,
    pub repeats: u32,
}

/// One combination of values: what to put where.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub index: usize,
    pub values: Vec<(String, Node)>,
}

impl Sweep {
    /// Takes `[sweep]` out of a scenario; without one there is a single point and a single run.
    pub fn take(scenario: &mut Node) -> Result<Sweep, Error> {
        let mut sweep = Sweep {
            axes: Vec::new(),
            repeats: 1,
        };
        let Some(mut node) = scenario.take("sweep") else {
            return Ok(sweep);
        };
        if let Some(repeats) = node.take("repeats") {
            sweep.repeats = match repeats.value {
                Value::Integer(count @ 1..=1_000_000) => count as u32,
                _ => {
                    return Err(fault(
                        &repeats,
                        "repeats",
                        "expected an integer of at least 1",
                    ));
                }
            };
        }
        sweep.collect("", &node)?;
        sweep
            .check()
            .map_err(|message| fault(&node, "", &message))?;
        Ok(sweep)
    }

    /// Asks for so many runs of each point.
    pub fn repeat(&mut self, repeats: u32) -> Result<(), Error> {
        self.repeats = repeats.max(1);
        let given = |message| Error::new(Origin::Nowhere, "--repeats", message);
        self.check().map_err(given)
    }

    /// No more runs than anybody means.
    fn check(&self) -> Result<(), String> {
        let values = self.axes.iter().map(|axis| axis.values.len());
        let runs = values
            .chain([self.repeats as usize])
            .try_fold(1_usize, usize::checked_mul);
        if runs.is_some_and(|runs| runs <= MAX_RUNS) {
            return Ok(());
        }
        let axes = self.axes.iter();
        let axes = axes.map(|axis| format!("{} values of {}", axis.values.len(), axis.key));
        let factors: Vec<_> = axes.chain([format!("{} repeats", self.repeats)]).collect();
        Err(format!(
            "{} exceed the limit of {MAX_RUNS} runs",
            factors.join(" times ")
        ))
    }

    fn collect(&mut self, path: &str, node: &Node) -> Result<(), Error> {
        match &node.value {
            Value::Array(values) if !values.is_empty() => {
                let values = values.iter().map(|value| Node {
                    origin: Origin::Sweep,
                    value: value.value.clone(),
                });
                self.axes.push(Axis {
                    key: path.to_owned(),
                    values: values.collect(),
                });
                Ok(())
            }
            Value::Table(table) => table.iter().try_for_each(|(name, below)| match path {
                "" => self.collect(name, below),
                _ => self.collect(&format!("{path}.{name}"), below),
            }),
            _ => Err(fault(
                node,
                path,
                "expected an array of values, like [1, 2]",
            )),
        }
    }

    /// Puts `key=value` into the scenario; an array where the scenario has none becomes an axis of the sweep. A key that the
    /// sweep varies, and one within a table that is put there, is varied no longer.
    pub fn set(&mut self, scenario: &mut Node, assignment: &str) -> Result<(), Error> {
        let (key, node) = Node::assignment(assignment)?;
        let is_within = |rest: &str| rest.is_empty() || rest.starts_with('.');
        self.axes
            .retain(|axis| !axis.key.strip_prefix(key).is_some_and(is_within));
        let has_array = scenario
            .get(key)
            .is_some_and(|old| matches!(old.value, Value::Array(_)));
        match &node.value {
            Value::Array(values) if !has_array && !values.is_empty() => {
                let values = values.clone();
                self.axes.push(Axis {
                    key: key.to_owned(),
                    values,
                });
                let given = |message| Error::new(Origin::Set, key, message);
                self.check().map_err(given)
            }
            _ => scenario.put(key, node),
        }
    }

    /// How many combinations there are.
    pub fn points(&self) -> usize {
        self.axes.iter().map(|axis| axis.values.len()).product()
    }

    pub fn point(&self, index: usize) -> Point {
        let mut rest = index;
        let mut values: Vec<_> = self
            .axes
            .iter()
            .rev()
            .map(|axis| {
                let node = axis.values[rest % axis.values.len()].clone();
                rest /= axis.values.len();
                (axis.key.clone(), node)
            })
            .collect();
        values.reverse();
        Point { index, values }
    }
}

impl Point {
    /// The scenario with this point's values in place, then those of its presets.
    pub fn apply(&self, scenario: &Node) -> Result<Node, Error> {
        let mut scenario = scenario.clone();
        for (key, value) in &self.values {
            scenario.put(key, value.clone())?;
        }
        preset::apply(&mut scenario)?;
        Ok(scenario)
    }
}

fn fault(node: &Node, key: &str, message: &str) -> Error {
    let key = if key.is_empty() {
        "sweep".to_owned()
    } else {
        format!("sweep.{key}")
    };
    Error::new(node.origin.clone(), key, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
        [link.down]
        rate = \"1 Mbit/s\"
        [[flow]]
        cc = \"cubic\"
        [sweep]
        repeats = 3
        link.down.rate = [\"2 Mbit/s\", \"4 Mbit/s\"]
        \"flow.0.cc\" = [\"newreno\", \"vegas\", \"bbr\"]
    ";

    fn texts(scenario: &Node) -> [String; 2] {
        ["link.down.rate", "flow.0.cc"]
            .map(|key| scenario.get(key).unwrap().as_text().unwrap().to_owned())
    }

    #[test]
    fn every_combination_comes_once_and_changes_only_what_it_names() {
        let mut scenario = Node::parse(TEXT).unwrap();
        let sweep = Sweep::take(&mut scenario).unwrap();
        assert_eq!((sweep.repeats, sweep.points()), (3, 6));
        let mut seen: Vec<_> = (0..6)
            .map(|index| texts(&sweep.point(index).apply(&scenario).unwrap()))
            .collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 6);
        assert_eq!(texts(&scenario), ["1 Mbit/s", "cubic"]);
    }

    #[test]
    fn an_array_given_on_the_command_line_is_swept_over() {
        let mut scenario = Node::parse(TEXT).unwrap();
        let mut sweep = Sweep::take(&mut scenario).unwrap();
        sweep.set(&mut scenario, "link.down.rate=9 Mbit/s").unwrap();
        assert_eq!((sweep.points(), &texts(&scenario)[0][..]), (3, "9 Mbit/s"));
        sweep
            .set(&mut scenario, "link.down.delay=[\"1 ms\", \"2 ms\"]")
            .unwrap();
        assert_eq!(sweep.points(), 6);
    }

    #[test]
    fn a_table_given_on_the_command_line_ends_sweeps_within_it() {
        let mut scenario = Node::parse(TEXT).unwrap();
        let mut sweep = Sweep::take(&mut scenario).unwrap();
        sweep
            .set(&mut scenario, "link.down={rate=\"9 Mbit/s\"}")
            .unwrap();
        assert_eq!((sweep.points(), &texts(&scenario)[0][..]), (3, "9 Mbit/s"));
    }

    #[test]
    fn a_sweep_over_nothing_or_over_too_much_is_refused() {
        for (from, to) in [
            ("[\"2 Mbit/s\", \"4 Mbit/s\"]", "3"),
            ("repeats = 3", "repeats = 0"),
            ("repeats = 3", "repeats = 999999"),
        ] {
            let mut scenario = Node::parse(&TEXT.replace(from, to)).unwrap();
            let error = Sweep::take(&mut scenario).unwrap_err().to_string();
            assert!(error.contains("sweep"), "{error}");
        }
    }

    #[test]
    fn the_command_line_is_held_to_the_same_number_of_runs() {
        let mut scenario = Node::parse(TEXT).unwrap();
        let mut sweep = Sweep::take(&mut scenario).unwrap();
        let fault = sweep.clone().repeat(200_000).unwrap_err().to_string();
        assert_eq!(
            fault,
            "--repeats: 3 values of flow.0.cc times 2 values of link.down.rate times 200000 repeats exceed the limit of 1000000 runs"
        );
        sweep.repeat(100_000).unwrap();
        let swept = sweep
            .set(&mut scenario, "link.down.delay=[\"1 ms\", \"2 ms\"]")
            .unwrap_err()
            .to_string();
        assert!(
            swept.starts_with("--set: link.down.delay: 3 values of"),
            "{swept}"
        );
    }
}
