//! What load does to delay, from what probes saw: numbers, how sure they are, what they are worth, and what would help.
//!
//! Nothing here sends or waits. [`Stability`] says when a stage has run long enough and is told what happens; everything else
//! is a function of what was measured:
//!
//! - [`Probes`] to [`Rpm`], by the draft and as older clients count,
//! - [`added`]: series of delays without and with load to added delay, with intervals of confidence,
//! - [`grade`]: marks by the named rule of others, with the rule in words,
//! - [`causes`]: what else than a queue in the loaded direction made delay or kept load small,
//! - [`Agreement`]: whose delay is the path's where no datagrams are echoed,
//! - [`distrust`]: why a run is not to be believed,
//! - [`Split`]: what waits in the end hosts, and what in the network,
//! - [`advise`]: the one decision of the cure, with its evidence,
//! - [`document`]: what a test writes and `fix` reads,
//! - [`uses`]: what that means for calls, games, video and web pages,
//! - [`verdict`]: grade, headline, places, doubts and advice, as every output prints them.

#![warn(clippy::disallowed_methods)]

mod added;
mod advice;
mod agreement;
mod baseline;
mod cause;
mod distrust;
pub mod document;
mod fields;
mod grade;
mod load;
mod page;
mod params;
mod place;
mod rpm;
mod split;
mod stability;
mod uses;
mod verdict;

pub use added::{Added, Baseline, Estimate, Sample, Series, Spread, added};
pub use advice::{Advice, Cure, SHAPER_DOWN, SHAPER_UP, Site, advise};
pub use agreement::{Agreement, Heard, Odd, Witness};
pub use baseline::standing;
pub use cause::{Cause, CauseFacts, Late, causes};
pub use distrust::{
    Checks, Distrust, Echoless, Leaving, LoadChecks, Samples, ServerGone, Stalled, distrust,
};
pub use grade::{Facts, Mark, Rule, grade, letter};
pub use load::{Doubt, LoadedDirection, Passed, STANDS, UNNOTICED, is_steady, line_rate, spread};
pub use page::{PageRun, PageVerdict, judge_page};
pub use params::Params;
pub use place::{Located, Place};
pub use rpm::{Class, Confidence, ForeignProbe, Means, Probes, Rpm, Tls, trimmed_mean};
pub use split::{Share, Split, StackView};
pub use stability::{Interval, Phase, Stability};
pub use unbloat_stats::quantile;
pub use uses::{Rating, Use, uses};
pub use verdict::{Kind, MEANINGS, SCHEMA, Verdict, verdict, watched};
