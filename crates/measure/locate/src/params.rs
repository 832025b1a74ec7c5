//! What it takes to be sure.

use unbloat_units::Delta;

/// When a difference is a queue, and when its place is certain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// Fewer answers than this, idle or under load, are none.
    pub min_answers: usize,
    /// A queue adds at least this much; less is the noise of routers that are busy.
    pub min_step: Delta,
    /// How often rounds are drawn anew.
    pub replicates: usize,
    /// Rounds that are drawn together; a second's worth.
    pub block_rounds: usize,
    /// The place must come out in at least this share of drawings to be named...
    pub likely: f64,
    /// ... and in this share to be called certain.
    pub certain: f64,
    pub seed: u64,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            min_answers: 5,
            min_step: Delta::ms(3),
            replicates: 300,
            block_rounds: 8,
            likely: 0.9,
            certain: 0.99,
            seed: 1,
        }
    }
}
