//! Text for people: tones, tables, and lines that fit a terminal.
//!
//! Whoever writes a result marks what is good or bad ([`Tone::paint`]) and sets tables ([`Table`]). What prints it knows the place and lays it out
//! ([`Layout::lay`]): a terminal gets colours and lines as wide as it is, everything else gets the plain text.

#![warn(clippy::disallowed_methods)]

mod layout;
mod table;
mod tone;

pub use layout::Layout;
pub use table::Table;
pub use tone::{Tone, plain, width};
