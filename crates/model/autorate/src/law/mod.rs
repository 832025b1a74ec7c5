//! Laws: what the rate is to be, one direction at a time.

pub mod cake_autorate;
pub mod follow;
mod variation;
