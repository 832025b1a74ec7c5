//! A statement of a paper about a figure, in a form that runs can confirm or contradict.

use crate::quantity::Quantity;
use crate::unit::Unit;
use serde::Deserialize;
use unbloat_units::named;

/// One statement of a paper. Exactly one of `value`, `above`/`below`, `more_than` and `less_than` is given.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The statement, in short.
    pub says: String,
    /// Section and page of the paper.
    pub place: Option<String>,
    pub ours: Quantity,
    #[serde(default)]
    pub unit: Unit,
    /// It says nothing of the mechanism: the runs were given this number, or it compares the analysis with what happened.
    #[serde(default)]
    pub tests_analysis: bool,
    /// The published number.
    pub value: Option<f64>,
    /// Published bounds.
    pub above: Option<f64>,
    pub below: Option<f64>,
    /// An order: ours is more than each of these.
    #[serde(default)]
    pub more_than: Vec<Quantity>,
    /// An order: ours is less than each of these.
    #[serde(default)]
    pub less_than: Vec<Quantity>,
    /// Where the published number is drawn.
    pub mark: Option<Mark>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    #[serde(default)]
    pub panel: String,
    /// A point there; without it a line across the panel.
    pub x: Option<f64>,
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ClaimKind {
        Value = "value",
        Bound = "bound",
        /// A bound of zero on a change or a correlation.
        Sign = "sign",
        Order = "order",
    }
}

impl Claim {
    /// None if it says nothing or two things.
    pub fn kind(&self) -> Option<ClaimKind> {
        let bounds = [self.above, self.below];
        let is_bound = bounds.iter().any(Option::is_some);
        let is_order = !self.more_than.is_empty() || !self.less_than.is_empty();
        match (self.value.is_some(), is_bound, is_order) {
            (true, false, false) => Some(ClaimKind::Value),
            (false, true, false)
                if self.ours.has_sign() && bounds.iter().flatten().all(|bound| *bound == 0.0) =>
            {
                Some(ClaimKind::Sign)
            }
            (false, true, false) => Some(ClaimKind::Bound),
            (false, false, true) => Some(ClaimKind::Order),
            _ => None,
        }
    }

    /// All numbers that it speaks of.
    pub(crate) fn quantities(&self) -> impl Iterator<Item = &Quantity> {
        [&self.ours]
            .into_iter()
            .chain(&self.more_than)
            .chain(&self.less_than)
    }
}
