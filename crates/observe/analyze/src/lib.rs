//! From a source of packets to rows of tables, on one thread or many, with the same result.
//!
//! ```text
//! Source ─▶ Parser ─▶ Batch ─▶ Orientation ─▶ Shard 0 ─▶ Output ─┐
//!                                    └──────▶ Shard n ─▶ Output ─┴▶ merged by batch ─▶ sink
//! ```
//!
//! Batches begin at fixed packet numbers, shards get the packets of their clients, and what they
//! write about a batch is merged by packet number: so neither the number of threads nor the way in
//! which a trace is cut into files can be seen in the tables.

mod batches;
mod deal;
mod parts;
mod run;
mod threads;

pub use batches::Batches;
pub use deal::shard_of;
pub use parts::{At, Moment, Pieces, merge, run_shard};
pub use run::{Alive, Control, Outcome, PipelineError, Settings, Standing, run, run_live};
