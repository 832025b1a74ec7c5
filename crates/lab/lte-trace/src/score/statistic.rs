//! A number of a trace beside the study's and the true one.

/// Where a statistic of a generated trace comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The generator draws from the study's distribution: the analysis only has to return it.
    Given,
    /// It follows from the simulated radio and TCP and from what the generator was given.
    Followed,
    /// Nothing in the generator stands for it.
    NotModelled,
}

impl Source {
    pub const fn name(self) -> &'static str {
        match self {
            Source::Given => "given",
            Source::Followed => "followed",
            Source::NotModelled => "not modelled",
        }
    }
}

/// A statistic of one trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistic {
    /// Section or figure of the study.
    pub group: String,
    pub name: String,
    pub unit: String,
    pub source: Source,
    pub published: Option<f64>,
    /// Result of the analysis.
    pub analysed: Option<f64>,
    /// The same, as the hosts and the radio know it.
    pub truth: Option<f64>,
    /// Flows, packets or windows that it rests on.
    pub samples: u64,
}

/// A comparison of the analysis with the truth, with a bound on the difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Section or figure of the study that defines the quantity.
    pub group: &'static str,
    pub name: &'static str,
    pub unit: &'static str,
    pub value: Option<f64>,
    /// The value that the study found for its own method, if it gives one.
    pub published: Option<f64>,
    pub bound: Option<Bound>,
    pub samples: u64,
}

/// What the value of a check must keep, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    AtMost(f64, &'static str),
    AtLeast(f64, &'static str),
}

impl Check {
    pub(super) fn new(
        group: &'static str,
        name: &'static str,
        unit: &'static str,
        value: Option<f64>,
        samples: u64,
    ) -> Check {
        Check {
            group,
            name,
            unit,
            value,
            published: None,
            bound: None,
            samples,
        }
    }

    pub(super) fn published(self, value: f64) -> Check {
        Check {
            published: Some(value),
            ..self
        }
    }

    pub(super) fn bounded(self, bound: Bound) -> Check {
        Check {
            bound: Some(bound),
            ..self
        }
    }

    /// Whether it keeps its bound; none without a bound or a value.
    pub fn is_hit(&self) -> Option<bool> {
        let value = self.value?;
        Some(match self.bound? {
            Bound::AtMost(most, _) => value <= most,
            Bound::AtLeast(least, _) => value >= least,
        })
    }
}

/// Share in percent.
pub(super) fn percent(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}

pub(super) fn mean(list: &[f64]) -> Option<f64> {
    (!list.is_empty()).then(|| list.iter().sum::<f64>() / list.len() as f64)
}
