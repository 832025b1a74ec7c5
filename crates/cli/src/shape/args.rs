//! Options of `unbloat shape`.

use crate::metrics::MetricsArgs;
use clap::ValueEnum;
use unbloat_autorate::{Policy, follow};
use unbloat_cake_nfqueue::Options;
use unbloat_qdisc::discipline::cake::{AckFilter, Isolation, Params};
use unbloat_sqm::Plan;
use unbloat_units::{Both, Cells, Delta, Framing, Rate};

/// Shape an interface with CAKE in user space, for kernels without CAKE.
///
/// Packets wait in the kernel. Only their headers are copied to this process. Ctrl-C stops shaping and removes the rules. If the process is
/// killed, the kernel removes the rules, and packets pass unshaped.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat shape --interface wan0 --rate-down '19 Mbit/s' --rate-up '4.75 Mbit/s'
  unbloat shape --interface wwan0 --follow --json | jq 'select(.reason)'
docs/shape.md describes the JSON fields and the CPU cost.")]
#[command(group = clap::ArgGroup::new("shaped").args(["rate_down", "rate_up", "follow"]).required(true).multiple(true))]
pub struct Args {
    /// Network interface towards the line
    #[arg(long, value_name = "INTERFACE")]
    interface: String,

    /// Downlink rate
    #[arg(long, value_name = "RATE")]
    rate_down: Option<Rate>,

    /// Uplink rate
    #[arg(long, value_name = "RATE")]
    rate_up: Option<Rate>,

    /// Adjust the rates to a changing line, from the delay of passing flows. Rates are then optional
    #[arg(long)]
    follow: bool,

    /// Overhead of the line per IP packet
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true)]
    overhead: Option<i32>,

    /// Minimum size of a packet on the line
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=256))]
    mpu: u32,

    /// Cells of the link layer: atm (ADSL), or ptm (VDSL, 64 of 65 bytes)
    #[arg(long, value_name = "CELLS", value_enum, default_value = "none")]
    cells: Link,

    /// Usual round-trip time
    #[arg(long, value_name = "SPAN", default_value = "100 ms")]
    rtt: Delta,

    /// Print what would be done, change nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Stop after this time [default: at Ctrl-C]
    #[arg(long, value_name = "SPAN")]
    pub duration: Option<Delta>,

    /// Print JSON, one object each second and for each change of a rate
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub metrics: MetricsArgs,
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
    pub fn options(&self) -> Options {
        let common = Params {
            overhead: self.overhead,
            min_packet_unit: self.mpu,
            cells: self.cells.into(),
            ..Params::of_rtt(self.rtt)
        };
        let rates = Both::new(self.rate_down, self.rate_up);
        let shaped = rates.map(|rate| rate.is_some() || self.follow);
        let policy = self.follow.then(policy);
        options(&self.interface, shaped, rates, common, policy)
    }
}

/// The options that implement a plan.
pub fn of_plan(plan: &Plan) -> Options {
    let rates = Both::new(plan.down, plan.up);
    let common = Params {
        overhead: (plan.framing != Framing::NONE).then_some(plan.framing.overhead_bytes),
        min_packet_unit: plan.framing.minimum_bytes,
        cells: plan.framing.cells,
        ..of_rtt(plan.rtt)
    };
    let shaped = rates.map(|rate| rate.is_some());
    options(plan.device.as_str(), shaped, rates, common, None)
}

/// The options that follow a line with unknown rates.
pub fn following(interface: &str, rtt: Option<Delta>) -> Options {
    let (shaped, policy) = (Both::new(true, true), Some(policy()));
    options(interface, shaped, Both::default(), of_rtt(rtt), policy)
}

fn of_rtt(rtt: Option<Delta>) -> Params {
    rtt.map_or_else(Params::default, Params::of_rtt)
}

fn policy() -> Policy {
    Policy::Follow(Both::new(follow::Params::default(), follow::Params::up()))
}

fn options(
    interface: &str,
    shaped: Both<bool>,
    rates: Both<Option<Rate>>,
    common: Params,
    policy: Option<Policy>,
) -> Options {
    let down = Params {
        rate: rates.down,
        ingress: true,
        isolation: Isolation::DualDestination,
        ..common
    };
    let up = Params {
        rate: rates.up,
        isolation: Isolation::DualSource,
        ack_filter: AckFilter::Off,
        ..common
    };
    Options {
        interface: interface.to_owned(),
        cakes: Both::new(shaped.down.then_some(down), shaped.up.then_some(up)),
        policy,
        every: Delta::secs(1),
    }
}
