//! From text to typed values, with errors that name line, key and what is allowed.

mod component;
mod error;
mod keys;
mod node;
mod read;

pub use component::Component;
pub use error::{Error, Origin, closest, did_you_mean};
pub use keys::Keys;
pub use node::{Node, Value};
pub use read::{At, read};

#[cfg(test)]
mod tests;
