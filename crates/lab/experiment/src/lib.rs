//! One experiment: what is asked (`scenario`) and what came out (`outcome`), whichever clock runs it.

#![warn(clippy::disallowed_methods)]

pub mod outcome;
pub mod scenario;
