//! Options of `unbloat drwa`.

use crate::span::{duration, sample_interval, within};
use clap::ArgGroup;
use std::ffi::OsString;
use std::time::Duration;
use unbloat_rwnd::{Options, Whose};
use unbloat_tcp::receive_window::{Config, drwa, rledbat};
use unbloat_units::{Bytes, Delta};

/// Limit the receive windows of TCP downloads to keep queues short.
///
/// A BPF program controls all TCP connections that start in a control group while the command runs. When the command ends or is
/// killed, the program is removed and the windows are no longer limited.
#[derive(clap::Args)]
#[command(group = ArgGroup::new("controlled").required(true).args(["command", "cgroup", "lan"]))]
#[command(after_help = "\
Examples:
  unbloat drwa -- curl -O https://example.org/large
  unbloat drwa --cgroup /user.slice --port 443 --interface wwan0
  unbloat drwa --cgroup / --json \\
    | jq '.flows[] | [.remote, .window_bytes, .rtt_ms]'
  unbloat drwa --lan br-lan
  unbloat drwa --algorithm rledbat --target '30 ms' -- apt-get upgrade
docs/drwa.md describes the algorithms and their limitations.")]
pub struct Args {
    /// Control connections of this control group (v2, as in /proc/PID/cgroup) and those below it. / is everything
    #[arg(long, value_name = "CGROUP")]
    pub cgroup: Option<String>,

    /// Select flows from or to this port (may be repeated)
    #[arg(long, value_name = "PORT")]
    port: Vec<u16>,

    /// Network interface. Select connections that receive through it
    #[arg(long, value_name = "INTERFACE")]
    interface: Option<String>,

    /// On a router: lower the windows offered by the hosts behind this interface. Windows are never raised
    #[arg(long, value_name = "INTERFACE", conflicts_with = "interface")]
    pub lan: Option<String>,

    /// Control algorithm
    #[arg(long, value_name = "ALGORITHM", value_enum, default_value_t = Algorithm::Drwa)]
    algorithm: Algorithm,

    /// DRWA: target round-trip time as a multiple of the minimum, in steps of 1/8 [default: 2; 2.5 for a sender that does not use
    /// the offered window; 3 with --as-published]
    #[arg(long, value_name = "NUMBER", value_parser = lambda)]
    lambda: Option<f64>,

    /// DRWA: weight of the previous estimate, in steps of 1/8
    #[arg(long, value_name = "NUMBER", default_value_t = 0.875, value_parser = alpha)]
    alpha: f64,

    /// DRWA: interval at which all flows drain the queue to measure the minimum round-trip time (0 s: never)
    #[arg(long, value_name = "SPAN", default_value = "10 s", value_parser = span)]
    dip_every: Delta,

    /// DRWA: segments added to the window, for equal shares of the flows
    #[arg(long, value_name = "N", default_value_t = 6)]
    extra_segments: u16,

    /// DRWA as published, without additions: one lambda, no dips, no eager growth, no extra segments
    #[arg(long)]
    as_published: bool,

    /// Target delay, of rLEDBAT's queue
    #[arg(long, value_name = "SPAN", default_value = "60 ms", value_parser = span)]
    target: Delta,

    /// Maximum receive window
    #[arg(long, value_name = "SIZE", default_value = "3 MiB", value_parser = size)]
    max_window: Bytes,

    /// Print what would be done, change nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Print JSON, one object per sample. The output of COMMAND then goes to standard error
    #[arg(long)]
    pub json: bool,

    /// Interval between samples, 100 ms to 1 h
    #[arg(long, value_name = "SPAN", default_value = "1 s", value_parser = sample_interval)]
    interval: Delta,

    /// Stop after this time [default: at Ctrl-C, or when COMMAND ends]
    #[arg(long, value_name = "SPAN")]
    pub duration: Option<Delta>,

    /// Command to run in its own control group, and its arguments. drwa ends with it
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// The default options.
pub fn standard() -> Options {
    #[derive(clap::Parser)]
    struct Alone {
        #[command(flatten)]
        args: Args,
    }
    <Alone as clap::Parser>::parse_from(["drwa", "--cgroup", "/"])
        .args
        .options()
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Algorithm {
    Drwa,
    Rledbat,
}

impl Args {
    pub fn options(&self) -> Options {
        Options {
            law: self.law(),
            ports: self.port.clone(),
            whose: Whose::Any,
            interface: self.interface.clone(),
        }
    }

    /// The interface that the programs are for.
    pub fn interface(&self) -> Option<&str> {
        self.interface.as_deref().or(self.lan.as_deref())
    }

    fn law(&self) -> Config {
        match self.algorithm {
            Algorithm::Drwa => Config::Drwa(drwa::Params {
                lambda_eighths: self.lambda.map_or_else(|| self.usual_lambda(), eighths),
                lambda_unfilled_eighths: if self.as_published {
                    0
                } else {
                    LAMBDA_UNFILLED_EIGHTHS
                },
                alpha_eighths: eighths(self.alpha),
                dip_every: if self.as_published {
                    Delta::ZERO
                } else {
                    self.dip_every
                },
                eager: !self.as_published,
                extra_segments: if self.as_published {
                    0
                } else {
                    self.extra_segments
                },
                max: self.max_window,
                ..drwa::Params::default()
            }),
            Algorithm::Rledbat => {
                let mut params = rledbat::Params {
                    max: self.max_window,
                    ..rledbat::Params::default()
                };
                params.control.target = self.target;
                Config::RLedbat(params)
            }
        }
    }

    /// With extra segments, a smaller lambda suffices.
    fn usual_lambda(&self) -> u32 {
        if self.as_published {
            drwa::Params::default().lambda_eighths
        } else {
            16
        }
    }

    pub fn every(&self) -> Duration {
        duration(self.interval)
    }
}

/// Lambda for senders that do not use the offered window, unless `lambda` is larger. Chosen with BBR on recorded links (docs/drwa.md).
const LAMBDA_UNFILLED_EIGHTHS: u32 = 20;

fn eighths(value: f64) -> u32 {
    (8.0 * value).round() as u32
}

fn number(text: &str, least: f64, most: f64) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|e| format!("{e}"))?;
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    Err(format!("expected a number from {least} to {most}"))
}

fn lambda(text: &str) -> Result<f64, String> {
    number(text, 1.0, 1_000.0)
}

fn alpha(text: &str) -> Result<f64, String> {
    number(text, 0.0, 1.0)
}

fn span(text: &str) -> Result<Delta, String> {
    within(text, Delta::ZERO..=Delta::secs(86_400), "0 s to 24 h")
}

fn size(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse().map_err(|e| format!("{e}"))?;
    if (Bytes::new(4_096)..=Bytes::mib(1_024)).contains(&size) {
        return Ok(size);
    }
    Err("expected a size from 4,096 B to 1 GiB".to_owned())
}
