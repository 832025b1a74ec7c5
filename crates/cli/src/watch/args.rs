//! Options of `unbloat watch`.

use crate::span::{duration, sample_interval};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;
use unbloat_units::Delta;
use unbloat_watch::{Filter, Options};

/// Show live where packets of this host wait, from socket to driver.
///
/// Lists each device and each sending flow, longest wait first. T_Q and T_D are measured per packet in the kernel, which needs root; otherwise
/// they are estimated from kernel statistics. Observes the network namespace in which it runs.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat watch
  unbloat watch --once --interval '5 s'
  unbloat watch --json --duration '1 min' --port 443 \\
    | jq '.flows[] | [.to, .worst, .total_ms]'
  unbloat watch --interval '100 ms' --duration '1 min' --port 443 --json \\
    --out upload
  ip netns exec lab unbloat watch --interface wan0
docs/watch.md describes the columns and the JSON fields.")]
pub struct Args {
    /// Print JSON, one object per sample
    #[arg(long)]
    pub json: bool,

    /// Print one sample as a table and exit
    #[arg(long)]
    pub once: bool,

    /// Stop after this time [default: at Ctrl-C]
    #[arg(long, value_name = "SPAN")]
    pub duration: Option<Delta>,

    /// Interval between samples, 100 ms to 1 h
    #[arg(long, value_name = "SPAN", default_value = "1 s", value_parser = sample_interval)]
    interval: Delta,

    /// Select flows from or to this address
    #[arg(long, value_name = "ADDRESS")]
    address: Option<IpAddr>,

    /// Select flows from or to this port
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,

    /// Network interface. Select it and the flows that leave through it
    #[arg(long, value_name = "INTERFACE")]
    interface: Option<String>,

    /// Folder for the results (must not exist). Without it, no sample is kept
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,

    /// Do not load BPF programs, but estimate from kernel statistics
    #[arg(long)]
    no_bpf: bool,
}

impl Args {
    pub fn options(&self) -> Options {
        Options {
            filter: Filter {
                address: self.address,
                port: self.port,
                interface: self.interface.clone(),
            },
            without_bpf: self.no_bpf,
        }
    }

    /// What is watched, in words.
    pub fn title(&self) -> String {
        let device = self.interface.as_ref();
        let device = device.map_or("all devices".to_owned(), |name| format!("device {name}"));
        let address = self.address.map(|address| format!(", address {address}"));
        let port = self.port.map(|port| format!(", port {port}"));
        format!(
            "{device}{}{}, every {}",
            address.unwrap_or_default(),
            port.unwrap_or_default(),
            self.interval
        )
    }

    pub fn every(&self) -> Duration {
        duration(self.interval)
    }
}
