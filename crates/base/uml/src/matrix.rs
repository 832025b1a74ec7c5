//! The scenarios whose outcomes are committed under `truth/`.

use crate::scenario::Scenario;
use std::ops::RangeInclusive;
use unbloat_units::{Delta, Rate};

/// Every discipline with CUBIC: name, `tc` words, ECN.
const QUEUES: &[(&str, &str, bool)] = &[
    ("pfifo-1000", "pfifo limit 1000", false),
    ("pfifo-100", "pfifo limit 100", false),
    ("bfifo-150k", "bfifo limit 150000", false),
    ("codel", "codel", false),
    ("codel-ecn", "codel ecn", true),
    ("fq_codel", "fq_codel noecn", false),
    ("fq_codel-ecn", "fq_codel", true),
    ("pie", "pie", false),
    ("pie-ecn", "pie ecn", true),
    ("red", RED, false),
    ("red-ecn", RED_ECN, true),
    ("cake", "cake", false),
    ("cake-ecn", "cake", true),
    ("fq", "fq", false),
    ("tbf", "tbf rate 10mbit burst 1514 limit 150000", false),
];

/// Those that draw lots, which one seed says little about.
const DRAWING: &[&str] = &["pie", "pie-ecn", "red", "red-ecn"];
const SEEDS: RangeInclusive<u64> = 2..=32;

const RED: &str =
    "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 probability 0.02 bandwidth 10mbit";
const RED_ECN: &str = "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 probability 0.02 bandwidth 10mbit ecn";

const CONTROLS: &[&str] = &[
    "reno",
    "cubic",
    "vegas",
    "bic",
    "htcp",
    "highspeed",
    "westwood",
    "bbr",
    "illinois",
    "yeah",
    "nv",
];

/// Names and scenarios, in the order of the table. All: 10 Mbit/s of IP packets, 60 s, a sample a second;
/// seed 1 unless the name says another.
pub fn matrix() -> Vec<(String, Scenario)> {
    let mut all = Vec::new();
    for &(name, queue, ecn) in QUEUES {
        let mut scenario = short(queue).flow("cubic");
        scenario.ecn = ecn;
        all.push((format!("cubic-over-{name}"), scenario.clone()));
        let more = DRAWING.contains(&name).then_some(SEEDS);
        all.extend(more.into_iter().flatten().map(|seed| {
            let name = format!("cubic-over-{name}-seed-{seed}");
            (
                name,
                Scenario {
                    seed,
                    ..scenario.clone()
                },
            )
        }));
    }
    for (name, queue) in [
        ("pfifo-100", "pfifo limit 100"),
        ("pfifo-1000", "pfifo limit 1000"),
    ] {
        for control in CONTROLS.iter().filter(|&&control| control != "cubic") {
            all.push((format!("{control}-over-{name}"), short(queue).flow(control)));
        }
    }
    // DCTCP lives on marks above a step.
    let mut dctcp = short("codel target 1s ce_threshold 6ms ecn").flow("dctcp");
    dctcp.ecn = true;
    all.push(("dctcp-over-step".to_owned(), dctcp));
    let reference = path(Delta::ms(50), Delta::ms(50), "pfifo limit 1000");
    all.push((
        "reference-cubic".to_owned(),
        reference.clone().flow("cubic"),
    ));
    let ten = (0..10).fold(reference, |scenario, _| scenario.flow("cubic"));
    all.push(("reference-ten-cubic".to_owned(), ten.clone()));
    // How much of an outcome hangs on so little.
    let mut staggered = ten;
    for (flow, start) in staggered.flows.iter_mut().zip(0..) {
        flow.start_ns = start * 1_000_000;
    }
    all.push(("reference-ten-cubic-staggered".to_owned(), staggered));
    all
}

/// 40 ms one way.
fn short(queue: &str) -> Scenario {
    path(Delta::ms(0), Delta::ms(40), queue)
}

fn path(forward: Delta, back: Delta, queue: &str) -> Scenario {
    let mut scenario = Scenario::new(Rate::mbps(10), forward, queue, Delta::secs(60));
    scenario.return_delay_ns = u64::try_from(back.as_ns()).unwrap_or(0);
    scenario.sample_every_ns = 1_000_000_000;
    scenario
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use unbloat_netns::tc::{Discipline, Framing};

    #[test]
    fn names_are_distinct_and_queues_are_understood() {
        let matrix = matrix();
        let names: BTreeSet<_> = matrix.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), matrix.len());
        for (name, scenario) in &matrix {
            let read = Discipline::parse(&scenario.queue, scenario.rate_bps, Framing::default());
            assert!(read.is_ok(), "{name}: {read:?}");
        }
    }
}
