//! The answer in words: how much, in which direction, for whom that matters, how sure.

use crate::advice::LoadedDirection;
use crate::distrust::Distrust;
use unbloat_units::Delta;

/// What added delay does to people, from the shortest. DSLReports' A; ITU-T G.114: up to 150 ms from mouth to ear nearly all
/// applications are unaffected, beyond 400 ms is unacceptable for planning a network.
const MEANINGS: [(Delta, &str); 4] = [
    (Delta::ZERO, "nobody notices"),
    (Delta::ms(30), "games notice"),
    (Delta::ms(150), "calls and games suffer"),
    (Delta::ms(400), "calls and games do not work"),
];

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// One line.
    pub headline: String,
    /// A sentence for each direction, then one on where it waits if that is known.
    pub details: Vec<String>,
    /// What makes it less sure; of a fatal reason the headline speaks too.
    pub doubts: Vec<String>,
}

/// The verdict on directions that were loaded one at a time.
pub fn verdict(loaded: &[LoadedDirection], distrust: &[Distrust]) -> Verdict {
    let worst = loaded.iter().max_by_key(|load| load.added_p95);
    let is_fatal = distrust.iter().any(Distrust::is_fatal);
    let headline = match worst {
        None => "no load ran, so nothing is known".to_owned(),
        Some(_) if is_fatal => "this run cannot be trusted, so there is no verdict".to_owned(),
        Some(load) if is_short(load.added_p95) => "no bufferbloat".to_owned(),
        Some(load) => format!(
            "bufferbloat: the {} makes one packet in twenty {:.0} ms late, so {}",
            load.direction.load(),
            load.added_p95.as_ms(),
            meaning(load.added_p95)
        ),
    };
    let mut details: Vec<String> = loaded.iter().map(detail).collect();
    details.extend(loaded.iter().filter_map(place));
    Verdict {
        headline,
        details,
        doubts: distrust.iter().map(Distrust::to_string).collect(),
    }
}

fn is_short(added: Delta) -> bool {
    added < MEANINGS[1].0
}

fn meaning(added: Delta) -> &'static str {
    let reached = MEANINGS.iter().rev().find(|(from, _)| added >= *from);
    reached.map_or(MEANINGS[0].1, |(_, words)| words)
}

fn detail(load: &LoadedDirection) -> String {
    format!(
        "{}: {}, with {:.0} ms more for one packet in twenty: {}",
        load.direction.name(),
        load.goodput,
        load.added_p95.as_ms(),
        meaning(load.added_p95)
    )
}

fn place(load: &LoadedDirection) -> Option<String> {
    let split = load.split.as_ref()?;
    Some(format!("{}: {}", load.direction.name(), split.in_words()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::Queue;
    use crate::split::{Split, StackView};
    use unbloat_units::Rate;
    use unbloat_workload::Direction;

    fn load(direction: Direction, added_ms: i64) -> LoadedDirection {
        LoadedDirection {
            direction,
            goodput: Rate::mbps(10),
            is_steady: true,
            added_p95: Delta::ms(added_ms),
            idle_rtt: Delta::ms(20),
            split: None,
            queue: Queue::Unknown,
        }
    }

    #[test]
    fn the_worst_direction_makes_the_headline() {
        let loaded = [load(Direction::Down, 12), load(Direction::Up, 240)];
        let verdict = verdict(&loaded, &[]);
        assert_eq!(
            verdict.headline,
            "bufferbloat: the upload makes one packet in twenty 240 ms late, so calls and games suffer"
        );
        assert_eq!(
            verdict.details,
            [
                "down: 10.00 Mbit/s, with 12 ms more for one packet in twenty: nobody notices",
                "up: 10.00 Mbit/s, with 240 ms more for one packet in twenty: calls and games suffer",
            ]
        );
    }

    #[test]
    fn short_queues_are_no_bufferbloat_even_a_little_below_zero() {
        let loaded = [load(Direction::Down, 29), load(Direction::Up, -1)];
        let verdict = verdict(&loaded, &[]);
        assert_eq!(verdict.headline, "no bufferbloat");
        assert!(verdict.details[1].ends_with("nobody notices"));
    }

    #[test]
    fn a_run_that_means_nothing_has_no_verdict_and_says_why() {
        let busy = [Distrust::CpuBusy {
            busy: 0.95,
            late: Some(0.1),
        }];
        let of_busy = verdict(&[load(Direction::Up, 900)], &busy);
        assert!(of_busy.headline.contains("no verdict"));
        assert!(of_busy.doubts[0].contains("95 %"));
        assert!(verdict(&[], &[]).headline.contains("nothing is known"));
    }

    #[test]
    fn places_are_named_where_they_are_known() {
        let view = StackView {
            udp: Some(Delta::ms(160)),
            tcp: Some(Delta::ms(161)),
            own: Some(Delta::ms(1700)),
            foreign: None,
            icmp: None,
        };
        let down = LoadedDirection {
            split: Split::of(&view, None),
            ..load(Direction::Down, 160)
        };
        let details = verdict(&[down], &[]).details;
        assert!(
            details[1].starts_with("down: load adds 1539 ms in sockets"),
            "{details:?}"
        );
    }
}
