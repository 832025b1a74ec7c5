//! Campaigns of live tests: what is to be measured how often, which of it is left, and what came of it.
//!
//! A [`Campaign`] is read from text: settings of the test that are taken in turn, and labels for what no program can set
//! (a place, a carrier, where the phone lies). Every combination is a [`Cell`]; [`Campaign::jobs`] puts their repeats into an
//! order; [`table1`] sums up what was found. Nothing here measures, reads a clock or touches a file.
//!
//! # References
//! Jiang, Liu, Wang, Lee, Rhee: Understanding Bufferbloat in Cellular Networks, CellNet 2012, Table 1 (carriers, places, signal);
//! the loads by configurations by three repeats of the shaping studies (docs/campaign.md).

#![warn(clippy::disallowed_methods)]

mod axis;
mod campaign;
mod cell;
mod finding;
mod order;
mod setting;
mod tables;

pub use axis::{Axis, Hooks, Value};
pub use campaign::Campaign;
pub use cell::{Cell, Only};
pub use finding::{Finding, Reading, Run, table1};
pub use order::Job;
pub use setting::{Flows, Http, Load, PlanName, Settings, Stack};
pub use tables::{CampaignRow, findings_table};

#[cfg(test)]
mod tests;
