//! The two numbers that every model takes.

use crate::ModelError;

/// Offered rate over the link's rate (rho): 0.95 leaves 5 % of the link idle if nothing is lost.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Load(f64);

impl Load {
    /// Above it a finite buffer is simply full.
    pub const MOST: f64 = 100.0;

    pub fn new(load: f64) -> Result<Load, ModelError> {
        if load > 0.0 && load <= Load::MOST {
            Ok(Load(load))
        } else {
            Err(ModelError::Load(load))
        }
    }

    pub const fn get(self) -> f64 {
        self.0
    }

    /// Refuses loads at which a queue without a limit grows for ever.
    pub(crate) fn below_one(self) -> Result<f64, ModelError> {
        if self.0 < 1.0 {
            Ok(self.0)
        } else {
            Err(ModelError::Unstable(self.0))
        }
    }
}

/// The most packets that the bottleneck holds (K), the one being sent included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Capacity(u32);

impl Capacity {
    pub const MOST: u32 = 1_000_000;
    pub const ONE: Capacity = Capacity(1);

    pub const fn new(packets: u64) -> Result<Capacity, ModelError> {
        if packets >= 1 && packets <= Capacity::MOST as u64 {
            Ok(Capacity(packets as u32))
        } else {
            Err(ModelError::Capacity(packets))
        }
    }

    pub const fn get(self) -> u32 {
        self.0
    }

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}
