//! The bed's own record, read from its files (formats: `unbloat_truth::record`, `kernel`, `workload`).

use crate::error::ScoreError;
use crate::tuple::Tuple;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::net::Ipv4Addr;
use std::path::Path;

macro_rules! rows {
    ($($(#[$doc:meta])* $name:ident { $($(#[$attribute:meta])* $field:ident: $kind:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Deserialize)]
        pub(crate) struct $name {
            source: Ipv4Addr,
            source_port: u16,
            destination: Ipv4Addr,
            destination_port: u16,
            $($(#[$attribute])* pub(crate) $field: $kind,)*
        }

        impl $name {
            pub(crate) fn tuple(&self) -> Tuple {
                Tuple {
                    source: (self.source, self.source_port),
                    destination: (self.destination, self.destination_port),
                }
            }
        }
    )*};
}

rows! {
    /// A packet that was lost or overtaken, and where.
    Fate {
        time_ns: i64,
        #[serde(rename = "where")]
        place: String,
        direction: String,
        seq: u32,
        payload_bytes: u32,
        ip_id: u16,
    }
    /// A packet that waited for the radio.
    Promotion {
        seq: u32,
        promotion_ms: f64,
        first: bool,
    }
    /// What a sender's kernel did.
    Kernel {
        time_ns: i64,
        kind: String,
        side: String,
        snd_una: u32,
        snd_nxt: u32,
        srtt_us: u32,
        ip_id: u16,
        end_seq: u32,
        value: u32,
    }
    /// A connection as the client's application saw it.
    Connection {
        outcome: String,
    }
    /// An HTTP exchange that came to its end.
    Request {
        method: String,
        host: String,
        path: String,
        content_type: String,
        content_length: u64,
        posted_bytes: u64,
    }
}

/// A change of a link's rate.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct RateChange {
    pub(crate) time_ns: i64,
    pub(crate) direction: String,
    pub(crate) client: Ipv4Addr,
    pub(crate) rate_bps: f64,
}

impl Fate {
    pub(crate) fn is_before_monitor(&self) -> bool {
        // Places are named from the server on: uplink packets pass them in reverse.
        (self.place == "upstream") == (self.direction == "down")
    }
}

/// Everything that a bed wrote down.
pub(crate) struct Truth {
    pub(crate) drops: Vec<Fate>,
    pub(crate) reorders: Vec<Fate>,
    pub(crate) promotions: Vec<Promotion>,
    pub(crate) kernel: Vec<Kernel>,
    pub(crate) connections: Vec<Connection>,
    pub(crate) requests: Vec<Request>,
    pub(crate) rates: Vec<RateChange>,
}

impl Truth {
    pub(crate) fn read(folder: &Path) -> Result<Truth, ScoreError> {
        Ok(Truth {
            drops: read(folder, "drops.csv")?,
            reorders: read(folder, "reorders.csv")?,
            promotions: read(folder, "promotions.csv")?,
            kernel: read(folder, "kernel.csv")?,
            connections: read(folder, "workload.csv")?,
            requests: read(folder, "requests.csv")?,
            rates: read(folder, "rate.csv")?,
        })
    }
}

fn read<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<Vec<T>, ScoreError> {
    let path = folder.join(name);
    let rows = csv::Reader::from_path(&path).and_then(|mut csv| csv.deserialize().collect());
    rows.map_err(|source| ScoreError::Truth { path, source })
}
