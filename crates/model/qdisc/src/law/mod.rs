//! Control laws without a queue of their own: disciplines combine them.

pub mod cobalt;
pub mod codel;
pub mod pi2;
