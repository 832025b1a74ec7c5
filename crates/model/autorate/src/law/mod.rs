//! Laws: what the rate is to be, one direction at a time.

pub mod cake_autorate;
mod floor;
pub mod follow;
mod variation;
