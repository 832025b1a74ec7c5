//! Options of `unbloat analyze`.

use crate::output::{FormatArgs, RunArgs};
use clap::Args as ClapArgs;
use unbloat_api::analyze::{Options, parse_count, parse_learnt_rate, parse_network};
use unbloat_trace::{Network, Params};
use unbloat_units::{Bytes, Delta, Rate};
use unbloat_wire::ParserParams;

/// Find queues in a capture: how long, which way, filled by whom.
#[derive(ClapArgs)]
#[command(after_help = "\
Examples:
  # print a verdict, write a report and tables
  unbloat analyze capture.pcap
  # analyse rotated files as one trace
  unbloat analyze 'ring.pcap*' --out run-1
  zcat big.pcap.gz | unbloat analyze -             read from standard input
  unbloat analyze a.pcap --format csv --table flows > flows.csv
  sudo unbloat analyze --interface eth0 --duration '1 min'
  unbloat analyze a.pcap --client-net 10.0.0.0/8 \\
    --min-sending-rate '100 Mbit/s'
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

    /// Bytes captured of each packet with --interface. 256 include all headers, also of tunnels
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

    /// Table that --format prints: flows, rtt, in_flight, bandwidth, events, users,
    /// promotions, concurrency, dns, http, protocols, summary or figures
    #[arg(
        long,
        value_name = "TABLE",
        default_value = "flows",
        requires = "format"
    )]
    pub table: String,

    /// Number of threads (for files only)
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
    /// Whether it prints one of these tables.
    pub fn prints(&self, tables: &[&str]) -> bool {
        self.print.format.is_some() && tables.contains(&self.table.as_str())
    }

    pub fn options(&self) -> Options {
        let mut params = self.params.params();
        params.all_series |= self.prints(&["rtt", "in_flight"]);
        Options {
            params,
            parser: self.orientation.parser(),
            client_nets: self.orientation.client_net.clone(),
            threads: usize::from(self.threads),
        }
    }
}

#[derive(ClapArgs)]
#[command(next_help_heading = "Reading packets")]
pub struct OrientationArgs {
    /// Network whose addresses are clients, regardless of who sent the SYN (may be repeated)
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
    /// Minimum standing delay that counts as bufferbloat. From half of it, it is slight
    #[arg(long, value_name = "SPAN", default_value = "60 ms")]
    bloat_threshold: Delta,

    /// Minimum sending rate of a window for a bandwidth estimate (C), or "learn": the user's highest observed receive rate
    #[arg(long, value_name = "RATE|learn", default_value = "30 Mbit/s", value_parser = parse_rate)]
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

    /// Bin width of the tables rtt and in_flight. "0 ms" keeps every sample
    #[arg(long, value_name = "SPAN", default_value = "100 ms")]
    bin: Delta,

    /// Rows in the tables rtt and in_flight: usual (of flows with 64 KiB of payload or 128 packets, and of those that the report shows)
    /// or all (of every flow)
    #[arg(long, value_name = "ROWS", value_parser = ["usual", "all"], default_value = "usual")]
    tables: String,

    /// Maximum number of concurrent flows. Beyond it, the longest idle ones are closed early and counted
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
            all_series: self.tables == "all",
            max_flows: self.max_flows,
            bloat_threshold: self.bloat_threshold,
            ..Params::default()
        }
    }
}

fn parse_rate(text: &str) -> Result<LearntRate, String> {
    parse_learnt_rate(text).map(LearntRate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches;

    #[test]
    fn defaults_are_those_of_the_library() {
        let command = Args::augment_args(clap::Command::new("analyze"));
        let matches = command.get_matches_from(["analyze", "a.pcap"]);
        let args = Args::from_arg_matches(&matches).unwrap();
        assert_eq!(args.options().options(), Options::default().options());
    }
}
