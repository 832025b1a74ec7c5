//! Marks by the rules of others, each with its rule in words.
//!
//! The verdict's own rule, [`Rule::Worst`], takes DSLReports' scale for the worse direction instead of the mean of both, which hides one that is bloated.
//! The others are as published. They see mean or median and forget the tail, so a grade is always printed with its rule and its
//! milliseconds.

mod aim;
mod letters;
mod qoo;

use crate::rpm::Rpm;
pub use letters::letter;
use unbloat_units::{Delta, Rate};

/// Whose rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    #[default]
    Worst,
    DslReports,
    LibreqosReadme,
    LibreqosShipped,
    Draft09,
    Aim,
    Qoo,
}

/// What marks are given for. What is not known is not marked.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Facts {
    /// Median round trip without load.
    pub idle_rtt: Option<Delta>,
    /// Mean round trip during download, upload and both, less the median without load.
    pub added_down: Option<Delta>,
    pub added_up: Option<Delta>,
    pub added_both: Option<Delta>,
    /// Round trips under the load that made them longest.
    pub loaded_rtt: Option<LoadedRtt>,
    /// Mean difference of successive round trips without load.
    pub jitter: Option<Delta>,
    /// Share of packets lost, up and down together, of the whole test.
    pub loss: Option<f64>,
    pub down: Option<Rate>,
    pub up: Option<Rate>,
    pub rpm_down: Option<Rpm>,
    pub rpm_up: Option<Rpm>,
    pub rpm_both: Option<Rpm>,
}

/// Quantiles of round trips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadedRtt {
    pub p50: Delta,
    pub p90: Delta,
    pub p95: Delta,
    pub p99: Delta,
}

/// A mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub rule: Rule,
    /// What is marked: `total`, `down`, `video calls`.
    pub of: &'static str,
    /// `A+`, `good`, `82`.
    pub mark: String,
    /// The numbers that it comes from.
    pub because: String,
}

impl Rule {
    pub const ALL: [Rule; 7] = [
        Rule::Worst,
        Rule::DslReports,
        Rule::LibreqosReadme,
        Rule::LibreqosShipped,
        Rule::Draft09,
        Rule::Aim,
        Rule::Qoo,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Rule::Worst => "worst",
            Rule::DslReports => "dslreports",
            Rule::LibreqosReadme => "libreqos_readme",
            Rule::LibreqosShipped => "libreqos_shipped",
            Rule::Draft09 => "draft_09",
            Rule::Aim => "aim",
            Rule::Qoo => "qoo",
        }
    }

    pub fn named(name: &str) -> Option<Rule> {
        Rule::ALL.into_iter().find(|rule| rule.name() == name)
    }

    /// The rule in words, with its source.
    pub const fn in_words(self) -> &'static str {
        match self {
            Rule::Worst => {
                "the worse direction on DSLReports' scale (faq/17930): mean round trip under load minus idle median; A+ below 5 ms, A below 30, B below 60, C below 200, D below 400, else F"
            }
            Rule::DslReports => {
                "DSLReports (faq/17930): mean of what download and upload add to the mean round trip; A+ below 5 ms, A below 30, B below 60, C below 200, D below 400, else F"
            }
            Rule::LibreqosReadme => {
                "LibreQoS bufferbloat test (README): what download, upload and both add to the round trip (here: mean), each A+ below 5 ms, A below 30, B below 60, C below 200, D below 400, else F; total is the mean of the marks"
            }
            Rule::LibreqosShipped => {
                "LibreQoS bufferbloat test (shipped latencyGradeThresholds.json v1.0): what download, upload and both add to the round trip (here: mean), each A+ below 5 ms, A below 25, B below 50, C below 75, D below 100, else F; round trip without load A+ below 75 ms, A below 100, B below 125, C below 150, D below 175, else F; total is the worse of that and the mean of the three"
            }
            Rule::Draft09 => {
                "draft-ietf-ippm-responsiveness-09: round trips per minute, the path's own length included; excellent from 6000, good from 1000, fair from 300, else poor"
            }
            Rule::Aim => {
                "Cloudflare AIM (speedtest 1.14): points for round trip, what load adds to it (the worse direction), jitter, loss and rate, summed up for each use; classes bad, poor, average, good, great"
            }
            Rule::Qoo => {
                "Quality of Outcome (draft-ietf-ippm-qoo-06, LibreQoS's profiles; gaming-go: goresponsiveness's): 100 where round trip quantiles under load and loss meet a use's needs, 0 where they make it useless, in proportion between; the worst need counts"
            }
        }
    }
}

/// All marks that the rule gives for what is known.
pub fn grade(rule: Rule, facts: &Facts) -> Vec<Mark> {
    match rule {
        Rule::Worst => letters::worst(facts),
        Rule::DslReports => letters::dslreports(facts).into_iter().collect(),
        Rule::LibreqosReadme | Rule::LibreqosShipped => letters::libreqos(rule, facts),
        Rule::Draft09 => classes(facts),
        Rule::Aim => aim::marks(facts),
        Rule::Qoo => qoo::marks(facts),
    }
}

fn classes(facts: &Facts) -> Vec<Mark> {
    let all = [
        ("down", facts.rpm_down),
        ("up", facts.rpm_up),
        ("both", facts.rpm_both),
    ];
    let marks = all.into_iter().filter_map(|(of, rpm)| {
        let rpm = rpm?;
        Some(Mark {
            rule: Rule::Draft09,
            of,
            mark: rpm.class().name().to_owned(),
            because: format!("{rpm}, a round trip of {:.0} ms", rpm.delay().as_ms()),
        })
    });
    marks.collect()
}

/// How many of the ascending thresholds `value` has reached.
fn reached(thresholds: &[f64], value: f64) -> usize {
    thresholds.iter().filter(|&&t| value >= t).count()
}
