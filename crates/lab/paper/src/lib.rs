//! Published figures as recipes. A folder holds a paper: `paper.toml` says which, one TOML file a figure says what to run, what to draw and
//! what the paper reports, and the other TOML files are scenarios.
//!
//! This crate reads recipes, names the runs that they need ([`Request`]), draws curves from the [`Evidence`] that those runs gave
//! and judges the paper's [`Claim`]s by it. It runs nothing itself.
//!
//! # The rule
//! A claim holds if
//! - *value*: ours is within 20 % of the published number ([`VALUE_TOLERANCE`]), or that number is between the smallest and the largest of our repeats,
//! - *bound*: ours is on the published side of the number,
//! - *order*: the means over repeats are in the published order, by as much as a change must have,
//! - *sign*: a change or correlation has the published direction in all repeats, a change by 2 % or more ([`VISIBLE_CHANGE_PERCENT`]).
//!
//! A claim of which a run was not possible counts for nothing.
//!
//! A figure **agrees** if all its claims hold. Its **shape agrees** if only values do not, and a bound, an order or a sign does that tests the
//! mechanism, not the analysis. Otherwise it **differs**.

#![warn(clippy::disallowed_methods)]

mod claim;
mod curve;
mod evidence;
mod figure;
mod judge;
mod made;
mod needs;
mod paper;
mod quantity;
mod unit;

pub use claim::{Claim, ClaimKind, Mark};
pub use curve::{Curve, CurvePoint, Drawn, draw, lay_over};
pub use evidence::{Evidence, EvidencePoint, RunResults, Runs};
pub use figure::{
    Assumption, Axis, Figure, LteTraceRecipe, ModelRecipe, Panel, PanelKind, Request, Series,
    Source,
};
pub use judge::{Effect, Judged, Judgement, VISIBLE_CHANGE_PERCENT, Verdict, judge};
pub use made::Made;
pub use needs::{Needs, Requests};
pub use paper::{Paper, PaperError, read_paper, scenario};
pub use quantity::{Quantity, Spread, VALUE_TOLERANCE};
pub use unit::Unit;
