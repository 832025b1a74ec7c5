//! Marks by the rules of others, each with its rule in words.
//!
//! The verdict's own rule, [`Rule::Worst`], takes DSLReports' scale for the worse direction instead of the mean of both, which hides one that is bloated.
//! The others are as published. They see mean or median and forget the tail, so a grade is always printed with its rule and its
//! milliseconds.

mod letters;

use crate::rpm::Rpm;
pub use letters::letter;
use unbloat_units::{Delta, named};

named! {
    /// Whose rule.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Rule with ALL {
        #[default]
        Worst = "worst",
        DslReports = "dslreports",
        Draft09 = "draft_09",
    }
}

/// What marks are given for. What is not known is not marked.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Facts {
    /// Mean round trip during download and upload, less the median without load.
    pub added_down: Option<Delta>,
    pub added_up: Option<Delta>,
    pub rpm_down: Option<Rpm>,
    pub rpm_up: Option<Rpm>,
    pub rpm_both: Option<Rpm>,
}

/// A mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub rule: Rule,
    /// What is marked: `total`, `down`.
    pub of: &'static str,
    /// `A+`, `good`.
    pub mark: String,
    /// The numbers that it comes from.
    pub because: String,
}

impl Rule {
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
            Rule::Draft09 => {
                "draft-ietf-ippm-responsiveness-09: round trips per minute, the path's own length included; excellent from 6000, good from 1000, fair from 300, else poor"
            }
        }
    }
}

/// All marks that the rule gives for what is known.
pub fn grade(rule: Rule, facts: &Facts) -> Vec<Mark> {
    match rule {
        Rule::Worst => letters::worst(facts),
        Rule::DslReports => letters::dslreports(facts).into_iter().collect(),
        Rule::Draft09 => classes(facts),
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
