//! The commands `analyze`, `sim` and `compare` as functions: from inputs and options to runs.
//!
//! The command line and other front ends share what is here. Arguments, progress, Ctrl-C and printing are theirs; a front end stops a
//! function by the flag or the closure that it hands in. Every function that writes a run takes the words of the command for `run.json`.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod analyze;
#[cfg(feature = "cluster")]
pub mod cluster;
pub mod compare;
#[cfg(feature = "sim")]
pub mod experiment;
pub mod folder;
