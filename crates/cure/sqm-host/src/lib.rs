//! Shapers put on this host or on a router over ssh, looked at, and taken away again.
//!
//! On this host ([`apply`], [`remove`], [`status`]) commands are run by their arguments, never by a shell, and each change is written
//! down first (`unbloat-undo`): a shaper that is held goes with its process, one that is kept goes when it is removed, and both leave
//! the device as it was. A router ([`Router`]) gets one script for each task on the standard input of `sh`; before it changes anything it starts a
//! timer there that takes all back unless a second connection confirms in time: whoever cuts himself off is let in again.

mod error;
#[doc(hidden)]
pub mod fuzz;
mod kind;
mod local;
mod offered;
mod quote;
mod reply;
mod router;
mod run;
mod script;
mod status;

pub use error::ShaperError;
pub use kind::Kind;
pub use local::{Held, apply, check, header_bytes, remove};
pub use offered::{Offered, offered};
pub use quote::quote;
pub use router::{Look, Router, Target};
pub use status::{QueueStatus, Shaped, devices, read_queues, status};
