//! The analysis of a trace against the study and against the truth.

mod checks;
mod joined;
mod published;
mod seen;
mod statistic;

pub use checks::{against_received, checks, payload_share, utilisation};
pub use published::statistics;
pub use seen::{BandwidthSeen, FlowSeen, PromotionSeen, Seen};
pub use statistic::{Bound, Check, Source, Statistic};
