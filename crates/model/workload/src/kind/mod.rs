//! The workloads, one file each.

pub mod browse;
pub mod bulk;
pub mod finite;
pub mod game;
pub mod onoff;
pub mod page;
pub mod ping;
pub mod ranges;
pub mod traceroute;
pub mod transfers;
pub mod video;
pub mod voice;
pub mod web;

#[cfg(test)]
mod tests;
