//! Quantities in configuration are texts with a unit: a bare number is refused.

use crate::{Bytes, Delta, Rate};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

struct WithUnit<T> {
    example: &'static str,
    kind: PhantomData<T>,
}

impl<T> Visitor<'_> for WithUnit<T>
where
    T: FromStr<Err: fmt::Display>,
{
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a text with a unit like {:?}", self.example)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

macro_rules! from_text {
    ($($quantity:ty: $example:literal,)*) => {
        $(impl<'de> Deserialize<'de> for $quantity {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(WithUnit { example: $example, kind: PhantomData })
            }
        })*
    };
}

from_text! {
    Bytes: "1 MB",
    Delta: "10 ms",
    Rate: "20 Mbit/s",
}
