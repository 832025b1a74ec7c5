//! Options of `unbloat autorate`.

use crate::exit::{Failure, Usage};
use crate::interface::check;
use crate::metrics::MetricsArgs;
use clap::ValueEnum;
use std::net::Ipv4Addr;
use unbloat_autorate::{Policy, follow};
use unbloat_autorate_host::{Options, Shaper, Source};
use unbloat_units::{Both, Delta};

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

impl Args {
    pub fn options(&self) -> Result<Options, Failure> {
        let interface = self
            .interface
            .clone()
            .ok_or(Usage("no device towards the line: give --interface"))?;
        let devices = Both::new(self.interface_down.as_ref(), self.interface_up.as_ref());
        if devices.iter().all(Option::is_none) {
            return Err(Usage(
                "no shaper to adjust: give its interface with --interface-down or --interface-up",
            )
            .into());
        }
        for name in devices.iter().copied().flatten().chain([&interface]) {
            check(name)?;
        }
        let shaper = |device: Option<&String>| device.map(|name| Shaper::of(name)).transpose();
        Ok(Options {
            interface,
            shapers: Both::new(shaper(devices.down)?, shaper(devices.up)?),
            policy: Policy::Follow(Both::new(follow::Params::default(), follow::Params::up())),
            source: self.tap.map(Tap::source),
            reflectors: self.reflector.clone(),
            dry_run: self.dry_run,
        })
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
