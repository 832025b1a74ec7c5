//! What a path's delay and rate mean for what people do on it.
//!
//! One rule for the headline of a verdict, the terminal and the web page. Each threshold is somebody else's:
//!
//! - games: DSLReports' A ends at 30 ms of added delay; goresponsiveness's profile of games is useless from a median round trip of 150 ms.
//! - calls: by ITU-T G.114 nearly all applications are unaffected up to 150 ms from mouth to ear, and 400 ms is unacceptable.
//! - video: the FCC's Broadband Speed Guide asks for 5 Mbit/s for HD and 25 for 4K, 3 for standard definition. Players buffer seconds: delay hardly matters.
//! - web pages: the first byte of a page of a new server comes after four round trips (DNS; TCP, RFC 9293; TLS 1.3, RFC 8446; HTTP, RFC 9110). Up to one second
//!   a reader's thought is not interrupted (ITU-T G.1030); a first paint after three is poor (web.dev, First Contentful Paint).

use crate::load::LoadedDirection;
use crate::verdict::ms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use unbloat_text::Tone;
use unbloat_units::{Delta, Direction, Rate};

pub(crate) const GAMES_LAG: Delta = Delta::ms(30);
pub(crate) const CALLS_SUFFER: Delta = Delta::ms(150);
pub(crate) const CALLS_BREAK_UP: Delta = Delta::ms(400);
const FAR_FOR_GAMES: Delta = Delta::ms(150);
const ROUND_TRIPS_OF_A_PAGE: i64 = 4;
const PAGES_LATE: Delta = Delta::secs(1);
const PAGES_POOR: Delta = Delta::secs(3);
const VIDEO_4K: Rate = Rate::mbps(25);
const VIDEO_HD: Rate = Rate::mbps(5);
const VIDEO_SD: Rate = Rate::mbps(3);

/// How well something works, the best first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Rating {
    Good,
    Fair,
    Bad,
}

impl Rating {
    /// The rating of a value that should be below both limits.
    fn below(value: Delta, [fair, bad]: [Delta; 2]) -> Rating {
        match value {
            _ if value < fair => Rating::Good,
            _ if value < bad => Rating::Fair,
            _ => Rating::Bad,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Rating::Good => "good",
            Rating::Fair => "fair",
            Rating::Bad => "bad",
        }
    }

    pub const fn tone(self) -> Tone {
        match self {
            Rating::Good => Tone::Good,
            Rating::Fair => Tone::Fair,
            Rating::Bad => Tone::Bad,
        }
    }
}

/// Something that people do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Use {
    pub name: Cow<'static, str>,
    pub rating: Rating,
    /// What it is like, and the number that says so.
    pub text: String,
    /// The thresholds, and whose they are.
    pub rule: Cow<'static, str>,
}

/// Calls, games, video and web pages while the line is busy. What was not measured is not rated.
pub fn uses(directions: &[LoadedDirection]) -> Vec<Use> {
    let Some(worst) = directions.iter().max_by_key(|load| load.added) else {
        return Vec::new();
    };
    let down = directions
        .iter()
        .find(|load| load.direction == Direction::Down);
    let mut all = vec![calls(worst), games(worst)];
    all.extend(down.map(|load| video(load.delivered)));
    all.push(pages(worst));
    all
}

fn calls(worst: &LoadedDirection) -> Use {
    let [idle, loaded] = [Delta::ZERO, worst.added.max(Delta::ZERO)].map(|added| {
        let one_way = worst.idle_rtt / 2 + added;
        (
            Rating::below(one_way, [CALLS_SUFFER, CALLS_BREAK_UP]),
            one_way,
        )
    });
    let words = ["clear", "people talk over each other", "break up"];
    Use {
        name: "Calls".into(),
        rating: loaded.0,
        text: format!(
            "{}: {} one way",
            during(words, loaded.0, idle.0, worst),
            span(loaded.1)
        ),
        rule: "ITU-T G.114: up to 150 ms one way is unnoticed, 400 ms is unacceptable".into(),
    }
}

fn games(worst: &LoadedDirection) -> Use {
    let idle = match worst.idle_rtt < FAR_FOR_GAMES {
        true => Rating::Good,
        false => Rating::Fair,
    };
    let loaded = idle.max(Rating::below(worst.added, [GAMES_LAG, CALLS_SUFFER]));
    let words = ["responsive", "lag", "hardly playable"];
    Use {
        name: "Games".into(),
        rating: loaded,
        text: format!(
            "{}: {} added to a round trip of {}",
            during(words, loaded, idle, worst),
            ms(worst.added),
            ms(worst.idle_rtt)
        ),
        rule: "DSLReports: below 30 ms added is an A; goresponsiveness: a round trip of 150 ms is too long".into(),
    }
}

fn video(delivered: Rate) -> Use {
    let (rating, words) = match delivered {
        _ if delivered >= VIDEO_4K => (Rating::Good, "enough for 4K"),
        _ if delivered >= VIDEO_HD => (Rating::Good, "enough for HD"),
        _ if delivered >= VIDEO_SD => (Rating::Fair, "enough for standard definition only"),
        _ => (Rating::Bad, "keeps buffering"),
    };
    Use {
        name: "Video".into(),
        rating,
        text: format!("{words}: {delivered} down"),
        rule: "FCC Broadband Speed Guide: 3 Mbit/s for standard definition, 5 for HD, 25 for 4K"
            .into(),
    }
}

fn pages(worst: &LoadedDirection) -> Use {
    let [idle, loaded] = [Delta::ZERO, worst.added.max(Delta::ZERO)].map(|added| {
        let wait = (worst.idle_rtt + added) * ROUND_TRIPS_OF_A_PAGE;
        (Rating::below(wait, [PAGES_LATE, PAGES_POOR]), wait)
    });
    let words = ["open promptly", "open slowly", "seem stuck"];
    Use {
        name: "Web pages".into(),
        rating: loaded.0,
        text: format!(
            "{}: {} until the first byte",
            during(words, loaded.0, idle.0, worst),
            span(loaded.1)
        ),
        rule: "four round trips to the first byte of a new server; ITU-T G.1030: up to 1 s does not interrupt; web.dev: a first paint after 3 s is poor".into(),
    }
}

/// The words of a rating, with the load that makes it so, if it does.
fn during(words: [&str; 3], rating: Rating, idle: Rating, worst: &LoadedDirection) -> String {
    let words = words[rating as usize];
    match rating {
        Rating::Good => words.to_owned(),
        _ if idle == rating => format!("{words} even without load"),
        _ => format!("{words} while someone {}s", worst.direction.load()),
    }
}

fn span(span: Delta) -> String {
    match span < Delta::secs(1) {
        true => ms(span),
        false => format!("{:.1} s", span.as_secs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(direction: Direction, added_ms: i64, idle_ms: i64, mbps: u64) -> LoadedDirection {
        LoadedDirection {
            direction,
            delivered: Rate::mbps(mbps),
            line: Rate::mbps(mbps),
            is_steady: true,
            added: Delta::ms(added_ms),
            added_p95: Delta::ms(added_ms),
            idle_rtt: Delta::ms(idle_ms),
            unsent: None,
            is_starved: false,
            located: None,
        }
    }

    fn rated(directions: &[LoadedDirection]) -> Vec<(Cow<'static, str>, Rating, String)> {
        let all = uses(directions).into_iter();
        all.map(|one| (one.name, one.rating, one.text)).collect()
    }

    #[test]
    fn the_worse_direction_decides_and_is_named() {
        let both = [
            load(Direction::Down, 177, 20, 19),
            load(Direction::Up, 778, 20, 5),
        ];
        let expected = [
            (
                "Calls",
                Rating::Bad,
                "break up while someone uploads: 788 ms one way",
            ),
            (
                "Games",
                Rating::Bad,
                "hardly playable while someone uploads: 778 ms added to a round trip of 20 ms",
            ),
            ("Video", Rating::Good, "enough for HD: 19.00 Mbit/s down"),
            (
                "Web pages",
                Rating::Bad,
                "seem stuck while someone uploads: 3.2 s until the first byte",
            ),
        ]
        .map(|(name, rating, text)| (name.into(), rating, text.to_owned()));
        assert_eq!(rated(&both), expected);
    }

    #[test]
    fn thresholds_are_those_of_the_headline() {
        let rating = |name: &str, added_ms| {
            let all = uses(&[load(Direction::Up, added_ms, 0, 5)]);
            all.iter().find(|one| one.name == name).unwrap().rating
        };
        for (added, calls, games) in [
            (29, Rating::Good, Rating::Good),
            (30, Rating::Good, Rating::Fair),
            (149, Rating::Good, Rating::Fair),
            (150, Rating::Fair, Rating::Bad),
            (399, Rating::Fair, Rating::Bad),
            (400, Rating::Bad, Rating::Bad),
        ] {
            assert_eq!(
                (rating("Calls", added), rating("Games", added)),
                (calls, games),
                "{added}"
            );
        }
    }

    #[test]
    fn a_long_path_is_named_where_load_adds_nothing() {
        let all = rated(&[load(Direction::Down, 0, 600, 100)]);
        assert_eq!(
            all[0].2,
            "people talk over each other even without load: 300 ms one way"
        );
        assert_eq!(
            all[1].2,
            "lag even without load: 0.0 ms added to a round trip of 600 ms"
        );
        assert_eq!(uses(&[]), []);
    }

    #[test]
    fn video_asks_for_rate_alone() {
        let of = |mbps| uses(&[load(Direction::Down, 900, 20, mbps)])[2].rating;
        assert_eq!(
            [of(30), of(5), of(4), of(1)],
            [Rating::Good, Rating::Good, Rating::Fair, Rating::Bad]
        );
    }
}
