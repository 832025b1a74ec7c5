//! Typed values out of a tree, by serde.

use super::error::Error;
use super::node::{Node, Value};
use serde::de::value::StrDeserializer;
use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;
use std::collections::btree_map;

/// Reads `node`, which stands under `key`.
pub fn read<'de, T: Deserialize<'de>>(node: &'de Node, key: &str) -> Result<T, Error> {
    T::deserialize(At {
        node,
        key: key.to_owned(),
    })
}

/// A value and its path of keys: what serde reads from.
pub struct At<'de> {
    pub node: &'de Node,
    pub key: String,
}

impl<'de> At<'de> {
    fn wrong_type(&self, error: Error) -> Error {
        error.at(&self.node.origin, &self.key)
    }
}

impl<'de> Deserializer<'de> for At<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let result = match &self.node.value {
            Value::Text(text) => visitor.visit_borrowed_str(text),
            Value::Integer(number) => visitor.visit_i64(*number),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Boolean(truth) => visitor.visit_bool(*truth),
            Value::Array(items) => visitor.visit_seq(Items {
                items: items.iter(),
                index: 0,
                key: &self.key,
            }),
            Value::Table(table) => visitor.visit_map(Entries {
                entries: table.iter(),
                value: None,
                key: &self.key,
            }),
        };
        result.map_err(|error| self.wrong_type(error))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    /// Whole numbers may stand where fractions are allowed.
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.node.value {
            Value::Integer(number) => visitor.visit_f64(number as f64),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let text: StrDeserializer<'_, Error> = match self.node.as_text() {
            Some(text) => text.into_deserializer(),
            None => {
                let message = format!(
                    "found {}; expected one of {}",
                    self.node.kind(),
                    variants.join(", ")
                );
                return Err(self.wrong_type(de::Error::custom(message)));
            }
        };
        text.deserialize_enum(name, variants, visitor)
            .map_err(|error| self.wrong_type(error))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct Items<'a, 'de> {
    items: std::slice::Iter<'de, Node>,
    index: usize,
    key: &'a str,
}

impl<'de> SeqAccess<'de> for Items<'_, 'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        let Some(node) = self.items.next() else {
            return Ok(None);
        };
        let key = format!("{}.{}", self.key, self.index);
        self.index += 1;
        seed.deserialize(At { node, key }).map(Some)
    }
}

struct Entries<'a, 'de> {
    entries: btree_map::Iter<'de, String, Node>,
    value: Option<(&'de String, &'de Node)>,
    key: &'a str,
}

impl Entries<'_, '_> {
    fn path(&self, name: &str) -> String {
        match self.key {
            "" => name.to_owned(),
            key => format!("{key}.{name}"),
        }
    }
}

impl<'de> MapAccess<'de> for Entries<'_, 'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some((name, node)) = self.entries.next() else {
            return Ok(None);
        };
        self.value = Some((name, node));
        let name_of: StrDeserializer<'_, Error> = name.as_str().into_deserializer();
        let unknown = |error: Error| error.at(&node.origin, &self.path(name));
        seed.deserialize(name_of).map(Some).map_err(unknown)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let (name, node) = self
            .value
            .take()
            .expect("serde asks for a value after its key");
        seed.deserialize(At {
            node,
            key: self.path(name),
        })
    }
}
