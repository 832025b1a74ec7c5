//! Options of `unbloat locate`.

use crate::confine::{CapabilitySet, speak};
use crate::exit::Failure;
use crate::ip::IpArgs;
#[cfg(feature = "runs")]
use crate::output::{FormatArgs, RunArgs};
use crate::span::duration;
use crate::token::TokenArgs;
use crate::trust::TrustArgs;
use clap::builder::{PossibleValuesParser, TypedValueParser};
#[cfg(feature = "runs")]
use serde_json::{Value, json};
#[cfg(feature = "runs")]
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use unbloat_loadtest::{Flows, Target};
use unbloat_locate::Phase;
use unbloat_locate_host::{Kind, Options};
use unbloat_units::Delta;

/// Find the hop where load builds a queue, in each direction.
///
/// Every hop is probed ten times per second: first while the path is idle, then while a download and an upload run against HOST
/// (`unbloat serve`, or a server of the responsiveness draft or of ndt7). The queue is at the first hop whose added delay persists at
/// all later hops. If this host holds the queue, the verdict names the layer. A run takes about 35 s.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat locate server.example
  # distinguish Wi-Fi from the access line
  unbloat locate server.example --peer 192.168.1.20
  unbloat locate server.example --direction up --probe icmp
  unbloat locate https://rpm.example/config --no-run --json \\
    | jq '.verdicts[].text'
Example of a verdict:
  During upload: the queue is between hop 1, your gateway (192.168.1.1) and
  hop 2 (10.64.0.1); hop 1, your gateway (192.168.1.1) holds it. It adds
  214.3 ms (205.1 to 220.7)
docs/locate.md describes the method and the verdicts.")]
pub struct Args {
    /// Server at the end of the path, used for the load: HOST, HOST:PORT, https://HOST/PATH or ndt7://HOST
    #[arg(value_name = "HOST|URL")]
    pub target: String,

    /// Type of probe packets (tcp needs root)
    #[arg(long, value_name = "PROBE", default_value = "udp", value_parser = probe())]
    probe: Kind,

    /// Destination port of UDP and TCP probes [default: 33434; with tcp, the port of the load]
    #[arg(long, value_name = "PORT")]
    probe_port: Option<u16>,

    /// Directions to load, one after the other, comma-separated
    #[arg(long, value_name = "DIRECTION", value_delimiter = ',', default_value = "down,up", value_parser = phase())]
    direction: Vec<Phase>,

    /// Second node in the local network to probe, to distinguish the local link from the access line
    #[arg(long, value_name = "HOST")]
    peer: Option<String>,

    /// Length of the idle stage and of each load stage
    #[arg(long, value_name = "SPAN", default_value = "8 s")]
    stage_duration: Delta,

    /// Interval between probe packets, to one hop
    #[arg(long, value_name = "SPAN", default_value = "100 ms")]
    probe_interval: Delta,

    /// Maximum number of probes per second, all hops together
    #[arg(long, value_name = "N", default_value_t = 250)]
    probes_per_second: u32,

    /// Maximum number of hops to the server
    #[arg(long, value_name = "N", default_value_t = 30)]
    max_hops: u8,

    /// Number of load connections per direction
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=64))]
    flows: u16,

    #[command(flatten)]
    ip: IpArgs,

    #[command(flatten)]
    trust: TrustArgs,

    #[command(flatten)]
    token: TokenArgs,

    /// Do not show progress
    #[arg(short, long)]
    pub quiet: bool,

    /// Print JSON, one object (docs/locate.md)
    #[arg(long)]
    #[cfg_attr(feature = "runs", arg(conflicts_with = "format"))]
    pub json: bool,

    #[cfg(feature = "runs")]
    #[command(flatten)]
    pub run: RunArgs,

    #[cfg(feature = "runs")]
    #[command(flatten)]
    pub print: FormatArgs,

    /// Table that --format prints: hops, hop_probes or locations
    #[cfg(feature = "runs")]
    #[arg(
        long,
        value_name = "TABLE",
        default_value = "hops",
        requires = "format"
    )]
    pub table: String,
}

/// The evaluated arguments.
pub struct Wish {
    pub options: Options,
    pub load: unbloat_loadtest::Options,
    /// Address of the load server.
    pub server: SocketAddr,
}

impl Args {
    pub fn wish(&self) -> Result<Wish, Failure> {
        let target: Target = self.target.parse()?;
        let origin = target.origin().ok_or("an irtt server cannot carry load; give a host that runs `unbloat serve`, a server of the responsiveness draft, or ndt7://HOST")?;
        if let Target::Mlab(_) = target {
            return Err("mlab names its server only when a test begins, too late to probe the way to it; give another server".into());
        }
        crate::loadtest::announce(&target)?;
        let ip = self.ip.version();
        let ask = CapabilitySet::empty();
        let server = speak(ask, || unbloat_loadtest::reachable(origin, ip))?;
        let mut options = Options::new(server.ip());
        options.kind = self.probe;
        let usual = match self.probe {
            Kind::Tcp => server.port(),
            _ => options.port,
        };
        options.port = self.probe_port.unwrap_or(usual);
        options.peer = self
            .peer
            .as_ref()
            .map(|peer| speak(ask, || unbloat_loadtest::answering(peer, ip)))
            .transpose()?;
        options.interval = duration(self.probe_interval);
        options.most_per_second = self.probes_per_second;
        options.most_hops = self.max_hops;
        options.loads = self.direction.clone();
        (options.idle, options.loaded) =
            (duration(self.stage_duration), duration(self.stage_duration));
        options.check()?;
        Ok(Wish {
            server,
            load: self.load_options(target, server.ip())?,
            options,
        })
    }

    fn load_options(
        &self,
        target: Target,
        address: IpAddr,
    ) -> Result<unbloat_loadtest::Options, Failure> {
        let trust = self.trust.trust(&target, self.ip.version())?;
        let mut load = unbloat_loadtest::Options::of(target);
        load.trust = trust;
        load.token = self.token.token()?;
        load.flows = Flows::Fixed(self.flows);
        load.address = Some(address);
        load.probing.pairs_per_s = 1;
        load.probing.echo_every = Some(Delta::ms(200));
        Ok(load)
    }

    /// For the run's record.
    #[cfg(feature = "runs")]
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
        let directions: Vec<_> = self.direction.iter().map(|phase| phase.name()).collect();
        [
            ("target", json!(self.target)),
            ("address", json!(target)),
            ("probe", json!(kind.name())),
            ("probe_port", json!(port)),
            ("peer", json!(peer)),
            ("direction", json!(directions)),
            ("flows", json!(self.flows)),
            ("probe_interval_ms", json!(interval.as_millis() as u64)),
            ("idle_ms", json!(idle.as_millis() as u64)),
            ("loaded_ms", json!(loaded.as_millis() as u64)),
            ("fill_ms", json!(fill.as_millis() as u64)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }
}

fn probe() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::ALL.iter().map(|kind| kind.name()))
        .try_map(|name| name.parse::<Kind>())
}

fn phase() -> impl TypedValueParser<Value = Phase> {
    let all = [Phase::Down, Phase::Up, Phase::Both];
    PossibleValuesParser::new(all.map(|phase| phase.name())).map(move |name| {
        let found = all.into_iter().find(|phase| phase.name() == name);
        found.expect("a possible value")
    })
}
