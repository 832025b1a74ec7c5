//! From text to typed values, with errors that name line, key and what is allowed.

mod error;
mod node;
mod read;

pub use error::{Error, Origin};
pub use node::Node;
pub use read::read;

#[cfg(test)]
mod tests;
