//! Options of `unbloat analyze`.

use clap::Args as ClapArgs;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use unbloat_run::format::FormatKind;
use unbloat_trace::{Network, Params};
use unbloat_units::{Bytes, Delta, Rate};
use unbloat_wire::ParserParams;

/// Find standing queues in a packet capture: how long packets wait, in which direction, on which side of
/// the capture point, and which flows fill the queue.
#[derive(ClapArgs)]
#[command(after_help = "\
Examples:
  unbloat analyze capture.pcap                     verdict, report and tables in runs/
  unbloat analyze 'ring.pcap*' --out run-1         rotated files as one trace
  zcat big.pcap.gz | unbloat analyze -             standard input
  unbloat analyze a.pcap --format csv --table flows > flows.csv
  sudo unbloat analyze --live eth0 --duration '1 min'
  unbloat analyze a.pcap --client-net 10.0.0.0/8 --C '100 Mbit/s'
Exit codes: 0 complete, 1 failed, 2 usage, 3 an input was cut or corrupt, 130 stopped by Ctrl-C")]
pub struct Args {
    /// Captures: pcap or pcapng, plain, gzip, zstd or lz4; patterns like 'cap*.pcap'; - for standard
    /// input. Several are one trace in time order
    #[arg(
        value_name = "CAPTURE",
        required_unless_present = "live",
        conflicts_with = "live"
    )]
    pub inputs: Vec<String>,

    /// Analyse the packets of this interface as they pass, until Ctrl-C or --duration
    #[arg(long, value_name = "IFACE")]
    pub live: Option<String>,

    /// Stop live analysis after this long
    #[arg(long, value_name = "SPAN", requires = "live")]
    pub duration: Option<Delta>,

    /// Bytes of each packet to capture live: 256 hold all headers, tunnels included
    #[arg(long, value_name = "BYTES", default_value_t = 256, requires = "live")]
    pub snap_len: u32,

    /// Capture live what is not for this machine, too
    #[arg(long, requires = "live")]
    pub promiscuous: bool,

    /// Folder for the run; it must not exist [default: an unused name in runs/]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Write no folder and no report
    #[arg(long, conflicts_with = "out")]
    pub no_run: bool,

    /// Print a table to standard output instead of the verdict: table, json, jsonl or csv; no folder
    /// is written unless --out is given
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    pub format: Option<FormatKind>,

    /// Which table `--format` prints: flows, rtt, in_flight, bandwidth, events, users, radio,
    /// promotions, concurrency, dns, http, protocols, summary or figures
    #[arg(long, default_value = "flows", requires = "format")]
    pub table: String,

    /// Rows that `--format table` prints
    #[arg(long, default_value_t = 40, requires = "format")]
    pub rows: usize,

    /// Standing delay from which a queue is called bufferbloat; from half of it, slight
    #[arg(long, value_name = "SPAN", default_value = "60 ms")]
    pub bloat_threshold: Delta,

    /// Threads that analyse files
    #[arg(long, default_value_t = 1, conflicts_with = "live", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: u16,

    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,

    #[command(flatten)]
    pub orientation: OrientationArgs,

    #[command(flatten)]
    pub params: ParamArgs,
}

impl Args {
    /// All options with the values in force, for run.json.
    pub fn options(&self) -> BTreeMap<String, Value> {
        let p = self.params.params();
        let c =
            p.c.map_or_else(|| "learn".to_owned(), |rate| rate.to_string());
        [
            ("C", json!(c)),
            ("delta_G", json!(p.delta_g.to_string())),
            ("T", json!(p.promotion_silence.to_string())),
            ("tail", json!(p.tail.to_string())),
            ("Rss_threshold", json!(p.rss_threshold)),
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
    /// Addresses in this network are clients, whoever sent the SYN; may be given several times
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

/// Parameters of the analyses, named as in Huang et al., SIGCOMM 2013.
#[derive(ClapArgs)]
#[command(next_help_heading = "Analyses (names and defaults of the SIGCOMM'13 LTE study)")]
pub struct ParamArgs {
    /// Windows with a lower sending rate give no bandwidth estimate; "learn" takes the fastest rate
    /// at which the user was seen to receive
    #[arg(long = "C", value_name = "RATE", default_value = "30 Mbit/s", value_parser = parse_c)]
    c: LearntRate,

    /// Packets at least this far apart give the timestamp tick G
    #[arg(long = "delta-G", value_name = "SPAN", default_value = "3 s")]
    delta_g: Delta,

    /// Radio silence before a handshake that must include a promotion
    #[arg(long = "T", value_name = "SPAN", default_value = "13 s")]
    t: Delta,

    /// How long the radio stays on after a packet
    #[arg(long, value_name = "SPAN", default_value = "10 s")]
    tail: Delta,

    /// Rate in 100-200 ms over rate in 0-100 ms after duplicate ACKs that means a slow start
    #[arg(long = "Rss-threshold", value_name = "RATIO", default_value_t = 1.5)]
    rss_threshold: f64,

    /// A large flow carries more than this downlink
    #[arg(long, value_name = "SIZE", default_value = "1 MB")]
    large_bytes: Bytes,

    /// A large flow transfers for longer than this
    #[arg(long, value_name = "SPAN", default_value = "5 s")]
    large_duration: Delta,

    /// Windows over which utilisation is sampled
    #[arg(long, value_name = "SPAN", default_value = "250 ms")]
    utilisation_window: Delta,

    /// Server ports behind a performance-enhancing proxy
    #[arg(
        long,
        value_name = "PORT",
        value_delimiter = ',',
        default_value = "80,8080"
    )]
    pep_ports: Vec<u16>,

    /// A flow silent for this long has ended
    #[arg(long, value_name = "SPAN", default_value = "1 h")]
    flow_idle: Delta,

    /// An address silent for this long is another user afterwards
    #[arg(long, value_name = "SPAN", default_value = "1 h")]
    user_idle: Delta,

    /// Width of the bins of the tables rtt and in_flight; "0 ms" keeps every sample
    #[arg(long, value_name = "SPAN", default_value = "10 ms")]
    bin: Delta,

    /// Live flows held at once; beyond it the longest silent are closed early, and counted
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = parse_count)]
    max_flows: usize,
}

/// `C`, or the word that says it is to be learnt.
#[derive(Clone, Copy, Debug)]
struct LearntRate(Option<Rate>);

impl ParamArgs {
    pub fn params(&self) -> Params {
        Params {
            c: self.c.0,
            delta_g: self.delta_g,
            promotion_silence: self.t,
            tail: self.tail,
            rss_threshold: self.rss_threshold,
            large_bytes: self.large_bytes,
            large_duration: self.large_duration,
            utilisation_window: self.utilisation_window,
            pep_ports: self.pep_ports.clone(),
            flow_idle: self.flow_idle,
            user_idle: self.user_idle,
            bin: self.bin,
            max_flows: self.max_flows,
            ..Params::default()
        }
    }
}

pub fn parse_format(text: &str) -> Result<FormatKind, String> {
    let names: Vec<&str> = FormatKind::ALL.iter().map(|kind| kind.name()).collect();
    FormatKind::from_name(text).ok_or_else(|| format!("one of {}", names.join(", ")))
}

fn parse_c(text: &str) -> Result<LearntRate, String> {
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
        Err("at least 1 is needed".to_owned())
    } else {
        Ok(count)
    }
}

fn parse_network(text: &str) -> Result<Network, String> {
    let example = "write it like 10.0.0.0/8 or 2001:db8::/32";
    let (ip, prefix) = text.split_once('/').ok_or(example)?;
    let ip: IpAddr = ip.parse().map_err(|_| example)?;
    let prefix: u8 = prefix.parse().map_err(|_| example)?;
    Network::new(ip, prefix).ok_or_else(|| format!("/{prefix} is longer than the address"))
}
