//! Under which conditions two runs were made, and where these differ.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What is known of how a run was made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// How the run is called in what people read.
    pub name: String,
    /// In words: virtual, real, capture.
    pub clock: String,
    /// Program, version, kernel, inputs, options and the like, each under its name. `scenario.warmup` is read as a span.
    pub settings: BTreeMap<String, String>,
    /// Sentences about what makes the run less than whole: stopped, damaged, too late.
    pub warnings: Vec<String>,
    /// What the run's own program concluded, in one sentence.
    pub verdict: Option<String>,
    /// Standing delay of each direction on which the verdict says something, in milliseconds.
    pub standing_ms: Vec<(String, f64)>,
}

/// Something in which two runs were made differently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Condition {
    pub what: String,
    /// None where the run says nothing of it.
    pub a: Option<String>,
    pub b: Option<String>,
}

/// Settings that come first, as they tell two kinds of run apart; those that come last hardly matter.
const FIRST: [&str; 3] = ["program", "clock", "input"];
const LAST: [&str; 6] = [
    "options",
    "schema_version",
    "version",
    "kernel",
    "seed",
    "repeats",
];

/// Everything that differs, what explains most first.
pub(crate) fn conditions(a: &Facts, b: &Facts) -> Vec<Condition> {
    let clock = "clock".to_owned();
    let settings = a.settings.keys().chain(b.settings.keys());
    let mut names: Vec<&String> = settings.chain([&clock]).collect();
    names.sort_by_key(|name| (rank(name), name.as_str()));
    names.dedup();
    let named = |name: &str, of: &Facts| match name {
        "clock" => Some(of.clock.clone()),
        _ => of.settings.get(name).cloned(),
    };
    let conditions = names.into_iter().map(|name| Condition {
        what: name.clone(),
        a: named(name, a),
        b: named(name, b),
    });
    // How a lab was set up says nothing beside a run that is none.
    let is_told =
        |one: &Condition| !one.what.starts_with("lab.") || (one.a.is_some() && one.b.is_some());
    conditions
        .filter(|one| one.a != one.b && is_told(one))
        .collect()
}

fn rank(name: &str) -> usize {
    let first = FIRST.iter().position(|known| *known == name);
    let last = LAST.iter().position(|known| *known == name);
    match (first, last) {
        (Some(at), _) => at,
        (_, Some(at)) => FIRST.len() + 1 + at,
        _ => FIRST.len(),
    }
}

/// Sentences about differences that make numbers hard to lay side by side.
pub(crate) fn cautions(a: &Facts, b: &Facts) -> Vec<String> {
    let mut cautions = Vec::new();
    for (letter, facts) in [("A", a), ("B", b)] {
        cautions.extend(
            facts
                .warnings
                .iter()
                .map(|warning| format!("{letter}: {warning}")),
        );
    }
    if a.clock != b.clock {
        cautions.push(format!("A uses {} time, B uses {} time.", a.clock, b.clock));
    }
    let both = |name: &str| Some((a.settings.get(name)?, b.settings.get(name)?));
    for (name, what) in [
        ("scenario.warmup", "The warm-up excluded from results"),
        ("scenario.duration", "The length of a run"),
        ("schema_version", "The version of the tables"),
        ("scenario.name", "The scenario"),
    ] {
        if let Some((of_a, of_b)) = both(name).filter(|(of_a, of_b)| of_a != of_b) {
            cautions.push(format!("{what} differs: {of_a} and {of_b}."));
        }
    }
    cautions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(clock: &str, settings: &[(&str, &str)]) -> Facts {
        Facts {
            clock: clock.into(),
            settings: settings
                .iter()
                .map(|(k, v)| ((*k).into(), (*v).into()))
                .collect(),
            ..Facts::default()
        }
    }

    #[test]
    fn what_explains_most_comes_first() {
        let a = facts(
            "virtual",
            &[
                ("version", "1"),
                ("link.down.queue", "droptail"),
                ("program", "unbloat sim"),
                ("same", "x"),
            ],
        );
        let b = facts(
            "real",
            &[
                ("version", "2"),
                ("link.down.queue", "codel"),
                ("program", "unbloat lab"),
                ("same", "x"),
                ("only", "b"),
            ],
        );
        let found: Vec<String> = conditions(&a, &b).into_iter().map(|one| one.what).collect();
        assert_eq!(
            found,
            ["program", "clock", "link.down.queue", "only", "version"]
        );
        assert!(conditions(&a, &a).is_empty());
    }

    #[test]
    fn another_clock_and_another_warm_up_are_named() {
        let a = facts("virtual", &[("scenario.warmup", "10 s")]);
        let b = facts("real", &[("scenario.warmup", "5 s")]);
        let found = cautions(&a, &b);
        assert_eq!(found.len(), 2);
        assert!(
            found[0].contains("virtual time") && found[1].contains("10 s and 5 s"),
            "{found:?}"
        );
    }
}
