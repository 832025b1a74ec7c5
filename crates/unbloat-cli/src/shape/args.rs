//! What is asked for.

use clap::ValueEnum;
use unbloat_autorate::{Policy, follow};
use unbloat_queue::discipline::cake::{AckFilter, Cells, Isolation, Params};
use unbloat_shape::Options;
use unbloat_sqm::{Framing, Plan};
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

    /// Least bytes that a packet takes on the link
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=256))]
    mpu: u16,

    /// What the link cuts packets into: cells of ATM (ADSL), 64 of 65 bytes (VDSL)
    #[arg(long, value_enum, default_value = "none")]
    cells: Link,

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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Link {
    None,
    Atm,
    Ptm,
}

impl From<Link> for Cells {
    fn from(link: Link) -> Cells {
        match link {
            Link::None => Cells::None,
            Link::Atm => Cells::Atm,
            Link::Ptm => Cells::Ptm,
        }
    }
}

impl Args {
    /// None: there is nothing to shape.
    pub fn options(&self) -> Option<Options> {
        let common = Params {
            rtt: self.rtt,
            overhead: self.overhead,
            min_packet_unit: self.mpu,
            cells: self.cells.into(),
            ..Params::default()
        };
        let rates = [self.down, self.up];
        let shaped = rates.map(|rate| rate.is_some() || self.follow);
        (shaped != [false; 2]).then(|| {
            let policy = self.follow.then(policy);
            options(&self.interface, shaped, rates, common, policy)
        })
    }
}

/// As this command shapes to a plan.
pub fn of_plan(plan: &Plan) -> Options {
    let rates = [plan.down, plan.up];
    let common = Params {
        overhead: (plan.framing != Framing::NONE).then_some(plan.framing.overhead_bytes),
        min_packet_unit: plan.framing.minimum_bytes,
        cells: match plan.framing.cells {
            unbloat_sqm::Cells::None => Cells::None,
            unbloat_sqm::Cells::Atm => Cells::Atm,
            unbloat_sqm::Cells::Ptm => Cells::Ptm,
        },
        ..Params::default()
    };
    let shaped = rates.map(|rate| rate.is_some());
    options(plan.device.as_str(), shaped, rates, common, None)
}

/// As this command follows a line of which nothing is known.
pub fn following(interface: &str) -> Options {
    let policy = Some(policy());
    options(interface, [true; 2], [None; 2], Params::default(), policy)
}

fn policy() -> Policy {
    Policy::Follow([follow::Params::default(), follow::Params::up()])
}

fn options(
    interface: &str,
    shaped: [bool; 2],
    rates: [Option<Rate>; 2],
    common: Params,
    policy: Option<Policy>,
) -> Options {
    let down = Params {
        rate: rates[0],
        ingress: true,
        isolation: Isolation::DualDestination,
        ..common
    };
    let up = Params {
        rate: rates[1],
        isolation: Isolation::DualSource,
        ack_filter: AckFilter::Off,
        ..common
    };
    Options {
        interface: interface.to_owned(),
        cakes: [shaped[0].then_some(down), shaped[1].then_some(up)],
        policy,
        every: Delta::secs(1),
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
