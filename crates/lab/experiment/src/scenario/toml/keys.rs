//! The keys of one table, taken one by one; what is left over is refused.

use super::component::Component;
use super::error::{Error, Origin, not_among};
use super::node::{Node, Value};
use super::read::read;
use serde::de::DeserializeOwned;
use std::fmt;
use std::ops::RangeInclusive;
use unbloat_params::Settings;

/// A table that is being read.
pub struct Keys {
    key: String,
    origin: Origin,
    node: Node,
    /// Where a key is looked for that the table does not have.
    above: Option<Node>,
    asked: Vec<&'static str>,
}

impl Keys {
    /// `node` must be a table; it stands under `key`.
    pub fn of(node: &Node, key: &str) -> Result<Keys, Error> {
        match node.value {
            Value::Table(_) => Ok(Keys::new(node.clone(), key)),
            _ => Err(Error::new(
                node.origin.clone(),
                key,
                format!("found {}; expected a table", node.kind()),
            )),
        }
    }

    /// The parameters of a part.
    pub fn params(component: Component, key: &str) -> Keys {
        Keys::new(component.params, key)
    }

    fn new(node: Node, key: &str) -> Keys {
        Keys {
            key: key.to_owned(),
            origin: node.origin.clone(),
            node,
            above: None,
            asked: Vec::new(),
        }
    }

    /// Looks for keys in `above` that this table does not have; those there need not all be asked for.
    pub fn or_else_from(self, above: Node) -> Keys {
        Keys {
            above: Some(above),
            ..self
        }
    }

    /// The keys that were not taken yet.
    pub fn rest(&self) -> Node {
        self.node.clone()
    }

    /// Path of a key of this table.
    pub fn path(&self, name: &str) -> String {
        match self.key.as_str() {
            "" => name.to_owned(),
            key => format!("{key}.{name}"),
        }
    }

    /// Takes a value as it stands.
    pub fn take(&mut self, name: &'static str) -> Option<Node> {
        self.asked.push(name);
        let own = self.node.take(name);
        own.or_else(|| self.above.as_mut()?.take(name))
    }

    pub fn need<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<T, Error> {
        self.maybe(name)?.ok_or_else(|| self.missing(name))
    }

    /// Where a value was written.
    pub fn origin_of(&self, name: &str) -> Origin {
        let of = |node: &Node| match &node.value {
            Value::Table(table) => table.get(name).map(|value| value.origin.clone()),
            _ => None,
        };
        let above = || self.above.as_ref().and_then(of);
        of(&self.node).or_else(above).unwrap_or(self.origin.clone())
    }

    /// Takes a part that comes in kinds.
    pub fn component(
        &mut self,
        name: &'static str,
        allowed: &[&str],
    ) -> Result<Option<Component>, Error> {
        let path = self.path(name);
        self.take(name)
            .map(|node| Component::of(&node, &path, allowed))
            .transpose()
    }

    pub fn missing(&self, name: &str) -> Error {
        self.fault(format!("{name:?} is missing; it has no default"))
    }

    /// A fault of the table as a whole.
    pub fn fault(&self, message: impl Into<String>) -> Error {
        Error::new(self.origin.clone(), self.key.clone(), message)
    }

    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Refuses the keys that nobody asked for.
    pub fn end(self) -> Result<(), Error> {
        let Value::Table(left) = &self.node.value else {
            return Ok(());
        };
        match left.iter().next() {
            None => Ok(()),
            Some((name, node)) => {
                let message = not_among("key", name, &self.asked);
                Err(Error::new(node.origin.clone(), self.path(name), message))
            }
        }
    }
}

impl Settings for Keys {
    type Error = Error;

    fn maybe<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<Option<T>, Error> {
        let path = self.path(name);
        self.take(name).map(|node| read(&node, &path)).transpose()
    }

    fn maybe_within<T>(
        &mut self,
        name: &'static str,
        allowed: &RangeInclusive<T>,
    ) -> Result<Option<T>, Error>
    where
        T: DeserializeOwned + PartialOrd + fmt::Display,
    {
        let origin = self.origin_of(name);
        match self.maybe(name)? {
            Some(value) if !allowed.contains(&value) => {
                let (least, most) = (allowed.start(), allowed.end());
                let message = format!("{value} is out of range; the range is {least} to {most}");
                Err(Error::new(origin, self.path(name), message))
            }
            value => Ok(value),
        }
    }

    fn maybe_fraction(&mut self, name: &'static str) -> Result<Option<f64>, Error> {
        let origin = self.origin_of(name);
        match self.maybe(name)? {
            Some(fraction) if !(0.0..=1.0).contains(&fraction) => Err(Error::new(
                origin,
                self.path(name),
                format!("{fraction} is not a fraction; expected a number from 0 to 1"),
            )),
            fraction => Ok(fraction),
        }
    }

    fn fault(&self, message: String) -> Error {
        Keys::fault(self, message)
    }
}
