//! Uplink control on this host: what leaves a device's queue is held to what the modem behind it drains.
//!
//! [`Shaper`] puts an HTB class with queues of its own in front of a device; [`Control`] learns from the timestamps of the host's own connections
//! what the modem has drained, and sets the rate of that class through `unbloat_uplink::Valve`. All changes are claimed and journaled (`unbloat-undo`): they
//! are undone at the end, and after a kill at the next start. Where nothing is learnt the class is open.

mod control;
mod error;
mod news;
mod rtnetlink;
mod shaper;
mod tap;

pub use control::{Control, State};
pub use error::UplinkError;
pub use shaper::{Shaper, steps};
