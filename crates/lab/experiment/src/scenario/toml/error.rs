//! What is wrong with a scenario, where, and what would be right.

use serde::de;
use std::fmt;

/// Where a value was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Line of the file, from 1.
    Line(usize),
    /// Given on the command line.
    Set,
    /// One value of a sweep.
    Sweep,
    #[default]
    Nowhere,
}

/// A fault of a scenario: one message with place, key and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub origin: Origin,
    /// Path of keys, as `link.down.queue.kind`.
    pub key: String,
    pub message: String,
}

impl Error {
    pub fn new(origin: Origin, key: impl Into<String>, message: impl Into<String>) -> Error {
        Error {
            origin,
            key: key.into(),
            message: message.into(),
        }
    }

    /// Fills in where the value stands, unless a deeper level did so.
    pub(super) fn at(mut self, origin: &Origin, key: &str) -> Error {
        if self.origin == Origin::Nowhere {
            self.origin = origin.clone();
        }
        if self.key.is_empty() {
            self.key = key.to_owned();
        }
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.origin {
            Origin::Line(line) => write!(f, "line {line}: ")?,
            Origin::Set => f.write_str("--set: ")?,
            Origin::Sweep => f.write_str("[sweep]: ")?,
            Origin::Nowhere => {}
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Error {
        Error::new(Origin::Nowhere, "", message.to_string())
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Error {
        Error::custom(not_among("key", field, expected))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Error {
        Error::custom(not_among("value", variant, expected))
    }

    fn missing_field(field: &'static str) -> Error {
        Error::custom(format!("{field:?} is missing; it has no default"))
    }
}

/// The names that are most like this one, most alike first.
pub fn closest<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let names = names.into_iter();
    let mut near: Vec<_> = names
        .map(|name| (strsim::damerau_levenshtein(found, name), name))
        .collect();
    near.sort_unstable();
    near.into_iter().map(|(_, name)| name).collect()
}

/// "; did you mean "queue"?", if there is a name that is meant.
pub fn did_you_mean(found: &str, allowed: &[&str]) -> String {
    let nearest = allowed
        .iter()
        .map(|name| (strsim::damerau_levenshtein(found, name), name))
        .filter(|(distance, name)| *distance <= 1 + name.len() / 3)
        .min();
    nearest.map_or(String::new(), |(_, name)| {
        format!("; did you mean {name:?}?")
    })
}

/// "unknown key "qeue": did you mean "queue"? Allowed: delay, queue, rate".
pub(crate) fn not_among(what: &str, found: &str, allowed: &[&str]) -> String {
    let message = format!("unknown {what} {found:?}") + &did_you_mean(found, allowed);
    if allowed.is_empty() {
        return message + "; nothing is allowed here";
    }
    let mut allowed = allowed.to_vec();
    allowed.sort_unstable();
    message + &format!(" (allowed: {})", allowed.join(", "))
}
