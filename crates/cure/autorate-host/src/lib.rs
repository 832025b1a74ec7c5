//! Watches an interface and sets the rates of the kernel's shapers as the line changes.
//!
//! What passes is seen as it comes from the line and as it goes out to it, headers only, by programs in the kernel where it takes them
//! ([`Tap`]); [`unbloat_autorate`] says what follows, and `tc` is told. Probes are sent only if it asks for them. The rates that were found are put back at the end.

mod clock;
mod error;
#[doc(hidden)]
pub mod fuzz;
mod pinger;
mod qdisc;
mod steer;
mod tap;

pub use clock::by_wall_clock;
pub use error::{KernelError, SteerError};
pub use qdisc::{Lend, Shaper};
pub use steer::{Options, Steer};
pub use tap::{Ear, Source, Tap};
