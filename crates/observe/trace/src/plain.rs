//! Quantities as whole numbers in documents that programs write for programs: nanoseconds, bytes, bits per second.
//!
//! In scenarios quantities are texts with units; those round.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use unbloat_units::{Bytes, Delta, Rate};

/// A quantity that a whole number says exactly.
pub trait Plain: Sized {
    type Number: Serialize + DeserializeOwned;
    fn number(&self) -> Self::Number;
    fn of(number: Self::Number) -> Self;
}

impl Plain for Delta {
    type Number = i64;

    fn number(&self) -> i64 {
        self.as_ns()
    }

    fn of(number: i64) -> Delta {
        Delta::ns(number)
    }
}

impl Plain for Bytes {
    type Number = u64;

    fn number(&self) -> u64 {
        self.as_u64()
    }

    fn of(number: u64) -> Bytes {
        Bytes::new(number)
    }
}

impl Plain for Option<Rate> {
    type Number = Option<u64>;

    fn number(&self) -> Option<u64> {
        self.map(Rate::as_bps)
    }

    fn of(number: Option<u64>) -> Option<Rate> {
        number.map(Rate::bps)
    }
}

pub fn serialize<T: Plain, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    value.number().serialize(to)
}

pub fn deserialize<'de, T: Plain, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    T::Number::deserialize(from).map(T::of)
}
