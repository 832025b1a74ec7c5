//! Synthetic LTE traces (`unbloat-lte-trace`) on threads, analysed at once.

mod analysed;
mod source;

pub use analysed::analyse;
