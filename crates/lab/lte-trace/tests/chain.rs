//! The whole way: generated on threads, analysed, compared with the truth.

use unbloat_lte_trace::{Params, analyse, score};
use unbloat_units::Delta;

fn params() -> Params {
    Params {
        users: 6,
        session: Delta::secs(1_200),
        drain: Delta::secs(600),
        ..Params::default()
    }
}

#[test]
fn one_and_two_threads_give_the_same_trace_and_analysis() {
    let [one, two] = [1, 2].map(|threads| analyse(&params(), 5, threads).unwrap());
    assert_eq!(one, two);
}

/// Bounds and their reasons stand with the checks.
#[test]
fn the_analysis_keeps_its_bounds_against_the_truth() {
    let (seen, truth) = analyse(&params(), 9, 1).unwrap();
    assert!(seen.packets > 10_000 && seen.flows.len() > 300);
    for check in score::checks(&seen, &truth) {
        assert_ne!(check.is_hit(), Some(false), "{check:?}");
    }
    // What clients read has arrived, some of it twice; slots of time are in order.
    for user in &truth {
        let arrived: u64 = user
            .arrived
            .iter()
            .map(|(_, bytes)| u64::from(*bytes))
            .sum();
        let read: u64 = user.flows.iter().map(|flow| flow.read.down).sum();
        assert!(
            (read..=read + read / 10).contains(&arrived),
            "{read} {arrived}"
        );
        assert!(user.arrived.is_sorted_by(|one, other| one.0 < other.0));
    }
}
