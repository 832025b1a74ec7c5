//! From text to typed values, with errors that name line, key and what is allowed.

mod component;
mod error;
mod node;
mod read;

pub use component::Component;
pub use error::{Error, Origin};
pub use node::{Node, Value};
pub use read::read;

#[cfg(test)]
mod tests;
