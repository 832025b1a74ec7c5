//! Options of `unbloat drwa`.

use std::ffi::OsString;
use std::time::Duration;
use unbloat_tcp::receive_window::{Config, drwa, rledbat};
use unbloat_units::{Bytes, Delta};
use unbloat_window::{Options, Whose};

/// Limit the receive windows of TCP downloads to keep queues in front of this host short.
///
/// A BPF program controls all TCP connections that start in a control group while the command runs. When the command ends or is
/// killed, the program is removed and the windows are no longer limited.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat drwa --run curl -O https://example.org/large
  unbloat drwa --cgroup /user.slice --port 443 --interface wwan0
  unbloat drwa --cgroup / --json | jq '.flows[] | [.remote, .window_bytes, .rtt_ms]'
  unbloat drwa --router br-lan
  unbloat drwa --policy rledbat --target '30 ms' --run apt-get upgrade
docs/drwa.md describes the control law and its limitations.")]
pub struct Args {
    /// Control connections of this control group (v2, as in /proc/PID/cgroup) and those below it; / is everything
    #[arg(long, value_name = "NAME", required_unless_present_any = ["run", "router"])]
    pub cgroup: Option<String>,

    /// Control only connections from or to this port; may be repeated
    #[arg(long, value_name = "N")]
    port: Vec<u16>,

    /// Control only connections that this device receives
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,

    /// Lower, on a router, the windows offered by the hosts behind this device; windows are never raised
    #[arg(long, value_name = "DEVICE", conflicts_with_all = ["cgroup", "run", "interface"])]
    pub router: Option<String>,

    /// Control law
    #[arg(long, value_enum, default_value_t = Policy::Drwa)]
    policy: Policy,

    /// DRWA: target round-trip time as a multiple of the minimum, in steps of 1/8 [default: 2; 2.5 for a sender that does not use
    /// the offered window; 3 with --as-published]
    #[arg(long, value_name = "X", value_parser = lambda)]
    lambda: Option<f64>,

    /// DRWA: weight of the previous estimate, in steps of 1/8
    #[arg(long, value_name = "X", default_value_t = 0.875, value_parser = alpha)]
    alpha: f64,

    /// DRWA: interval at which all flows drain the queue to measure the minimum round-trip time; 0: never
    #[arg(long, value_name = "TIME", default_value = "10 s", value_parser = span)]
    dip_every: Delta,

    /// DRWA: segments added to the window, for equal shares of the flows
    #[arg(long, value_name = "N", default_value_t = 6)]
    extra_segments: u16,

    /// DRWA as published, without additions: one lambda, no dips, no eager growth, no extra segments
    #[arg(long)]
    as_published: bool,

    /// rLEDBAT: target queueing delay
    #[arg(long, value_name = "TIME", default_value = "60 ms", value_parser = span)]
    target: Delta,

    /// Maximum window
    #[arg(long, value_name = "SIZE", default_value = "3 MiB", value_parser = size)]
    max: Bytes,

    /// Print one JSON line per interval; the output of COMMAND then goes to standard error
    #[arg(long)]
    pub json: bool,

    /// Interval between reports, 100 ms to 1 h
    #[arg(long, value_name = "TIME", default_value = "1 s", value_parser = interval)]
    interval: Delta,

    /// Stop after N seconds
    #[arg(long, value_name = "N")]
    pub seconds: Option<f64>,

    /// Run COMMAND in its own control group, and end with it
    #[arg(long, value_name = "COMMAND", num_args = 1.., allow_hyphen_values = true, conflicts_with = "cgroup")]
    pub run: Vec<OsString>,
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
enum Policy {
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

    fn law(&self) -> Config {
        match self.policy {
            Policy::Drwa => Config::Drwa(drwa::Params {
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
                max: self.max,
                ..drwa::Params::default()
            }),
            Policy::Rledbat => {
                let mut params = rledbat::Params {
                    max: self.max,
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
        Duration::from_secs_f64(self.interval.as_secs())
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
    let span: Delta = if text == "0" {
        Delta::ZERO
    } else {
        text.parse().map_err(|e| format!("{e}"))?
    };
    if (Delta::ZERO..=Delta::secs(86_400)).contains(&span) {
        return Ok(span);
    }
    Err("expected a time from 0 to 1 day".to_owned())
}

fn size(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse().map_err(|e| format!("{e}"))?;
    if (Bytes::new(4_096)..=Bytes::mib(1_024)).contains(&size) {
        return Ok(size);
    }
    Err("expected a size from 4,096 B to 1 GiB".to_owned())
}

fn interval(text: &str) -> Result<Delta, String> {
    let span: Delta = text.parse().map_err(|e| format!("{e}"))?;
    if (Delta::ms(100)..=Delta::secs(3_600)).contains(&span) {
        return Ok(span);
    }
    Err("expected a time from 100 ms to 1 h".to_owned())
}
