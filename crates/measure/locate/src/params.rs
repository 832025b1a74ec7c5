//! What it takes to be sure.

use unbloat_params::defaults;
use unbloat_units::Delta;

defaults! {
    /// When a difference is a queue, and when its place is certain.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Params {
        /// Fewer answers than this, idle or under load, are none.
        pub min_answers: usize = 5;
        /// A queue adds at least this much; less is the noise of routers that are busy.
        pub min_step: Delta = Delta::ms(3);
        /// How often rounds are drawn anew.
        pub replicates: usize = 300;
        /// Rounds that are drawn together; a second's worth.
        pub block_rounds: usize = 8;
        /// The place must come out in at least this share of drawings to be named...
        pub likely: f64 = 0.9;
        /// ... and in this share to be called certain.
        pub certain: f64 = 0.99;
        pub seed: u64 = 1;
    }
}
