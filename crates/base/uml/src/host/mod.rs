//! What runs on the host: builds the kernel, starts guests, asks the referee.

mod build;
pub(crate) mod folder;
pub(crate) mod guest;
pub(crate) mod kernel;
mod process;
pub(crate) mod referee;
