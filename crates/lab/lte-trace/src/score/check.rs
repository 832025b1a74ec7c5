//! A comparison of the analysis with the truth.

/// A comparison of the analysis with the truth, with a bound on the difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Section or figure of the study that defines the quantity.
    pub group: &'static str,
    pub name: &'static str,
    pub value: Option<f64>,
    pub bound: Option<Bound>,
}

/// What the value of a check must keep, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    AtMost(f64, &'static str),
    AtLeast(f64, &'static str),
}

impl Check {
    pub(super) fn new(group: &'static str, name: &'static str, value: Option<f64>) -> Check {
        Check {
            group,
            name,
            value,
            bound: None,
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
