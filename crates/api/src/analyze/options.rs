//! Options of an analysis.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::IpAddr;
use unbloat_trace::{Network, Params};
use unbloat_units::Rate;
use unbloat_wire::ParserParams;

/// How packets are read and judged. The defaults are those of the command.
#[derive(Clone, Debug)]
pub struct Options {
    /// Parameters of the analyses.
    pub params: Params,
    /// How packets are read, for example the UDP ports of GTP-U.
    pub parser: ParserParams,
    /// Networks whose addresses are clients, regardless of who sent the SYN.
    pub client_nets: Vec<Network>,
    /// Number of threads; 1 runs everything on the calling thread. Does not affect results.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            params: Params::default(),
            parser: ParserParams::default(),
            client_nets: Vec::new(),
            threads: 1,
        }
    }
}

impl Options {
    /// All options with their effective values, by the names that the command has for them, for run.json.
    pub fn options(&self) -> BTreeMap<String, Value> {
        let p = &self.params;
        let c =
            p.c.map_or_else(|| "learn".to_owned(), |rate| rate.to_string());
        [
            ("min_sending_rate", json!(c)),
            ("min_tick_interval", json!(p.delta_g.to_string())),
            ("promotion_idle", json!(p.promotion_silence.to_string())),
            ("radio_tail", json!(p.tail.to_string())),
            ("slow_start_ratio", json!(p.rss_threshold)),
            ("large_bytes", json!(p.large_bytes.to_string())),
            ("large_duration", json!(p.large_duration.to_string())),
            (
                "utilisation_window",
                json!(p.utilisation_window.to_string()),
            ),
            ("pep_ports", json!(p.pep_ports)),
            ("flow_idle", json!(p.flow_idle.to_string())),
            ("user_idle", json!(p.user_idle.to_string())),
            ("bin", json!(p.bin.to_string())),
            ("tables", json!(if p.all_series { "all" } else { "usual" })),
            ("max_flows", json!(p.max_flows)),
            ("bloat_threshold", json!(p.bloat_threshold.to_string())),
            ("gtp_ports", json!(self.parser.gtp_ports)),
            ("threads", json!(self.threads)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }
}

/// Parses a minimum sending rate: a rate, or `learn` (`None`) for the user's highest observed receive rate.
///
/// # Errors
/// The text is neither.
pub fn parse_learnt_rate(text: &str) -> Result<Option<Rate>, String> {
    if text == "learn" {
        return Ok(None);
    }
    text.parse()
        .map(Some)
        .map_err(|error| format!("{error}, or \"learn\""))
}

/// Parses a number of at least 1, in which `_` may group digits.
///
/// # Errors
/// The text is no such number.
pub fn parse_count(text: &str) -> Result<usize, String> {
    let count: usize = text
        .replace('_', "")
        .parse()
        .map_err(|error| format!("{error}"))?;
    if count == 0 {
        Err("must be at least 1".to_owned())
    } else {
        Ok(count)
    }
}

/// Parses a network like `10.0.0.0/8` or `2001:db8::/32`.
///
/// # Errors
/// The text is no network.
pub fn parse_network(text: &str) -> Result<Network, String> {
    let example = "expected a network like 10.0.0.0/8 or 2001:db8::/32";
    let (ip, prefix) = text.split_once('/').ok_or(example)?;
    let ip: IpAddr = ip.parse().map_err(|_| example)?;
    let prefix: u8 = prefix.parse().map_err(|_| example)?;
    Network::new(ip, prefix)
        .ok_or_else(|| format!("prefix length /{prefix} exceeds the length of the address"))
}
