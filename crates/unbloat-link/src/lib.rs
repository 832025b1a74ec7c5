//! Rates, delays, losses, radios and sending devices as composable path elements in virtual time.
//!
//! The simulator and the real-time emulator drive the same code. An [`Element`] takes packets,
//! keeps them for a while and gives them out with their *logical* departure time: computed from
//! what the element is, never from when somebody looked, so a late driver delays nothing but its
//! own view. A [`Path`] is a row of elements, built from their [`Config`]s.

mod bottleneck;
pub mod device;
pub mod element;
mod framing;
mod path;
pub mod radio;
mod registry;
mod seam;
pub mod service;
#[cfg(test)]
mod testing;
pub mod trace;

pub use bottleneck::{Bottleneck, Params as BottleneckParams};
pub use framing::{Cells, Framing};
pub use path::Path;
pub use registry::{AnyElement, Config, NAMES};
pub use seam::{Element, Output, Place};
