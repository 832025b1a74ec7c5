//! Synthetic LTE traces (`unbloat-lte-trace`) on threads: as a source of packets, as a capture file, and analysed at once.

mod analysed;
mod file;
mod source;

pub use analysed::{analyse, analyse_source};
pub use file::write;
pub use source::{ORIGIN, TraceSource};
