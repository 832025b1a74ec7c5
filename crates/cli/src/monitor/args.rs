//! Options of `unbloat monitor`.

use crate::analyze::OrientationArgs;
use crate::metrics::MetricsArgs;
use crate::span::within;
use crate::trust::TrustArgs;
use std::path::PathBuf;
use unbloat_monitor_host::Options;
use unbloat_units::{Bytes, Delta};

/// Monitor an interface for months: episodes, history, alerts.
///
/// Passive by default: added delay per direction, network and layer of this host, measured on passing flows. The history is a folder
/// with one run per day and a page, index.html. Active tests run only with --every.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat monitor --interface eth0
  unbloat monitor --interface wan0 --history /var/lib/unbloat/wan0 \\
    --metrics 9910
  unbloat monitor --interface wan0 \\
    --alert 'curl --json @- https://hooks.example.net/bloat'
  unbloat monitor --interface wan0 --alert 'logger -t bloat'
  unbloat monitor --interface wan0 --every '6 h' \\
    --budget '1 GB' test.example.net
  unbloat monitor --interface wan0 --unit \\
    > /etc/systemd/system/unbloat-monitor.service
docs/monitor.md describes the history, the metrics and the JSON fields.")]
pub struct Args {
    /// Server for active tests
    #[arg(value_name = "HOST|URL", requires = "every")]
    pub host: Option<String>,

    /// Network interface to monitor
    #[arg(long, value_name = "INTERFACE")]
    pub interface: String,

    /// Folder of the history (created if missing) [default: /var/lib/unbloat/INTERFACE]
    #[arg(long, value_name = "FOLDER")]
    history: Option<PathBuf>,

    /// Maximum disk space of the history, at least 4 MiB. The oldest days are deleted first
    #[arg(long, value_name = "SIZE", default_value = "64 MiB")]
    pub disk: Bytes,

    /// Interval between samples, 5 s to 10 min
    #[arg(long, value_name = "SPAN", default_value = "1 min", value_parser = interval)]
    interval: Delta,

    /// Minimum standing delay that counts as bufferbloat. From half of it, it is slight
    #[arg(long, value_name = "SPAN", default_value = "60 ms")]
    bloat_threshold: Delta,

    /// Do not load BPF programs. Layers of this host are then not monitored
    #[arg(long)]
    no_bpf: bool,

    #[command(flatten)]
    pub metrics: MetricsArgs,

    /// Stop after this time [default: at Ctrl-C]
    #[arg(long, value_name = "SPAN")]
    pub duration: Option<Delta>,

    /// Print JSON, one object per record of the history
    #[arg(long)]
    pub json: bool,

    /// Print a systemd unit with these options and exit
    #[arg(long)]
    pub unit: bool,

    #[command(flatten)]
    alerts: AlertArgs,

    #[command(flatten)]
    pub tests: TestArgs,

    #[command(flatten)]
    pub orientation: OrientationArgs,
}

#[derive(clap::Args)]
#[command(
    next_help_heading = "Alerts: at the start and the end of each episode, at most 12 per hour"
)]
struct AlertArgs {
    /// Run this shell command for each alert, with the event as JSON on its standard input
    #[arg(long, value_name = "COMMAND")]
    alert: Option<String>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Active tests (unbloat test HOST --glance)")]
pub struct TestArgs {
    /// Interval between active tests, 10 min to 7 days
    #[arg(long, value_name = "SPAN", requires = "host", value_parser = every)]
    pub every: Option<Delta>,

    /// Maximum bytes of active tests within 24 h. A test that reaches it is stopped
    #[arg(long, value_name = "SIZE", default_value = "500 MB")]
    pub budget: Bytes,

    #[command(flatten)]
    pub trust: TrustArgs,
}

fn interval(text: &str) -> Result<Delta, String> {
    within(text, Delta::secs(5)..=Delta::secs(600), "5 s to 10 min")
}

fn every(text: &str) -> Result<Delta, String> {
    within(
        text,
        Delta::secs(600)..=Delta::secs(7 * 86_400),
        "10 min to 168 h",
    )
}

impl Args {
    pub fn folder(&self) -> PathBuf {
        let usual = || PathBuf::from("/var/lib/unbloat").join(&self.interface);
        self.history.clone().unwrap_or_else(usual)
    }

    pub fn options(&self) -> Options {
        Options {
            interface: self.interface.clone(),
            span: self.interval,
            threshold: self.bloat_threshold,
            client_nets: self.orientation.client_net.clone(),
            parser: self.orientation.parser(),
            layers: !self.no_bpf,
            max_flows: 4_096,
        }
    }

    pub fn alert(&self) -> Option<String> {
        self.alerts.alert.clone()
    }
}

/// At boot the interface may come late: the unit tries until it is there, but not with options that are wrong (exit code 2). Standard
/// output, one line per episode, is kept out of the journal, which gets the same lines from standard error with their priority.
pub const UNIT: &str = "\
[Unit]
Description=Monitor an interface for bufferbloat (unbloat monitor)
After=network.target
StartLimitIntervalSec=0

[Service]
ExecStart=COMMAND
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=2
StandardOutput=null
CapabilityBoundingSet=CAP_NET_ADMIN CAP_NET_RAW CAP_BPF CAP_PERFMON CAP_SYS_PTRACE CAP_DAC_READ_SEARCH
HARDENED
MemoryMax=512M
PrivateTmp=yes
ProtectKernelTunables=yes
StateDirectory=unbloat
StateDirectoryMode=0750

[Install]
WantedBy=multi-user.target
";
