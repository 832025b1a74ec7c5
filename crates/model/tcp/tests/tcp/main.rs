//! TCP against formulas, the kernel's own arithmetic, and paths that lose, copy and reorder.

mod behaviour;
mod conservation;
mod kernel;
mod laws;
mod pipe;
mod replay;
mod vectors;
