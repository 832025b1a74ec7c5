//! What an interface says that is watched for months.
//!
//! ```text
//! rows of `standing` and `flows` ─▶ Gather ─▶ Span (a minute) ─▶ Episodes ─▶ Event
//!                                                 │                            │
//!                                                 └───────▶ Record ◀───────────┘ ─▶ thin, compare weeks
//! ```
//!
//! Time is an argument: spans are on a clock that only goes forward, [`Calendar`] names their moments by the wall clock, whose steps become
//! events and decide nothing else. Whether a queue stands, in which direction and who fills it, is the verdict of `unbloat-summary` on the
//! rows of each span; this crate joins verdicts to [`Episodes`] and keeps a history ([`Record`]) whose size has a bound.

#![warn(clippy::disallowed_methods)]

mod budget;
mod calendar;
mod episode;
mod gather;
mod network;
mod record;
mod span;
mod thin;
mod week;

pub use budget::{Alerts, Budget};
pub use calendar::{Calendar, Step};
pub use episode::{Change, Episode, Episodes, Params};
pub use gather::Gather;
pub use network::network_of;
pub use record::{
    Culprit, Delay, Event, EventKind, LayerDelay, NetworkDelay, Probe, Record, headline,
};
pub use span::{DirectionSpan, Filler, LayerSpan, NetworkSpan, Queue, Span};
pub use thin::{Age, Retention, thin};
pub use week::{WEEK, Week, WeekVerdict, Weeks};
