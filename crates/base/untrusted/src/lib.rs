//! What others say, and what we say of ourselves, made fit for terminals and for files that are passed on.
//!
//! A terminal obeys escape sequences whoever sent them, and a run's folder is shown to people whom its tokens do not
//! concern. Both are looked after here, so that nobody else has to remember.

#![warn(clippy::disallowed_methods)]

mod command;
mod words;

pub use command::{command_line, without_tokens};
pub use words::{acts, harmless, in_line, one_line, styled};
