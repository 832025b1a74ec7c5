//! Options of `unbloat watch`.

use std::net::IpAddr;
use std::time::Duration;
use unbloat_units::Delta;
use unbloat_watch::{Filter, Options};

/// Show live where packets of this host wait: socket, queue discipline, driver, or below.
///
/// Lists each device and each sending flow, longest wait first. T_Q and T_D are measured per packet in the kernel, which needs root; otherwise
/// they are estimated from kernel statistics. Observes the network namespace in which it runs.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat watch
  unbloat watch --once --interval 5s
  unbloat watch --json --seconds 60 --port 443 | jq '.flows[] | [.to, .worst, .total_ms]'
  ip netns exec lab unbloat watch --interface wan0
docs/watch.md describes the columns and the JSON fields.")]
pub struct Args {
    /// Print one JSON line per sample
    #[arg(long)]
    pub json: bool,

    /// Print one sample as a table and exit
    #[arg(long)]
    pub once: bool,

    /// Exit after N seconds
    #[arg(long, value_name = "N", value_parser = seconds)]
    pub seconds: Option<f64>,

    /// Time between samples, 100 ms to 1 h
    #[arg(long, value_name = "TIME", default_value = "1 s", value_parser = interval)]
    interval: Delta,

    /// Show only flows from or to this address
    #[arg(long, value_name = "ADDRESS")]
    flow: Option<IpAddr>,

    /// Show only flows from or to this port
    #[arg(long)]
    port: Option<u16>,

    /// Show only this device and the flows that leave through it
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,

    /// Do not load BPF programs; estimate from kernel statistics
    #[arg(long)]
    no_bpf: bool,
}

impl Args {
    pub fn options(&self) -> Options {
        Options {
            filter: Filter {
                address: self.flow,
                port: self.port,
                interface: self.interface.clone(),
            },
            without_bpf: self.no_bpf,
        }
    }

    pub fn every(&self) -> Duration {
        Duration::from_secs_f64(self.interval.as_secs())
    }
}

fn interval(text: &str) -> Result<Delta, String> {
    let span: Delta = text.parse().map_err(|e| format!("{e}"))?;
    if (Delta::ms(100)..=Delta::secs(3_600)).contains(&span) {
        return Ok(span);
    }
    Err("out of range; use 100 ms to 1 h".to_owned())
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|e| format!("{e}"))?;
    // A hundred years: beyond, clocks overflow.
    if seconds > 0.0 && seconds < 3.2e9 {
        return Ok(seconds);
    }
    Err("out of range; use a number above 0".to_owned())
}
