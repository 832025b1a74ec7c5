//! The verdict: one sentence, where the queue is, what to do. Text, JSON, reports, the web page and campaigns all print this value.

use crate::advice::{Advice, advise};
use crate::grade::letter;
use crate::load::{Doubt, LoadedDirection};
use crate::uses::{CALLS_BREAK_UP, CALLS_SUFFER, GAMES_LAG, Use, uses};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use unbloat_text::Tone;
use unbloat_units::{Delta, Direction, named};

/// Of documents that hold a verdict; raised when a field changes its meaning or goes.
pub const SCHEMA: &str = "unbloat.test/2";

/// What added delay does to people, from which delay on, by the thresholds of [`uses`](crate::uses).
pub const MEANINGS: [(Delta, &str); 4] = [
    (Delta::ZERO, "nobody notices"),
    (GAMES_LAG, "games lag"),
    (CALLS_SUFFER, "calls and games suffer"),
    (CALLS_BREAK_UP, "calls break up"),
];
/// Bufferbloat is called slight below: B ends here.
const SLIGHT: Delta = Delta::ms(60);

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Kind {
        Bloated = "Bufferbloat",
        Slight = "Slight bufferbloat",
        Clean = "No bufferbloat",
        /// The run cannot tell.
        Unknown = "No verdict",
    }
}

/// What a test comes to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    pub kind: Kind,
    /// Of the worse direction, on DSLReports' scale. None: unknown.
    pub grade: Option<String>,
    /// One line: grade, direction, how much, who feels it.
    pub headline: String,
    /// Cause and place: a sentence for each that was found.
    pub places: Vec<String>,
    /// The directions that were loaded alone, as they are judged.
    pub directions: Vec<LoadedDirection>,
    pub doubts: Vec<Doubt>,
    pub advice: Vec<Advice>,
}

/// The verdict on directions that were loaded one at a time.
pub fn verdict(directions: Vec<LoadedDirection>, doubts: Vec<Doubt>) -> Verdict {
    let fatal = doubts.iter().find(|doubt| doubt.is_fatal);
    let mut worst_first: Vec<&LoadedDirection> = directions.iter().collect();
    worst_first.sort_by_key(|load| std::cmp::Reverse(load.added));
    let (kind, grade, headline) = match (fatal, worst_first.first()) {
        (Some(doubt), _) => (
            Kind::Unknown,
            None,
            format!("No verdict: {}.", doubt.reason),
        ),
        (None, None) => (
            Kind::Unknown,
            None,
            "No verdict: no delay was measured under load.".to_owned(),
        ),
        (None, Some(worst)) => {
            let (kind, grade) = (Kind::of(worst.added), letter(worst.added));
            let headline = headline(kind, grade, &worst_first);
            (kind, Some(grade.to_owned()), headline)
        }
    };
    Verdict {
        kind,
        grade,
        headline,
        places: places(&worst_first),
        advice: advise(&directions, &doubts),
        directions,
        doubts,
    }
}

impl Verdict {
    pub fn of(&self, direction: Direction) -> Option<&LoadedDirection> {
        let mut of = self.directions.iter();
        of.find(|load| load.direction == direction)
    }

    /// The round trip of the idle path; none where none was measured.
    pub fn idle_rtt(&self) -> Option<Delta> {
        let mut known = self.directions.iter().map(|load| load.idle_rtt);
        known.find(|rtt| *rtt > Delta::ZERO)
    }

    /// What it means for calls, games, video and web pages; nothing without a verdict.
    pub fn uses(&self) -> Vec<Use> {
        match self.kind {
            Kind::Unknown => Vec::new(),
            _ => uses(&self.directions),
        }
    }

    /// Why the run is worth nothing, if it is.
    pub fn fatal(&self) -> impl Iterator<Item = &str> {
        let fatal = self.doubts.iter().filter(|doubt| doubt.is_fatal);
        fatal.map(|doubt| doubt.reason.as_str())
    }
}

/// The same words for a wait that was watched and not tested: `Bufferbloat in this host's queue discipline (eth0): ...`.
pub fn watched(place: impl fmt::Display, device: &str, wait: Delta) -> String {
    let during = match Kind::of(wait) {
        Kind::Clean => "",
        _ => " while this lasts",
    };
    format!(
        "{} {place} ({device}): packets wait {} on average; {}{during}.",
        Kind::of(wait).name(),
        ms(wait),
        meaning(wait)
    )
}

impl Kind {
    /// Of a mean added delay.
    pub fn of(added: Delta) -> Kind {
        match added {
            _ if added < GAMES_LAG => Kind::Clean,
            _ if added < SLIGHT => Kind::Slight,
            _ => Kind::Bloated,
        }
    }

    /// As a terminal shows it.
    pub const fn tone(self) -> Tone {
        match self {
            Kind::Clean => Tone::Good,
            Kind::Slight | Kind::Unknown => Tone::Fair,
            Kind::Bloated => Tone::Bad,
        }
    }
}

fn headline(kind: Kind, grade: &str, worst_first: &[&LoadedDirection]) -> String {
    format!(
        "{}: grade {grade}. {}; {}.",
        kind.name(),
        amounts(worst_first),
        who_feels_it(worst_first)
    )
}

/// `Uploads add 778 ms, downloads 177 ms`.
fn amounts(worst_first: &[&LoadedDirection]) -> String {
    let amount =
        |load: &LoadedDirection| format!("{}s add {}", load.direction.load(), ms(load.added));
    match worst_first {
        [one] => format!(
            "{} (the other direction was not tested)",
            capital(&amount(one))
        ),
        [worse, better, ..] => format!(
            "{}, {}s {}",
            capital(&amount(worse)),
            better.direction.load(),
            ms(better.added)
        ),
        [] => String::new(),
    }
}

fn who_feels_it(worst_first: &[&LoadedDirection]) -> String {
    let Some(worst) = worst_first.first() else {
        return String::new();
    };
    let what = meaning(worst.added);
    if worst.added < GAMES_LAG {
        return what.to_owned();
    }
    let alike = worst_first
        .iter()
        .filter(|load| meaning(load.added) == what);
    let loads: Vec<String> = alike
        .map(|load| format!("{}s", load.direction.load()))
        .collect();
    format!("{what} while someone {}", loads.join(" or "))
}

fn meaning(added: Delta) -> &'static str {
    let reached = MEANINGS.iter().rev().find(|(from, _)| added >= *from);
    reached.map_or(MEANINGS[0].1, |(_, words)| words)
}

fn places(worst_first: &[&LoadedDirection]) -> Vec<String> {
    let felt = || worst_first.iter().filter(|load| load.is_felt());
    let starved = felt().filter(|load| load.is_starved);
    let starved =
        starved.map(|_| "Downloads wait for their own acknowledgements in the uplink.".to_owned());
    let sentence = |load: &&LoadedDirection| {
        let located = load.located.as_ref()?;
        Some(format!(
            "The queue of {}s is {located}.",
            load.direction.load()
        ))
    };
    starved.chain(felt().filter_map(sentence)).collect()
}

/// Less than nothing is nothing.
pub(crate) fn ms(span: Delta) -> String {
    let ms = span.as_ms().max(0.0);
    match ms {
        10.0.. => format!("{ms:.0} ms"),
        _ => format!("{ms:.1} ms"),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests;
