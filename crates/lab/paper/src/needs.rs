//! What a figure needs of its runs.

use crate::evidence::EvidencePoint;
use crate::figure::{Figure, Request, RunRecipe, Series, Source, effect_run};
use crate::quantity::{Other, Quantity};
use std::collections::BTreeMap;

/// By the name of the run in the recipe.
pub type Requests = BTreeMap<String, (Request, Needs)>;

/// Values of a sweep.
type Place = BTreeMap<String, String>;

/// What is read of a request's runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Series, of the first repeat of each point.
    pub tables: bool,
    /// The points of the sweep with one of these combinations of values; an empty one is all points.
    places: Vec<Place>,
}

impl Needs {
    /// Whether the point with these values is read.
    pub fn has(&self, values: &BTreeMap<String, String>) -> bool {
        self.places
            .iter()
            .any(|place| EvidencePoint::is_at(values, place))
    }

    /// What several figures need together.
    pub fn join(&mut self, other: Needs) {
        self.tables |= other.tables;
        self.places.extend(other.places);
    }
}

impl Figure {
    /// What to run, by the names of its runs, and what it reads of that.
    pub fn requests(&self, paper: &str) -> Requests {
        let runs = self.runs.iter();
        let requests =
            runs.map(|(name, run)| (name.clone(), (request(paper, run, &[]), self.needs(name))));
        requests.collect()
    }

    /// What shows the effects of assumptions.
    pub fn effect_requests(&self, paper: &str) -> Requests {
        let mut requests = Requests::new();
        for (index, assumption) in self.assumptions.iter().enumerate() {
            let Some(effect) = &assumption.effect else {
                continue;
            };
            let on = &effect.on;
            if let Some(run) = self.runs.get(&on.run) {
                let values: Vec<String> = effect.values.iter().map(|v| quoted(v)).collect();
                let set = format!("{}=[{}]", effect.key, values.join(", "));
                let mut needs = Needs {
                    tables: on.table.is_some(),
                    places: places(on).map(|(_, place)| place).collect(),
                };
                // Of this key all values are asked for.
                for place in &mut needs.places {
                    place.remove(&effect.key);
                }
                requests.insert(effect_run(index), (request(paper, run, &[set]), needs));
            }
        }
        requests
    }

    fn needs(&self, run: &str) -> Needs {
        let mut needs = Needs::default();
        let series = self.panels.iter().flat_map(|panel| &panel.series);
        for one in series
            .clone()
            .filter(|one| one.points.is_empty() && one.run == run)
        {
            needs.tables |= one.table.is_some();
            needs.places.extend(drawn(one));
        }
        let points = series.flat_map(|one| &one.points);
        let points = points.map(|point| &point.quantity);
        let claims = self.claims.iter().flat_map(|claim| claim.quantities());
        for quantity in points.chain(claims) {
            needs.tables |= quantity.table_runs().any(|name| name == run);
            let here = places(quantity).filter(|(of, _)| *of == run);
            needs.places.extend(here.map(|(_, place)| place));
        }
        needs
    }
}

/// Where a curve lies, and that from which it shows a change.
fn drawn(series: &Series) -> impl Iterator<Item = Place> {
    let reference = series.change_from.as_ref().map(|values| {
        let mut place = series.at.clone();
        place.extend(values.clone());
        place
    });
    std::iter::once(series.at.clone()).chain(reference)
}

/// Runs and points that a quantity reads.
fn places(quantity: &Quantity) -> impl Iterator<Item = (&str, Place)> {
    let other = quantity.over.iter().chain(&quantity.change_from);
    let other = other.map(|other: &Other| {
        let run = other.run.as_deref().unwrap_or(&quantity.run);
        let place = other.at.as_ref().unwrap_or(&quantity.at);
        (run, place.clone())
    });
    std::iter::once((quantity.run.as_str(), quantity.at.clone())).chain(other)
}

fn request(paper: &str, run: &RunRecipe, more: &[String]) -> Request {
    let source = match (&run.scenario, &run.model, &run.lte_trace) {
        (Some(file), ..) => Source::Scenario {
            file: match file.contains('/') {
                true => file.clone(),
                false => format!("{paper}/{file}"),
            },
            set: run.set.iter().chain(more).cloned().collect(),
            kernel: run.kernel.clone(),
        },
        (None, Some(model), _) => Source::Model(model.clone()),
        (None, None, Some(trace)) => Source::LteTrace(trace.clone()),
        (None, None, None) => {
            unreachable!("a recipe without a source is refused when it is read")
        }
    };
    Request {
        source,
        repeats: run.repeats,
    }
}

/// A value of a scenario: text needs quotes unless it is a number, a truth value, a list or a table.
fn quoted(value: &str) -> String {
    let is_toml = value.parse::<f64>().is_ok()
        || matches!(value, "true" | "false")
        || value.starts_with(['[', '{', '"']);
    match is_toml {
        true => value.to_owned(),
        false => format!("{value:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(values: &[(&str, &str)]) -> Place {
        let owned = values
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        owned.collect()
    }

    #[test]
    fn only_points_that_are_read_are_needed() {
        let text = "label = \"Figure 1\"\ntitle = \"t\"\nplace = \"1\"\nshows = \"s\"\n\
            [run.a]\nscenario = \"s.toml\"\n[run.b]\nscenario = \"s.toml\"\n\
            [[panel]]\ntitle = \"p\"\nx = { label = \"x\" }\ny = { label = \"y\" }\n\
            [[panel.series]]\nname = \"n\"\nrun = \"a\"\nx = \"k\"\nresult = \"r.m\"\n\
            at = { load = \"high\" }\nchange_from = { load = \"low\" }\n\
            [[claim]]\nsays = \"c\"\nvalue = 1.0\n\
            ours = { run = \"b\", at = { k = \"1\" }, result = \"r.m\", over = { at = { k = \"2\" } } }\n\
            [[assumption]]\nparameter = \"p\"\nvalue = \"v\"\nwhy = \"w\"\n\
            [assumption.effect]\nkey = \"k\"\nvalues = [\"3\"]\n\
            on = { run = \"a\", at = { load = \"high\", k = \"1\" }, result = \"r.m\" }\n";
        let figure: Figure = toml::from_str(text).unwrap();
        let mut requests = figure.requests("paper");
        requests.extend(figure.effect_requests("paper"));
        let has = |run: &str, values: &[(&str, &str)]| requests[run].1.has(&place(values));
        assert!(has("a", &[("load", "high"), ("k", "1")]));
        assert!(has("a", &[("load", "low"), ("k", "2")]));
        assert!(!has("a", &[("load", "none"), ("k", "2")]));
        assert!(has("b", &[("k", "1")]) && has("b", &[("k", "2")]));
        assert!(!has("b", &[("k", "3")]));
        assert!(has("~0", &[("load", "high"), ("k", "3")]));
        assert!(!has("~0", &[("load", "low"), ("k", "3")]));
        assert!(requests.values().all(|(_, needs)| !needs.tables));
    }
}
