//! What is asked for.

use unbloat_autorate::{Policy, follow};
use unbloat_queue::discipline::cake::{AckFilter, Isolation, Params};
use unbloat_shape::Options;
use unbloat_units::{Delta, Rate};

/// Shapes an interface by CAKE in user space, where the kernel has no CAKE.
///
/// Packets wait in the kernel; only their headers come here. Ends, undone, with Ctrl-C; if it is killed the kernel removes its rules, and packets pass
/// unshaped.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat shape --interface wan0 --down 19Mbit/s --up 4.75Mbit/s
  unbloat shape --interface wwan0 --follow --json | jq 'select(.reason)'
What the fields mean, and what it costs, is told in docs/shape.md.")]
pub struct Args {
    /// The one towards the line
    #[arg(long, value_name = "NAME")]
    interface: String,

    /// Rate of what comes in
    #[arg(long, value_name = "RATE", alias = "down-bps")]
    down: Option<Rate>,

    /// Rate of what goes out
    #[arg(long, value_name = "RATE", alias = "up-bps")]
    up: Option<Rate>,

    /// Change the rates as the line does, by the delay of the flows that pass; then no rates are needed
    #[arg(long)]
    follow: bool,

    /// Bytes that the link adds to an IP packet
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true)]
    overhead: Option<i16>,

    /// The usual round trip time
    #[arg(long, value_name = "TIME", default_value = "100 ms")]
    rtt: Delta,

    /// End after so many seconds
    #[arg(long, value_name = "N", value_parser = seconds)]
    pub seconds: Option<f64>,

    /// Print a line of JSON for each second and each change
    #[arg(long)]
    pub json: bool,
}

impl Args {
    /// None: there is nothing to shape.
    pub fn options(&self) -> Option<Options> {
        let common = Params {
            rtt: self.rtt,
            overhead: self.overhead,
            ..Params::default()
        };
        let is_wanted = |rate: Option<Rate>| rate.is_some() || self.follow;
        let down = Params {
            rate: self.down,
            ingress: true,
            isolation: Isolation::DualDestination,
            ..common
        };
        let up = Params {
            rate: self.up,
            isolation: Isolation::DualSource,
            ack_filter: AckFilter::Off,
            ..common
        };
        let cakes = [
            is_wanted(self.down).then_some(down),
            is_wanted(self.up).then_some(up),
        ];
        let policy = Policy::Follow([follow::Params::default(), follow::Params::up()]);
        (cakes != [None; 2]).then(|| Options {
            interface: self.interface.clone(),
            cakes,
            policy: self.follow.then_some(policy),
            every: Delta::secs(1),
        })
    }
}

/// A span that a clock can be asked to wait for.
pub fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number is wanted".to_owned())?;
    match (0.0..=1e9).contains(&seconds) {
        true => Ok(seconds),
        false => Err("from 0 to 1e9 is allowed".to_owned()),
    }
}
