//! Which point of one sweep is which of the other.

use crate::run::Run;
use std::collections::{BTreeMap, BTreeSet};

/// Points that are laid side by side.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Matched {
    /// Of A, of B, and what they are, in words; nothing where there is no sweep.
    pub(crate) pairs: Vec<(u64, u64, String)>,
    /// Points of one run only.
    pub(crate) only: [Vec<String>; 2],
    /// How they were matched, where that is not by what they set.
    pub(crate) note: Option<String>,
}

type Settings = BTreeMap<String, String>;

pub(crate) fn matched(a: &Run, b: &Run) -> Matched {
    let (of_a, of_b) = (settings(a), settings(b));
    // Of points that set the same the last is taken.
    let numbers: BTreeMap<&Settings, u64> =
        of_b.iter().map(|(number, set)| (set, *number)).collect();
    let twins = of_a
        .iter()
        .filter_map(|(number, set)| Some((*number, *numbers.get(set)?, label(set))));
    let mut pairs: Vec<_> = twins.collect();
    let mut note = None;
    if pairs.is_empty() && !of_a.is_empty() && !of_b.is_empty() {
        (pairs, note) = otherwise(a, &of_a, b, &of_b);
    }
    let left = |of: &BTreeMap<u64, Settings>, used: BTreeSet<u64>| {
        let unused = of.iter().filter(|(number, _)| !used.contains(number));
        unused.map(|(_, set)| label(set)).collect()
    };
    let only = [
        left(&of_a, pairs.iter().map(|pair| pair.0).collect()),
        left(&of_b, pairs.iter().map(|pair| pair.1).collect()),
    ];
    Matched { pairs, only, note }
}

/// Points that have results, with what they set.
fn settings(run: &Run) -> BTreeMap<u64, Settings> {
    let of = |number: &u64| run.points.get(number).cloned().unwrap_or_default();
    run.results
        .keys()
        .map(|number| (*number, of(number)))
        .collect()
}

/// A single point against the point of a sweep that sets what the single run had anyway; else, of sweeps over other keys,
/// the first against the first and so on.
fn otherwise(
    a: &Run,
    of_a: &BTreeMap<u64, Settings>,
    b: &Run,
    of_b: &BTreeMap<u64, Settings>,
) -> (Vec<(u64, u64, String)>, Option<String>) {
    let fitting = |single: &Run, sweep: &BTreeMap<u64, Settings>| {
        let has = |(key, value): (&String, &String)| single.facts.settings.get(key) == Some(value);
        let mut fits = sweep.iter().filter(|(_, set)| set.iter().all(has));
        fits.next().map(|(number, set)| (*number, label(set)))
    };
    let (first_a, first_b) = (of_a.keys().next(), of_b.keys().next());
    let by_value =
        "The single run is compared with the point of the sweep that has the same values.";
    if let (1, Some(first), Some((number, label))) = (of_a.len(), first_a, fitting(a, of_b)) {
        return (vec![(*first, number, label)], Some(by_value.to_owned()));
    }
    if let (1, Some(first), Some((number, label))) = (of_b.len(), first_b, fitting(b, of_a)) {
        return (vec![(number, *first, label)], Some(by_value.to_owned()));
    }
    let has_label = |of: &BTreeMap<u64, Settings>| of.values().any(|set| !set.is_empty());
    if of_a.len() != of_b.len() || !(has_label(of_a) && has_label(of_b)) {
        return (Vec::new(), None);
    }
    let pairs = of_a.iter().zip(of_b);
    let pairs =
        pairs.map(|((x, set), (y, other))| (*x, *y, format!("{} | {}", label(set), label(other))));
    let note = "The sweeps set different values: points were matched by their order.";
    (pairs.collect(), Some(note.to_owned()))
}

fn label(set: &Settings) -> String {
    let pairs: Vec<String> = set
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    pairs.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::Facts;
    use crate::{Collector, Run};

    /// A run with a result at each of these points.
    fn run(points: &[&[(&str, &str)]], settings: &[(&str, &str)]) -> Run {
        let own = |pairs: &[(&str, &str)]| -> Settings {
            let pairs = pairs.iter();
            pairs
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect()
        };
        let facts = Facts {
            settings: own(settings),
            ..Facts::default()
        };
        let mut run = Collector::new(facts, 0).finish();
        for (number, set) in (0..).zip(points) {
            run.points.insert(number, own(set));
            run.results.insert(number, BTreeMap::new());
        }
        run
    }

    #[test]
    fn points_are_matched_by_what_they_set_whatever_their_number() {
        let a = run(&[&[("q", "1")], &[("q", "2")]], &[]);
        let b = run(&[&[("q", "2")], &[("q", "3")]], &[]);
        let found = matched(&a, &b);
        assert_eq!(found.pairs, [(1, 0, "q=2".to_owned())]);
        assert_eq!(found.only, [["q=1".to_owned()], ["q=3".to_owned()]]);
    }

    #[test]
    fn a_single_run_finds_its_point_of_a_sweep() {
        let single = run(&[&[]], &[("q", "2"), ("other", "x")]);
        let sweep = run(&[&[("q", "1")], &[("q", "2")]], &[]);
        assert_eq!(matched(&single, &sweep).pairs, [(0, 1, "q=2".to_owned())]);
        assert_eq!(matched(&sweep, &single).pairs, [(1, 0, "q=2".to_owned())]);
        let stranger = run(&[&[]], &[("q", "9")]);
        assert!(matched(&stranger, &sweep).pairs.is_empty());
    }

    #[test]
    fn sweeps_over_other_keys_are_matched_by_order_and_say_so() {
        let model = run(&[&[("load", "0.5")], &[("load", "0.8")]], &[]);
        let sim = run(&[&[("rate", "5")], &[("rate", "8")]], &[]);
        let found = matched(&model, &sim);
        assert_eq!(found.pairs[1], (1, 1, "load=0.8 | rate=8".to_owned()));
        assert!(found.note.is_some());
    }
}
