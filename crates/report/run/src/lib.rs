//! The run folder: run.json and Parquet tables, and the same tables as CSV, JSON and JSON Lines.
//!
//! Whatever produced it, a run is a folder with `run.json` ([`RunInfo`]: what made it) and one
//! Parquet file per table. [`RunWriter`] writes it in pieces and shows it only when whole,
//! [`RunReader`] reads it back in pieces. [`mod@format`] prints the same columns for people and pipes.
//! Nothing here knows a table by name: all follows from [`unbloat_table::Table`].

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod batch;
mod columns;
mod encoder;
mod error;
mod folder;
pub mod format;
mod home;
mod info;
mod markdown;
mod pages;
mod reader;
mod schema;
mod writer;

pub use batch::Batch;
pub use error::RunError;
pub use folder::{RUN_FILE, fresh_dir, link_latest};
pub use home::{find_run, runs_dir};
pub use info::{Clock, Input, RunFile, RunInfo, Status, TraceStart, kernel_release};
pub use markdown::schema_markdown;
pub use reader::{ArrowBatches, Batches, RunReader};
pub use schema::{ColumnSchema, StoredTable, TableSchema, unit_of};
pub use writer::{RunWriter, unfinished_prefix};
