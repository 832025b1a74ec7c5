//! What is asked for.

use std::net::IpAddr;
use std::time::Duration;
use unbloat_units::Delta;
use unbloat_watch::{Filter, Options};

/// Shows live where the packets of this host wait: in the socket, in the queue discipline, in the driver, or below.
///
/// Each flow that sends, longest wait first, and each device. T_Q and T_D are measured packet by packet within the kernel, which
/// needs root; otherwise they are estimated from its statistics. Watched is the network namespace in which it runs.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat watch
  unbloat watch --once --interval 5s
  unbloat watch --json --seconds 60 --port 443 | jq '.flows[] | [.to, .worst, .total_ms]'
  ip netns exec lab unbloat watch --interface wan0
What the columns and fields mean is told in docs/watch.md.")]
pub struct Args {
    /// Print a line of JSON for each look instead
    #[arg(long)]
    pub json: bool,

    /// Look once, print it, end
    #[arg(long)]
    pub once: bool,

    /// End after so many seconds
    #[arg(long, value_name = "N", value_parser = seconds)]
    pub seconds: Option<f64>,

    /// Time from one look to the next, from 100 ms to an hour
    #[arg(long, value_name = "TIME", default_value = "1 s", value_parser = interval)]
    interval: Delta,

    /// Only flows from or to this address
    #[arg(long, value_name = "ADDRESS")]
    flow: Option<IpAddr>,

    /// Only flows from or to this port
    #[arg(long)]
    port: Option<u16>,

    /// Only this device and what leaves by it
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,

    /// Measure nothing within the kernel; estimate from its statistics
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
    Err("it is from 100 ms to 1 h".to_owned())
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|e| format!("{e}"))?;
    // A hundred years: beyond, clocks overflow.
    if seconds > 0.0 && seconds < 3.2e9 {
        return Ok(seconds);
    }
    Err("it is more than 0".to_owned())
}
