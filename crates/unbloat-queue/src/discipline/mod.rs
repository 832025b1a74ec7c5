//! The disciplines, one file each.

pub mod cake;
pub mod codel;
pub mod droptail;
pub mod fq_codel;
pub mod pie;
pub mod red;
