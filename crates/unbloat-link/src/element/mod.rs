//! Elements without a queue, one file each.

pub mod delay;
