//! How delays and rates are written in JSON: milliseconds to the microsecond, bits per second.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use unbloat_units::{Bytes, Delta, Rate};

/// A day, and ten terabits a second: more is a damaged file.
const MAX_MS: f64 = 86.4e6;
const MAX_BPS: u64 = 10_000_000_000_000;

pub mod ms {
    use super::*;

    pub fn serialize<S: Serializer>(span: &Delta, to: S) -> Result<S::Ok, S::Error> {
        ((span.as_ms() * 1e3).round() / 1e3).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Delta, D::Error> {
        let ms = f64::deserialize(from)?;
        match ms.abs() <= MAX_MS {
            true => Ok(Delta::from_secs_f64(ms / 1e3)),
            false => Err(D::Error::custom(format!("{ms} ms is longer than a day"))),
        }
    }
}

pub mod bps {
    use super::*;

    pub fn serialize<S: Serializer>(rate: &Rate, to: S) -> Result<S::Ok, S::Error> {
        rate.as_bps().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Rate, D::Error> {
        let bps = u64::deserialize(from)?;
        match bps <= MAX_BPS {
            true => Ok(Rate::bps(bps)),
            false => Err(D::Error::custom(format!(
                "{bps} bit/s is not a valid line rate"
            ))),
        }
    }
}

pub mod bytes {
    use super::*;

    pub fn serialize<S: Serializer>(size: &Bytes, to: S) -> Result<S::Ok, S::Error> {
        size.as_u64().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Bytes, D::Error> {
        u64::deserialize(from).map(Bytes::new)
    }
}

macro_rules! optional {
    ($name:ident, $type:ty, $with:literal) => {
        pub mod $name {
            use super::*;

            #[derive(Serialize, Deserialize)]
            struct Field(#[serde(with = $with)] $type);

            pub fn serialize<S: Serializer>(
                value: &Option<$type>,
                to: S,
            ) -> Result<S::Ok, S::Error> {
                value.map(Field).serialize(to)
            }

            pub fn deserialize<'de, D: Deserializer<'de>>(
                from: D,
            ) -> Result<Option<$type>, D::Error> {
                Ok(Option::<Field>::deserialize(from)?.map(|field| field.0))
            }
        }
    };
}

optional!(ms_or_null, Delta, "super::ms");
optional!(bps_or_null, Rate, "super::bps");
