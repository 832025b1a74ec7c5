//! The vocabulary of unbloat.
//!
//! A number with a dimension crosses a public boundary only as one of these types. They are built
//! with their unit (`Rate::mbps(20)`, `Delta::ms(5)`), read with their unit (`as_bps()`,
//! `as_ms()`), parsed from text that carries a unit ("20 Mbit/s", "40 ms", "1.5 MB") and printed
//! with one.

#![warn(clippy::disallowed_methods)]

mod bytes;
mod deserialize;
mod direction;
mod framing;
mod parse;
mod rate;
mod seq;
mod time;

pub use bytes::Bytes;
pub use direction::{Both, Direction};
pub use framing::{Cells, Framing};
pub use parse::ParseUnitError;
pub use rate::Rate;
pub use seq::Seq;
pub use time::{Delta, Time};
