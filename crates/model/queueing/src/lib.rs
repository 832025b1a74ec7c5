//! Queueing models of a bottleneck: closed forms and exact chains.
//!
//! # References
//! - Jiang, Liu, Wang, Lee, Rhee, "Understanding Bufferbloat in Cellular Networks" (CellNet 2012),
//!   section 3, equations 1 to 5 and figure 4: "the paper" in this crate.
//! - Kleinrock, "Queueing Systems" I (1975): M/M/1, M/M/1/K, G/M/1.
//! - Kuczura, "The interrupted Poisson process as an overflow process" (BSTJ 1973).
//! - Grassmann, Taksar, Heyman, "Regenerative analysis and steady state distributions" (1985):
//!   elimination without subtraction.
//! - Brun, Garcia, "Analytical solution of finite capacity M/D/1 queues" (2000).
//!
//! # Conventions
//! A model knows no seconds: its unit of time is the mean transmission time of a packet at the
//! bottleneck (1/mu), its unit of rate is mu. [`Bottleneck`] carries results to milliseconds and
//! Mbit/s. `K` ([`Capacity`]) counts the packet that is being sent; a buffer behind the transmitter
//! holds K - 1. "Delay" is wait and transmission together, "wait" is without it; both are those of
//! packets that were let in.
//!
//! # Where the paper simplifies
//! | # | the paper | exact | by how much |
//! |---|---|---|---|
//! | 1 | an on-off source is as a Poisson source of the same mean (its `lambda_eff`) | [`IppM1k`] | without bound: bursts of ten packets double the delay at load 0.5; see [`Ipp`] |
//! | 2 | Eq. 2 divides the queue by the offered rate | by the accepted rate ([`Model::mean_delay`]) | Eq. 4 is too low by the lost share P_K: half at K = 1 and load 1, 2.7 % at K = 20 and load 0.95; see [`published`] |
//! | 3 | Eq. 1: RTT is twice the way there | the way there, and a reply that meets no queue | up to twofold; see [`Route`] |
//! | 4 | "delay grows faster than K" | never faster than K (half of it at load 1), and for load < 1 no further than 1/(1 - load) | see [`figure4`] |
//! | 5 | times of transmission are exponential | packets of one size: [`Md1k`] | about half the wait |
//!
//! Equations 3 and 5 are exact for M/M/1/K.

#![warn(clippy::disallowed_methods)]

mod bottleneck;
mod buffer;
mod error;
pub mod figure4;
mod fit;
mod growing;
mod ipp;
mod ipp_m1k;
mod kind;
mod limits;
mod md1k;
mod mm1k;
mod model;
mod poisson;
pub mod published;
mod route;
#[cfg(test)]
mod testing;

pub use bottleneck::Bottleneck;
pub use buffer::{BufferAnswer, Statistic, buffer_for};
pub use error::ModelError;
pub use fit::{Fit, FittedPoint, Measured, fit_buffer};
pub use ipp::Ipp;
pub use ipp_m1k::{IppM1, IppM1k};
pub use kind::Kind;
pub use limits::{Capacity, Load};
pub use md1k::{Md1, Md1k};
pub use mm1k::{Mm1, Mm1k};
pub use model::Model;
pub use route::Route;
