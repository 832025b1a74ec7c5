//! The history of `unbloat monitor`: a folder with one run folder per day.
//!
//! ```text
//! FOLDER/2026-11-24/            run of a day: run.json and Parquet tables
//! FOLDER/journal-2026-11-24.jsonl   what was recorded since that run was written
//! FOLDER/monitor.lock           held by the process that writes
//! ```
//!
//! Every record goes to the journal of its day at once, as a line of JSON. [`History::save`] writes the day's run anew, in a hidden folder
//! that is then renamed, and thins older days ([`Retention`]). So a process that is killed loses nothing but an unfinished line, and a
//! reader always finds whole runs. A record belongs to the day in which it is added, by the wall clock in UTC.
//!
//! # Bounds
//! Before anything is written, the oldest days are deleted until it fits [`Retention::disk`]. A day has at most [`MOST_RECORDS`] records,
//! and its journal at most a quarter of the disk; what is beyond is dropped and counted.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod store;
mod tables;

pub use store::{History, HistoryError, LEAST_DISK, MOST_RECORDS};
pub use tables::tables;

pub use unbloat_monitor::Retention;
