//! The document of a test: what `unbloat test` writes, and what `unbloat fix` reads.
//!
//! Files come from anywhere. A field that is not needed for a cure may be missing, spans are at most a day, and JSON has no number that is not
//! finite; texts are as they were written, and are made harmless where they are printed.

mod load;
mod place;

pub use load::{Added, Idle, Load, LoadDirection, Standing};
pub use place::{Share, Split};

use crate::fields::ms;
use crate::{Cause, SCHEMA, Use, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use unbloat_locate::LoadVerdict;
use unbloat_units::Delta;

/// Latency under load of one path: what was asked, what was measured, and what to do. Unknown values are null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Test {
    /// `unbloat.test/2`; the number changes when a field is removed or changes its meaning.
    pub schema: String,
    /// Wall clock at the start, ns since 1970.
    #[serde(default)]
    pub begun_ns: i64,
    /// The server as given on the command line.
    pub target: String,
    pub server: Server,
    /// Name of the plan of stages.
    #[serde(default)]
    pub plan: String,
    /// Interval between two datagrams.
    #[serde(default)]
    pub interval_ms: f64,
    /// The requested congestion control of load connections.
    pub congestion_control: Option<String>,
    /// The requested receive window of load connections.
    pub receive_window_bytes: Option<u64>,
    /// The test was stopped before its end.
    pub is_cut: bool,
    /// Time of the last sign of the server, if it went away.
    pub server_gone_s: Option<f64>,
    pub verdict: Verdict,
    /// What the verdict means for calls, games, video and web pages; empty without a verdict.
    #[serde(default)]
    pub uses: Vec<Use>,
    /// Null if the server sends no timestamps.
    pub clocks: Option<Clocks>,
    #[serde(default)]
    pub idle: Idle,
    /// One object per loaded stage.
    #[serde(default)]
    pub loads: Vec<Load>,
    /// Where the added delay arises, per direction that was loaded alone.
    #[serde(default)]
    pub splits: Vec<Split>,
    /// One object per stage and application.
    #[serde(default)]
    pub applications: Vec<Application>,
    #[serde(default)]
    pub grade: Grade,
    /// Confidence as in the draft: the minimum of the stages.
    pub confidence: Option<String>,
    /// Causes of delay other than a queue in the loaded direction.
    #[serde(default)]
    pub causes: Vec<Cause>,
    /// The hop of the queue, per load; empty if it was not searched.
    #[serde(default)]
    pub located: Vec<LoadVerdict>,
    /// What this server or this system could not provide.
    #[serde(default, alias = "lacks")]
    pub limitations: Vec<String>,
}

impl Test {
    /// Of `target`, with nothing measured yet.
    pub fn new(target: String, verdict: Verdict) -> Test {
        Test {
            schema: SCHEMA.to_owned(),
            begun_ns: 0,
            target,
            server: Server::default(),
            plan: String::new(),
            interval_ms: 0.0,
            congestion_control: None,
            receive_window_bytes: None,
            is_cut: false,
            server_gone_s: None,
            uses: verdict.uses(),
            verdict,
            clocks: None,
            idle: Idle::default(),
            loads: Vec::new(),
            splits: Vec::new(),
            applications: Vec::new(),
            grade: Grade::default(),
            confidence: None,
            causes: Vec::new(),
            located: Vec::new(),
            limitations: Vec::new(),
        }
    }
}

/// The server that answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Server {
    /// Address and port of the load connections.
    pub address: Option<SocketAddr>,
    /// The address that was asked, if the server named another one for the load.
    pub asked_address: Option<SocketAddr>,
    /// Version of HTTP.
    pub http: Option<String>,
    /// Version of TLS.
    pub tls: Option<String>,
    /// The server sent its own counters.
    #[serde(default)]
    pub has_account: bool,
    /// Address and port of the echo.
    pub echo: Option<SocketAddr>,
}

/// The server's clock against this host's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clocks {
    pub drift_ppm: f64,
    /// Uncertainty of one-way added delay.
    #[serde(rename = "error_ms", with = "ms")]
    #[schemars(with = "f64")]
    pub error: Delta,
}

/// An application that ran while the path was loaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Application {
    /// `idle`, `down`, `up` or `both`.
    pub load: String,
    pub name: String,
    /// Name of the workload.
    pub kind: String,
    /// Results by name, each with its unit at the end.
    pub metrics: BTreeMap<String, f64>,
    pub connections: u64,
    /// Connections that failed.
    pub failed: u64,
    /// Datagrams that were not sent.
    pub unsent: u64,
    /// Why something failed.
    pub notes: Vec<String>,
}

/// Grades of one scheme.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Grade {
    pub rule: String,
    pub rule_in_words: String,
    pub marks: Vec<Mark>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mark {
    /// `total`, `down`, `up` or an application.
    pub of: String,
    pub mark: String,
    /// The numbers it is derived from.
    pub because: String,
}

/// To four decimals: more was not measured.
pub fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
