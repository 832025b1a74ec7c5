//! The analysis of captures that are too many for one machine, in steps that many machines share.
//!
//! ```text
//! captures ─▶ index (a file each) ─▶ plan ─▶ deal (a slice each) ─▶ seal ─▶ shard (a bucket each) ─▶ merge ─▶ rows
//! ```
//!
//! All steps meet in one [`Place`], a folder or a prefix of an object store. Whoever can start processes can run
//! them. The rows are those of [`unbloat_analyze::run`](unbloat_analyze::run()) on the same captures, in
//! the same order, for any number of slices and buckets.
//!
//! # Why the rows are the same
//! - Order: the merge of captures is a stable sort by (latest time so far within the capture, rank of the capture,
//!   place in it). So counts of packets by spans of that time give the number of any packet without
//!   the packets before it ([`index`]).
//! - Direction: only a SYN can contradict the guess from a flow's ports. The index collects the SYNs that do.
//! - Copies and steps of the capture clock are judged by what came shortly before. A slice begins with packets of the
//!   slice before, [remembers](unbloat_health::State) them and drops them. [`seal`] compares what it then remembers with
//!   what the slice before ended with; where they differ it deals that slice again, from the true state.
//! - Flows and users: all packets of a client are in one bucket, and every bucket sees the ends of all batches.
//!
//! # Commits
//! Each task writes under a name of its own attempt, and then one small file, which nobody can write twice. So tasks
//! may be lost, repeated, or run twice at once. All files name the plan, and buckets have digests.

mod blob;
mod deal;
mod edge;
mod error;
#[doc(hidden)]
pub mod fuzz;
mod index;
mod job;
mod merge;
mod parts;
mod place;
mod plan;
mod remote;
mod seal;
mod shard;

pub use deal::{Dealt, deal};
pub use error::{ClusterError, Repair};
pub use index::{Index, index};
pub use job::{Job, Reading};
pub use merge::merge;
pub use place::Place;
pub use plan::{AskedCut, Cut, Plan, plan};
pub use remote::expand;
pub use seal::{Sealed, seal};
pub use shard::{Sharded, shard};
