//! The analysis of a trace against the study and against the truth.

mod checks;
mod joined;
mod published;
mod seeds;
mod seen;
mod statistic;

pub use checks::{against_received, checks, payload_share, utilisation};
pub use published::statistics;
pub use seeds::{Row, Verdict, checks_over_seeds, over_seeds, range, results};
pub use seen::{BandwidthSeen, FlowSeen, PromotionSeen, Seen};
pub use statistic::{Bound, Check, Source, Statistic};
