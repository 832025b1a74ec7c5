//! Path elements against formulas, published figures, shipped traces and hostile values.

mod hostile;
mod laws;
mod papers;
mod traces;
