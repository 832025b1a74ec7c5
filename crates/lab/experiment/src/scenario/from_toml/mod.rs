//! From tables of keys to what simulator and lab run. Where a key's meaning is not its own, its unit or default stands in
//! the crate that owns the part; here is only how it is written.

mod autorate;
mod element;
mod experiment;
mod files;
mod flow;
mod kernel_queue;
mod queue;
mod radio;
mod server;
mod tcp;
mod workload;

pub use experiment::{BothWays, MAX_SERIES_ROWS, build, path};
pub use files::Files;
pub use workload::workload_of;

#[cfg(test)]
mod registry_tests;
#[cfg(test)]
mod tests;
