//! Bounds on streams in front of libraries that have none: on the frames of HTTP/3, and on what one connection reads or has unsent
//! while others wait.

#[cfg(feature = "http3")]
mod frames;
#[cfg(feature = "http3")]
#[doc(hidden)]
pub mod fuzz;
mod layer;

#[cfg(feature = "http3")]
pub use frames::{Bounded, BoundedConnection, BoundedOpener};
pub use layer::{Hook, Layer, Turns, poll_wanted};
