//! Options of `unbloat locate`.

use super::CommandError;
use crate::analyze::parse_format;
use crate::token::TokenArgs;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;
use unbloat_hop::Phase;
use unbloat_locate::{Kind, Options};
use unbloat_run::format::FormatKind;
use unbloat_test::{Flows, Target, Trust};
use unbloat_units::Delta;

/// Find the hop of the path where load builds a queue, in each direction.
///
/// Every hop is probed ten times per second: first while the path is idle, then while a download and an upload run against HOST
/// (`unbloat serve`, or a server of the responsiveness draft or of ndt7). The queue is at the first hop whose added delay persists at
/// all later hops. If this host holds the queue, the verdict names the layer. A run takes about 35 s.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat locate server.example
  unbloat locate server.example --peer 192.168.1.20    distinguish Wi-Fi from the access line
  unbloat locate server.example --load up --probe icmp
  unbloat locate https://rpm.example/config --no-run --json | jq '.verdicts[].text'
Example of a verdict:
  During upload: the queue is between hop 1, your gateway (192.168.1.1) and hop 2 (10.64.0.1); hop 1, your
  gateway (192.168.1.1) holds it. It adds 214.3 ms (205.1 to 220.7); 100 % of drawings agree
docs/locate.md describes the method and the verdicts.")]
pub struct Args {
    /// Server at the end of the path, used for the load: HOST, HOST:PORT, https://HOST/PATH or ndt7://HOST
    pub target: String,

    /// Type of probe packets: udp, icmp, or tcp (needs root)
    #[arg(long, default_value = "udp")]
    probe: Kind,

    /// Destination port of UDP and TCP probes [default: 33434; with tcp, the port of the load]
    #[arg(long)]
    port: Option<u16>,

    /// Directions to load, one after the other, comma-separated: down, up, both
    #[arg(long, value_name = "WHICH", value_delimiter = ',', default_value = "down,up", value_parser = phase)]
    load: Vec<Phase>,

    /// Second node in the local network to probe, to distinguish the local link from the access line
    #[arg(long, value_name = "HOST")]
    peer: Option<String>,

    /// Length of the idle stage and of each load stage
    #[arg(long, value_name = "SPAN", default_value = "8 s")]
    span: Delta,

    /// Interval between probes to one hop
    #[arg(long, value_name = "SPAN", default_value = "100 ms")]
    interval: Delta,

    /// Maximum number of probes per second, all hops together
    #[arg(long, value_name = "N", default_value_t = 250)]
    rate: u32,

    /// Maximum number of hops to the server
    #[arg(long, value_name = "N", default_value_t = 30)]
    hops: u8,

    /// Number of load connections per direction
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=64))]
    flows: u16,

    /// Use IPv4 only
    #[arg(short = '4', long = "ipv4", conflicts_with = "is_v6")]
    is_v4: bool,

    /// Use IPv6 only
    #[arg(short = '6', long = "ipv6")]
    is_v6: bool,

    /// Trust these certificate authorities (PEM) instead of the system's
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,

    /// Accept only the server certificate with this SHA-256 fingerprint, which `unbloat serve` prints
    #[arg(long, value_name = "FINGERPRINT", env = "UNBLOAT_PIN", hide_env_values = true, value_parser = fingerprint)]
    pin: Option<[u8; 32]>,

    /// Do not verify the server's certificate
    #[arg(long)]
    insecure: bool,

    #[command(flatten)]
    token: TokenArgs,

    /// Print one JSON object instead of the verdicts
    #[arg(long, conflicts_with = "format")]
    pub json: bool,

    /// Folder for the run; must not exist [default: an unused name in runs/]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Do not write a run folder and report
    #[arg(long, conflicts_with = "out")]
    no_run: bool,

    /// Print a table instead of the verdicts, as table, json, jsonl or csv; writes a run folder only with --out
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    pub format: Option<FormatKind>,

    /// Table that --format prints: hops, hop_probes or locations
    #[arg(long, default_value = "hops", requires = "format")]
    pub table: String,

    /// Maximum number of rows that --format table prints
    #[arg(long, default_value_t = 60, requires = "format")]
    pub rows: usize,
}

/// The evaluated arguments.
pub struct Wish {
    pub options: Options,
    pub load: unbloat_test::Options,
    /// Address of the load server.
    pub server: SocketAddr,
    pub peer_name: Option<String>,
}

impl Args {
    pub fn writes_run(&self) -> bool {
        !self.no_run && (self.format.is_none() || self.out.is_some())
    }

    pub fn wish(&self) -> Result<Wish, CommandError> {
        let target: Target = self.target.parse()?;
        let (host, load_port) = match &target {
            Target::Responsiveness(origin) | Target::Ndt7(origin) => (&origin.host, origin.port),
            Target::Irtt { .. } => return Err(CommandError::NoLoad),
        };
        let mut options = Options::new(self.resolve(host)?);
        options.kind = self.probe;
        let usual = match self.probe {
            Kind::Tcp => load_port,
            Kind::Udp | Kind::Icmp => options.port,
        };
        options.port = self.port.unwrap_or(usual);
        options.peer = self
            .peer
            .as_ref()
            .map(|peer| self.resolve(peer))
            .transpose()?;
        options.interval = duration(self.interval);
        options.most_per_second = self.rate;
        options.most_hops = self.hops;
        options.loads = self.load.clone();
        (options.idle, options.loaded) = (duration(self.span), duration(self.span));
        options.check()?;
        Ok(Wish {
            server: (options.target, load_port).into(),
            load: self.load_options(target, options.target)?,
            options,
            peer_name: self.peer.clone(),
        })
    }

    fn load_options(
        &self,
        target: Target,
        address: IpAddr,
    ) -> Result<unbloat_test::Options, CommandError> {
        let mut load = unbloat_test::Options::of(target);
        load.trust = Trust {
            ca: self.ca.clone(),
            pin: self.pin,
            is_blind: self.insecure,
        };
        load.token = self.token.token()?;
        load.flows = Flows::Fixed(self.flows);
        // The load uses the IP version that is probed.
        load.ip = Some(match address {
            IpAddr::V4(_) => unbloat_test::IpVersion::Four,
            IpAddr::V6(_) => unbloat_test::IpVersion::Six,
        });
        load.probing.pairs_per_s = 1;
        load.probing.echo_every = Delta::ms(200);
        Ok(load)
    }

    fn resolve(&self, host: &str) -> Result<IpAddr, CommandError> {
        let found = (host, 0).to_socket_addrs();
        let mut found = found.map_err(|source| CommandError::Name {
            host: host.to_owned(),
            source,
        })?;
        let is_wanted = |address: &IpAddr| match address {
            IpAddr::V4(_) => !self.is_v6,
            IpAddr::V6(_) => !self.is_v4,
        };
        let wanted = found.find_map(|address| Some(address.ip()).filter(is_wanted));
        wanted.ok_or_else(|| CommandError::NoAddress {
            host: host.to_owned(),
        })
    }

    /// For the run's record.
    pub fn settings(&self, wish: &Wish) -> BTreeMap<String, Value> {
        let Options {
            target,
            kind,
            port,
            peer,
            interval,
            idle,
            loaded,
            fill,
            ..
        } = &wish.options;
        let loads: Vec<_> = self.load.iter().map(|load| load.name()).collect();
        [
            ("target", json!(self.target)),
            ("address", json!(target)),
            ("probe", json!(kind.name())),
            ("port", json!(port)),
            ("peer", json!(peer)),
            ("load", json!(loads)),
            ("flows", json!(self.flows)),
            ("interval_ms", json!(interval.as_millis() as u64)),
            ("idle_ms", json!(idle.as_millis() as u64)),
            ("loaded_ms", json!(loaded.as_millis() as u64)),
            ("fill_ms", json!(fill.as_millis() as u64)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }
}

fn duration(span: Delta) -> Duration {
    Duration::from_nanos(u64::try_from(span.as_ns()).unwrap_or_default())
}

fn phase(text: &str) -> Result<Phase, String> {
    let all = [Phase::Down, Phase::Up, Phase::Both];
    let found = all.into_iter().find(|phase| phase.name() == text);
    found.ok_or_else(|| "expected down, up or both".to_owned())
}

fn fingerprint(text: &str) -> Result<[u8; 32], String> {
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b':').collect();
    let problem = || "expected 64 hexadecimal digits (SHA-256)".to_owned();
    let mut bytes = [0; 32];
    if digits.len() != 64 {
        return Err(problem());
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        let pair = std::str::from_utf8(pair).map_err(|_| problem())?;
        *byte = u8::from_str_radix(pair, 16).map_err(|_| problem())?;
    }
    Ok(bytes)
}
