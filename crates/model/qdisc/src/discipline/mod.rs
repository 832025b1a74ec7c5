//! The disciplines, one file each.

pub mod cake;
pub mod codel;
pub mod droptail;
pub mod dualpi2;
pub mod fq_codel;
pub mod pie;
pub mod red;
pub mod rem;
