//! The disciplines, one file each.

pub mod droptail;
