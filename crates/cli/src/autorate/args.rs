//! Options of `unbloat autorate`.

use super::CommandError;
use crate::interface::check;
use crate::metrics::MetricsArgs;
use crate::print::note;
use clap::ValueEnum;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use unbloat_autorate::{Config, Policy, Probing, follow};
use unbloat_autorate_host::{Options, Shaper, Source};
use unbloat_os::files;
use unbloat_units::{Both, Delta, Direction};
use unbloat_untrusted::harmless;

/// Adjust the rates of shapers to a line whose capacity varies.
///
/// By default the rates follow the delay of passing flows, so no line rate has to be configured. Probes go only to hosts given with
/// --reflector, and only while the flows provide too few samples. On exit the original rates are restored. If the kernel has no
/// shaper, use `unbloat shape --follow`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat autorate --interface wan0 --interface-down ifb4wan0 \\
    --interface-up wan0 --json | tee decisions.jsonl
  unbloat autorate --interface wan0 --interface-down ifb4wan0 \\
    --interface-up wan0 --dry-run
  unbloat autorate --interface wan0 --interface-up wan0 --tap packets
  unbloat autorate --config /root/cake-autorate/config.primary.sh \\
    --algorithm cake-autorate
  unbloat autorate --interface wan0 --interface-down ifb4wan0 \\
    --interface-up wan0 --unit > /etc/systemd/system/unbloat-autorate.service
docs/autorate.md describes the algorithms and the JSON fields.")]
pub struct Args {
    /// Network interface towards the line, whose packets autorate observes
    #[arg(long, value_name = "INTERFACE")]
    interface: Option<String>,

    /// Network interface whose root queue discipline shapes incoming packets
    #[arg(long, value_name = "INTERFACE")]
    interface_down: Option<String>,

    /// Network interface whose root queue discipline shapes outgoing packets
    #[arg(long, value_name = "INTERFACE")]
    interface_up: Option<String>,

    /// Control algorithm
    #[arg(long, value_name = "ALGORITHM", value_enum, default_value = "follow")]
    algorithm: Algorithm,

    /// Configuration file of cake-autorate (devices, rates, thresholds, reflectors) (read, never executed)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// IPv4 host that answers echo requests (may be repeated)
    #[arg(long, value_name = "ADDRESS")]
    reflector: Vec<Ipv4Addr>,

    /// Where packets are observed [default: bpf if the kernel accepts the programs]
    #[arg(long, value_name = "TAP", value_enum)]
    tap: Option<Tap>,

    /// Print what would be done, change nothing, but decide as usual
    #[arg(long)]
    dry_run: bool,

    /// Stop after this time [default: at Ctrl-C]
    #[arg(long, value_name = "SPAN")]
    pub duration: Option<Delta>,

    /// Print JSON, one object per decision
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub metrics: MetricsArgs,

    /// Print a systemd unit with these options and exit
    #[arg(long)]
    pub unit: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Tap {
    /// In the kernel, with BPF programs (Linux 6.6 or newer)
    Bpf,
    /// In this process, with AF_PACKET
    Packets,
}

impl Tap {
    fn source(self) -> Source {
        match self {
            Tap::Bpf => Source::Bpf,
            Tap::Packets => Source::Packets,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Algorithm {
    /// From the delay and the delivered rate of passing flows
    Follow,
    /// As cake-autorate does, from probes
    CakeAutorate,
}

impl Args {
    pub fn options(&self) -> Result<Options, CommandError> {
        let config = self.read_config()?;
        let adjusted = |direction, given: &Option<String>, named: &Option<String>| {
            let device = given.clone().or_else(|| named.clone());
            device.filter(|_| config.adjusts[direction])
        };
        let up = adjusted(Direction::Up, &self.interface_up, &config.ul_if);
        let down = adjusted(Direction::Down, &self.interface_down, &config.dl_if);
        let interface = self.interface.clone().or_else(|| config.ul_if.clone());
        let interface = interface.ok_or(CommandError::NoInterface)?;
        if config.adjusts == Both::new(false, false) {
            return Err(CommandError::AdjustsNothing);
        }
        if down.is_none() && up.is_none() {
            return Err(CommandError::Nothing);
        }
        let reflectors = self.reflectors(&config)?;
        for name in [Some(&interface), down.as_ref(), up.as_ref()]
            .into_iter()
            .flatten()
        {
            check(name)?;
        }
        let policy = match self.algorithm {
            Algorithm::Follow => {
                Policy::Follow(Both::new(follow::Params::default(), follow::Params::up()))
            }
            Algorithm::CakeAutorate if reflectors.is_empty() => {
                return Err(CommandError::NoReflector);
            }
            Algorithm::CakeAutorate => Policy::CakeAutorate {
                sides: config.sides(),
                probing: Probing::RoundTrip,
            },
        };
        let shaper = |device: Option<String>| device.map(|device| Shaper::of(&device)).transpose();
        Ok(Options {
            interface,
            shapers: Both::new(shaper(down)?, shaper(up)?),
            policy,
            source: self.tap.map(Tap::source),
            reflectors,
            dry_run: self.dry_run,
        })
    }

    fn read_config(&self) -> Result<Config, CommandError> {
        let Some(path) = &self.config else {
            return Ok(Config::default());
        };
        /// More than any configuration of cake-autorate.
        const LONGEST: u64 = 1 << 20;
        let read = files::open_any(path).and_then(|file| files::text(file, LONGEST));
        let text = read.map_err(|source| CommandError::Config {
            file: path.display().to_string(),
            source,
        })?;
        let config = Config::read(&text);
        let file = path.display();
        if let Some(assignment) = config.unreadable.first() {
            return Err(CommandError::Unreadable {
                file: file.to_string(),
                assignment: assignment.clone(),
            });
        }
        if !config.unused.is_empty() {
            let keys = harmless(&config.unused.join(", "));
            note!("unbloat: {file}: not used here: {keys}");
        }
        Ok(config)
    }

    /// Reflectors of the command line; with `cake-autorate`, which needs them, else those of the configuration.
    fn reflectors(&self, config: &Config) -> Result<Vec<Ipv4Addr>, CommandError> {
        if !self.reflector.is_empty() || self.algorithm == Algorithm::Follow {
            return Ok(self.reflector.clone());
        }
        let read = |text: &String| {
            text.parse()
                .map_err(|_| CommandError::Reflector(text.clone()))
        };
        config.reflectors.iter().map(read).collect()
    }
}

/// `/run/unbloat` holds the claims of all commands and is the only part of `/run` that the unit may write to. It is preserved, because
/// systemd would otherwise remove other commands' claims when the unit stops. At boot interfaces and shapers may come late: the unit tries until
/// they are there, but not with options that are wrong (exit code 2). Standard output, one line per decision, is kept out of the journal.
pub const UNIT: &str = "\
[Unit]
Description=Adjust shaper rates to the line (unbloat autorate)
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart=COMMAND
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=2
StandardOutput=null
CapabilityBoundingSet=CAP_NET_ADMIN CAP_NET_RAW CAP_BPF CAP_PERFMON
HARDENED
RuntimeDirectory=unbloat
RuntimeDirectoryMode=0700
RuntimeDirectoryPreserve=yes

[Install]
WantedBy=multi-user.target
";
