//! The keys of one table, taken one by one; what is left over is refused.

use super::component::Component;
use super::error::{Error, Origin, not_among};
use super::node::{Node, Value};
use super::read::read;
use serde::de::DeserializeOwned;
use std::fmt;
use std::ops::RangeInclusive;

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
                format!("{} where a table is wanted", node.kind()),
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

    pub fn maybe<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<Option<T>, Error> {
        let path = self.path(name);
        self.take(name).map(|node| read(&node, &path)).transpose()
    }

    pub fn or<T: DeserializeOwned>(&mut self, name: &'static str, default: T) -> Result<T, Error> {
        Ok(self.maybe(name)?.unwrap_or(default))
    }

    pub fn need<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<T, Error> {
        self.maybe(name)?.ok_or_else(|| self.missing(name))
    }

    /// A value within bounds, if there is one.
    pub fn maybe_within<T>(
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
                let message = format!("{value} is out of range; from {least} to {most} is allowed");
                Err(Error::new(origin, self.path(name), message))
            }
            value => Ok(value),
        }
    }

    /// A value within bounds.
    pub fn within<T>(
        &mut self,
        name: &'static str,
        default: T,
        allowed: &RangeInclusive<T>,
    ) -> Result<T, Error>
    where
        T: DeserializeOwned + PartialOrd + fmt::Display,
    {
        Ok(self.maybe_within(name, allowed)?.unwrap_or(default))
    }

    /// A number from 0 to 1.
    pub fn share_or(&mut self, name: &'static str, default: f64) -> Result<f64, Error> {
        Ok(self.maybe_share(name)?.unwrap_or(default))
    }

    pub fn maybe_share(&mut self, name: &'static str) -> Result<Option<f64>, Error> {
        let origin = self.origin_of(name);
        match self.maybe(name)? {
            Some(share) if !(0.0..=1.0).contains(&share) => Err(Error::new(
                origin,
                self.path(name),
                format!("{share} is no share; a number from 0 to 1 is wanted"),
            )),
            share => Ok(share),
        }
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
