//! Which model.

use crate::{Capacity, Ipp, IppM1, IppM1k, Load, Md1, Md1k, Mm1, Mm1k, Model, ModelError};

/// A family of models over all loads and capacities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Poisson arrivals, exponential transmission times: the paper's.
    Mm1k,
    /// Poisson arrivals, packets of one size.
    Md1k,
    /// A source on and off for these mean times, in transmission times; exponential transmission
    /// times.
    IppM1k { on: f64, off: f64 },
}

impl Kind {
    /// As in tables and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Mm1k => "mm1k",
            Kind::Md1k => "md1k",
            Kind::IppM1k { .. } => "ipp_m1k",
        }
    }

    /// As in the literature.
    pub const fn notation(self) -> &'static str {
        match self {
            Kind::Mm1k => "M/M/1/K",
            Kind::Md1k => "M/D/1/K",
            Kind::IppM1k { .. } => "IPP/M/1/K",
        }
    }

    pub fn solve(self, load: Load, capacity: Capacity) -> Result<Box<dyn Model>, ModelError> {
        Ok(match self {
            Kind::Mm1k => Box::new(Mm1k::new(load, capacity)),
            Kind::Md1k => Box::new(Md1k::new(load, capacity)),
            Kind::IppM1k { on, off } => Box::new(IppM1k::new(Ipp::new(load, on, off)?, capacity)),
        })
    }

    /// Without limit on the buffer; load must be below 1.
    pub fn solve_unlimited(self, load: Load) -> Result<Box<dyn Model>, ModelError> {
        Ok(match self {
            Kind::Mm1k => Box::new(Mm1::new(load)?),
            Kind::Md1k => Box::new(Md1::new(load)?),
            Kind::IppM1k { on, off } => Box::new(IppM1::new(Ipp::new(load, on, off)?)?),
        })
    }
}
