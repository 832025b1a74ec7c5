//! From tables of keys to what simulator and lab run. Where a key's meaning is not its own, its unit or default stands in
//! the crate that owns the part; here is only how it is written.

mod autorate;
mod element;
mod experiment;
mod flow;
mod kernel_queue;
mod queue;
mod radio;
mod ranges;
mod server;
mod tcp;
mod workload;

pub use experiment::{BothWays, Files, build, path};
pub use workload::workload_of;

#[cfg(test)]
mod registry_tests;
#[cfg(test)]
mod tests;
