//! The analysis of a trace against the truth.

mod check;
mod checks;
mod joined;
mod known;
mod seen;

pub use check::{Bound, Check};
pub use checks::checks;
pub use known::known;
pub use seen::{BandwidthSeen, FlowSeen, PromotionSeen, Seen};
