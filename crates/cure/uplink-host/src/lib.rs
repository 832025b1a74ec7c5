//! Uplink control on this host: what leaves a device's queue is held to what the modem behind it drains.
//!
//! [`Shaper`] puts an HTB class with queues of its own in front of a device; [`Control`] reads a [`Source`] (the modem's reports, its buffer
//! status reports, timestamps of the host's own connections) and sets the rate of that class through `unbloat_uplink::Valve`. All changes are claimed and
//! journaled (`unbloat-undo`): they are undone at the end, and after a kill at the next start. A source that falls silent opens the class.
//!
//! `docs/uplink.md` has the format of reports.

mod control;
mod device;
mod error;
mod news;
mod report;
mod rtnetlink;
mod shaper;
mod source;
mod tap;

pub use control::{Control, Options, State};
pub use device::{Layers, Limits, layers, set_limits, steps};
pub use error::UplinkError;
pub use report::{Report, ReportError};
pub use shaper::Shaper;
pub use source::Source;
