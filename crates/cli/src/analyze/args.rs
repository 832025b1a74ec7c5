//! Options of `unbloat analyze`.

use crate::output::{FormatArgs, RunArgs};
use clap::Args as ClapArgs;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::IpAddr;
use unbloat_trace::{Network, Params};
use unbloat_units::{Bytes, Delta, Rate};
use unbloat_wire::ParserParams;

/// Find standing queues in a packet capture: delay, direction, side of the capture point, responsible flows.
#[derive(ClapArgs)]
#[command(after_help = "\
Examples:
  unbloat analyze capture.pcap                     print a verdict, write a report and tables to runs/
  unbloat analyze 'ring.pcap*' --out run-1         analyse rotated files as one trace
  zcat big.pcap.gz | unbloat analyze -             read from standard input
  unbloat analyze a.pcap --format csv --table flows > flows.csv
  sudo unbloat analyze --interface eth0 --duration '1 min'
  unbloat analyze a.pcap --client-net 10.0.0.0/8 --min-sending-rate '100 Mbit/s'
Exit codes: 0 complete, 1 failed, 2 usage, 3 an input was cut or corrupt, 130 stopped by Ctrl-C")]
pub struct Args {
    /// Captures (pcap or pcapng; plain, gzip, zstd or lz4), patterns like 'cap*.pcap', or - for standard input; several
    /// files are merged in time order
    #[arg(
        value_name = "CAPTURE",
        required_unless_present = "interface",
        conflicts_with = "interface"
    )]
    pub inputs: Vec<String>,

    /// Capture and analyse packets on this interface until Ctrl-C or --duration
    #[arg(long, value_name = "INTERFACE")]
    pub interface: Option<String>,

    /// Stop after this time [default: at Ctrl-C]
    #[arg(long, value_name = "SPAN", requires = "interface")]
    pub duration: Option<Delta>,

    /// Bytes captured of each packet with --interface; 256 include all headers, also of tunnels
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 256,
        requires = "interface"
    )]
    pub snap_len: u32,

    /// Also capture packets that are not addressed to this machine (promiscuous mode)
    #[arg(long, requires = "interface")]
    pub promiscuous: bool,

    #[command(flatten)]
    pub run: RunArgs,

    #[command(flatten)]
    pub print: FormatArgs,

    /// Table that --format prints: flows, rtt, in_flight, bandwidth, events, users, radio,
    /// promotions, concurrency, dns, http, protocols, summary or figures
    #[arg(
        long,
        value_name = "TABLE",
        default_value = "flows",
        requires = "format"
    )]
    pub table: String,

    /// Minimum standing delay that counts as bufferbloat; from half of it, as slight bufferbloat
    #[arg(long, value_name = "SPAN", default_value = "60 ms")]
    pub bloat_threshold: Delta,

    /// Number of threads; for files only
    #[arg(long, default_value_t = 1, conflicts_with = "interface", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: u16,

    /// Do not show progress
    #[arg(long, short)]
    pub quiet: bool,

    #[command(flatten)]
    pub orientation: OrientationArgs,

    #[command(flatten)]
    pub params: ParamArgs,
}

impl Args {
    /// All options with their effective values, for run.json.
    pub fn options(&self) -> BTreeMap<String, Value> {
        let p = self.params.params();
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
            ("max_flows", json!(p.max_flows)),
            ("bloat_threshold", json!(self.bloat_threshold.to_string())),
            ("gtp_ports", json!(self.orientation.gtp_port)),
            ("threads", json!(self.threads)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }
}

#[derive(ClapArgs)]
#[command(next_help_heading = "Reading packets")]
pub struct OrientationArgs {
    /// Network whose addresses are clients, regardless of who sent the SYN; may be repeated
    #[arg(long, value_name = "CIDR", value_parser = parse_network)]
    pub client_net: Vec<Network>,

    /// UDP ports that carry GTP-U
    #[arg(
        long,
        value_name = "PORT",
        value_delimiter = ',',
        default_value = "2152"
    )]
    pub gtp_port: Vec<u16>,
}

impl OrientationArgs {
    pub fn parser(&self) -> ParserParams {
        ParserParams {
            gtp_ports: self.gtp_port.clone(),
            ..ParserParams::default()
        }
    }
}

/// Parameters of the analyses of Huang et al., SIGCOMM 2013.
#[derive(ClapArgs)]
#[command(
    next_help_heading = "Analysis parameters (defaults of Huang et al., SIGCOMM 2013; its symbols in parentheses)"
)]
pub struct ParamArgs {
    /// Minimum sending rate of a window for a bandwidth estimate (C); "learn": the user's highest observed receive rate
    #[arg(long, value_name = "RATE|learn", default_value = "30 Mbit/s", value_parser = parse_learnt_rate)]
    min_sending_rate: LearntRate,

    /// Minimum interval between packets from which the tick of TCP timestamps is derived (delta_G)
    #[arg(long, value_name = "SPAN", default_value = "3 s")]
    min_tick_interval: Delta,

    /// Idle time of the radio after which a handshake includes a promotion (T)
    #[arg(long, value_name = "SPAN", default_value = "13 s")]
    promotion_idle: Delta,

    /// Time that the radio stays on after a packet (tail time)
    #[arg(long, value_name = "SPAN", default_value = "10 s")]
    radio_tail: Delta,

    /// Minimum ratio of the rates 100-200 ms and 0-100 ms after duplicate ACKs that indicates slow start (threshold of R_ss)
    #[arg(long, value_name = "NUMBER", default_value_t = 1.5)]
    slow_start_ratio: f64,

    /// Downlink payload above which a flow is large, if it also exceeds --large-duration
    #[arg(long, value_name = "SIZE", default_value = "1 MB")]
    large_bytes: Bytes,

    /// Transfer time above which a flow is large, if it also exceeds --large-bytes
    #[arg(long, value_name = "SPAN", default_value = "5 s")]
    large_duration: Delta,

    /// Length of the windows in which utilisation is sampled
    #[arg(long, value_name = "SPAN", default_value = "250 ms")]
    utilisation_window: Delta,

    /// Server ports behind a performance-enhancing proxy
    #[arg(
        long,
        value_name = "PORT",
        value_delimiter = ',',
        default_value = "80,8080"
    )]
    pep_port: Vec<u16>,

    /// Idle time after which a flow has ended
    #[arg(long, value_name = "SPAN", default_value = "1 h")]
    flow_idle: Delta,

    /// Idle time after which an address counts as a new user
    #[arg(long, value_name = "SPAN", default_value = "1 h")]
    user_idle: Delta,

    /// Bin width of the tables rtt and in_flight; "0 ms" keeps every sample
    #[arg(long, value_name = "SPAN", default_value = "10 ms")]
    bin: Delta,

    /// Maximum number of concurrent flows; beyond it, the longest idle ones are closed early and counted
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = parse_count)]
    max_flows: usize,
}

/// `None` for "learn".
#[derive(Clone, Copy, Debug)]
struct LearntRate(Option<Rate>);

impl ParamArgs {
    pub fn params(&self) -> Params {
        Params {
            c: self.min_sending_rate.0,
            delta_g: self.min_tick_interval,
            promotion_silence: self.promotion_idle,
            tail: self.radio_tail,
            rss_threshold: self.slow_start_ratio,
            large_bytes: self.large_bytes,
            large_duration: self.large_duration,
            utilisation_window: self.utilisation_window,
            pep_ports: self.pep_port.clone(),
            flow_idle: self.flow_idle,
            user_idle: self.user_idle,
            bin: self.bin,
            max_flows: self.max_flows,
            ..Params::default()
        }
    }
}

fn parse_learnt_rate(text: &str) -> Result<LearntRate, String> {
    if text == "learn" {
        return Ok(LearntRate(None));
    }
    text.parse()
        .map(|rate| LearntRate(Some(rate)))
        .map_err(|e| format!("{e}, or \"learn\""))
}

fn parse_count(text: &str) -> Result<usize, String> {
    let count: usize = text.replace('_', "").parse().map_err(|e| format!("{e}"))?;
    if count == 0 {
        Err("must be at least 1".to_owned())
    } else {
        Ok(count)
    }
}

fn parse_network(text: &str) -> Result<Network, String> {
    let example = "expected a network like 10.0.0.0/8 or 2001:db8::/32";
    let (ip, prefix) = text.split_once('/').ok_or(example)?;
    let ip: IpAddr = ip.parse().map_err(|_| example)?;
    let prefix: u8 = prefix.parse().map_err(|_| example)?;
    Network::new(ip, prefix)
        .ok_or_else(|| format!("prefix length /{prefix} exceeds the length of the address"))
}
