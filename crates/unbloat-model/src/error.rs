//! What a model cannot be asked.

use crate::{Capacity, Load};

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    #[error(
        "a load of {0} cannot be modelled: it is the offered rate over the link's, above 0 and at most {most}",
        most = Load::MOST
    )]
    Load(f64),
    #[error("a buffer of {0} packets cannot be modelled: give 1 to {most}", most = Capacity::MOST)]
    Capacity(u64),
    #[error(
        "a source is on for longer than no time and off for no less than none; give spans such as 200 ms"
    )]
    Source,
    #[error("a load of {0} fills any buffer: without a limit on the buffer, load must be below 1")]
    Unstable(f64),
    #[error("a link needs a rate and packets a size: both above zero")]
    Bottleneck,
    #[error(
        "hop {hop} (counted from 1) would be loaded {load:.2}: hops before the bottleneck must be faster than what is offered"
    )]
    Hop { hop: usize, load: f64 },
    #[error("{given} measured points do not determine the buffer; {needed} are needed")]
    TooFewPoints { given: usize, needed: usize },
    #[error("{given} measured points are too many; average them to {most} or fewer")]
    TooManyPoints { given: usize, most: usize },
    #[error("measured point {0} (counted from 1) needs a delay and a rate above zero")]
    Point(usize),
}
