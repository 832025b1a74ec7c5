//! What is asked for.

use super::CommandError;
use crate::unit::{program, quoted};
use clap::ValueEnum;
use std::fmt::Write;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use unbloat_autorate::{Config, Policy, Probing, follow};
use unbloat_steer::{Options, Shaper, Source};

/// Sets the rates of the kernel's shapers (cake, or htb) as the line changes.
///
/// By default from the delay of the flows that pass, so that no rate has to be known; probes are sent only to the reflectors that are
/// named, and only while the flows say too little. The rates that were found are put back at the end. Where the kernel has no
/// shaper, see unbloat shape --follow.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat autorate --interface wan0 --down ifb4wan0 --up wan0 --json | tee decisions.jsonl
  unbloat autorate --interface wan0 --down ifb4wan0 --up wan0 --dry-run
  unbloat autorate --interface wan0 --up wan0 --source packets
  unbloat autorate --config /root/cake-autorate/config.primary.sh --policy cake-autorate
  unbloat autorate --interface wan0 --down ifb4wan0 --up wan0 --unit > /etc/systemd/system/unbloat-autorate.service
What decides, and what the fields mean, is told in docs/autorate.md.")]
pub struct Args {
    /// The device towards the line
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,

    /// The device whose root shapes what comes in
    #[arg(long, value_name = "NAME")]
    down: Option<String>,

    /// The device whose root shapes what goes out
    #[arg(long, value_name = "NAME")]
    up: Option<String>,

    /// How rates are decided
    #[arg(long, value_enum, default_value = "follow")]
    policy: Law,

    /// A configuration file of cake-autorate: devices, rates, thresholds, reflectors. It is read, not run
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Who answers echo requests; repeat for several
    #[arg(long, value_name = "ADDRESS")]
    reflector: Vec<Ipv4Addr>,

    /// Where the packets that pass are looked at [default: in the kernel if it takes the programs]
    #[arg(long, value_enum)]
    source: Option<Where>,

    /// Decide and tell, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// End after so many seconds
    #[arg(long, value_name = "N", value_parser = crate::shape::seconds)]
    pub seconds: Option<f64>,

    /// Print a line of JSON for each decision
    #[arg(long)]
    pub json: bool,

    /// Print a systemd unit with these options, and end
    #[arg(long)]
    pub unit: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Where {
    /// In the kernel, by BPF programs: Linux 6.6 and newer
    Bpf,
    /// In this process, by AF_PACKET
    Packets,
}

impl Where {
    fn source(self) -> Source {
        match self {
            Where::Bpf => Source::Bpf,
            Where::Packets => Source::Packets,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Law {
    /// By what the full line was seen to carry
    Follow,
    /// As cake-autorate does, by probes
    CakeAutorate,
}

impl Args {
    pub fn options(&self) -> Result<Options, CommandError> {
        let config = self.read_config()?;
        let up = self.up.clone().or_else(|| config.ul_if.clone());
        let down = self.down.clone().or_else(|| config.dl_if.clone());
        let interface = self.interface.clone().or_else(|| config.ul_if.clone());
        let interface = interface.ok_or(CommandError::NoInterface)?;
        if down.is_none() && up.is_none() {
            return Err(CommandError::Nothing);
        }
        let reflectors = self.reflectors(&config)?;
        let policy = match self.policy {
            Law::Follow => Policy::Follow([follow::Params::default(), follow::Params::up()]),
            Law::CakeAutorate if reflectors.is_empty() => return Err(CommandError::NoReflector),
            Law::CakeAutorate => Policy::CakeAutorate {
                sides: config.sides(),
                probing: Probing::RoundTrip,
            },
        };
        let shaper = |device: Option<String>| device.map(|device| Shaper::of(&device)).transpose();
        Ok(Options {
            interface,
            shapers: [shaper(down)?, shaper(up)?],
            policy,
            source: self.source.map(Where::source),
            reflectors,
            dry_run: self.dry_run,
        })
    }

    fn read_config(&self) -> Result<Config, CommandError> {
        let Some(path) = &self.config else {
            return Ok(Config::default());
        };
        let text = std::fs::read_to_string(path).map_err(|source| CommandError::Config {
            file: path.display().to_string(),
            source,
        })?;
        Ok(Config::read(&text))
    }

    /// Those of the command line; those of the configuration for the law that needs them.
    fn reflectors(&self, config: &Config) -> Result<Vec<Ipv4Addr>, CommandError> {
        if !self.reflector.is_empty() || self.policy == Law::Follow {
            return Ok(self.reflector.clone());
        }
        let read = |text: &String| {
            text.parse()
                .map_err(|_| CommandError::Reflector(text.clone()))
        };
        config.reflectors.iter().map(read).collect()
    }

    /// A unit that runs the same command.
    pub fn unit_file(&self) -> String {
        let mut line = program();
        line.push_str(" autorate");
        let texts = [
            ("--interface", &self.interface),
            ("--down", &self.down),
            ("--up", &self.up),
        ];
        for (name, value) in texts {
            if let Some(value) = value {
                let _ = write!(line, " {name} {}", quoted(value));
            }
        }
        if let Some(config) = &self.config {
            let _ = write!(line, " --config {}", quoted(&config.to_string_lossy()));
        }
        if self.policy == Law::CakeAutorate {
            line.push_str(" --policy cake-autorate");
        }
        for reflector in &self.reflector {
            let _ = write!(line, " --reflector {reflector}");
        }
        if let Some(source) = self.source {
            let _ = write!(line, " --source {}", source.source().name());
        }
        if self.dry_run {
            line.push_str(" --dry-run");
        }
        UNIT.replace("COMMAND", &line)
    }
}

/// The claims of all commands are in `/run/unbloat`, which is all of `/run` that this may write to. It is preserved: without, systemd would
/// remove others' claims at the stop. Five starts within a minute are enough to know that it cannot work; a line that is down for longer
/// is no reason to stop, because a start there succeeds. Each decision is a line: nobody's journal needs them.
const UNIT: &str = "\
[Unit]
Description=Rates of the shapers follow the line (unbloat autorate)
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
ExecStart=COMMAND
Restart=on-failure
RestartSec=5
StandardOutput=null
CapabilityBoundingSet=CAP_NET_ADMIN CAP_NET_RAW CAP_BPF CAP_PERFMON
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
RuntimeDirectory=unbloat
RuntimeDirectoryMode=0700
RuntimeDirectoryPreserve=yes

[Install]
WantedBy=multi-user.target
";
