//! What a model cannot be asked.

use crate::{Capacity, Load};

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    #[error(
        "a load of {0} cannot be modelled: give the ratio of offered rate to link rate, above 0 and at most {most}",
        most = Load::MOST
    )]
    Load(f64),
    #[error("a buffer of {0} packets cannot be modelled: give 1 to {most}", most = Capacity::MOST)]
    Capacity(u64),
    #[error(
        "a source needs an on time above 0 and an off time of at least 0; give durations such as 200 ms"
    )]
    Source,
    #[error("a load of {0} fills any buffer; without a buffer limit the load must be below 1")]
    Unstable(f64),
    #[error("the link rate and the packet size must both be above 0")]
    Bottleneck,
    #[error(
        "hop {hop} (counted from 1) would have a load of {load:.2}; hops before the bottleneck must be faster than the offered rate"
    )]
    Hop { hop: usize, load: f64 },
    #[error("{given} measured points do not determine the buffer; at least {needed} are needed")]
    TooFewPoints { given: usize, needed: usize },
    #[error("{given} measured points are too many; average them to at most {most}")]
    TooManyPoints { given: usize, most: usize },
    #[error("measured point {0} (counted from 1) needs a delay and a rate above 0")]
    Point(usize),
}
