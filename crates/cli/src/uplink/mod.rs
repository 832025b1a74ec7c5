//! `unbloat uplink`: limits this host's queue discipline to the drain rate of a modem.

use crate::confine::{SEES_PACKETS, drop_capabilities};
use crate::dry_run;
use crate::exit::{Exit, Failure};
use crate::print::{self, PrintError};
use crate::recovery;
use crate::span::{stop_after, within};
use crate::stop::stop_on_ctrl_c;
use unbloat_units::{Bytes, Delta};
use unbloat_uplink::Params;
use unbloat_uplink_host::{Control, State, UplinkError, steps};

/// Keep a modem's buffer short: send only as fast as it drains.
///
/// The occupancy of the modem is estimated from the TCP timestamps of this host's connections. Packets then wait in fq_codel or, without fq_codel in the kernel, in two FIFOs, where packets of less than 128 bytes go first.
/// The previous queue discipline of the device is restored at exit, also after a kill. Requires root and tc.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat uplink --interface wwan0 --target '50 ms' --json
  unbloat lab shell --rate-up '8 Mbit/s' --set link.up.radio=lte \\
    --set 'link.up.device={ring_packets=16}' \\
    -- unbloat uplink --interface path --duration '1 min'")]
pub struct Args {
    /// Network interface in front of the modem
    #[arg(long, value_name = "INTERFACE")]
    interface: String,

    /// Target delay, in the modem, 5 ms to 1 s [default: 20 ms]
    #[arg(long, value_name = "SPAN", value_parser = target)]
    target: Option<Delta>,

    /// Print what would be done, change nothing
    #[arg(long)]
    dry_run: bool,

    /// Stop after this time [default: at Ctrl-C]
    #[arg(long, value_name = "SPAN")]
    duration: Option<Delta>,

    /// Print JSON, one object each second
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<Exit, Failure> {
    if args.dry_run {
        dry_run::print(&steps(&args.interface)?, args.json)?;
        return Ok(Exit::Complete);
    }
    // Must precede threads.
    let _guard = recovery::guarded().map_err(UplinkError::from)?;
    recovery::journals().map_err(UplinkError::from)?;
    drop_capabilities(SEES_PACKETS);
    let stop = stop_on_ctrl_c()?;
    let default = Params::of_delay();
    let valve = Params {
        target: args.target.unwrap_or(default.target),
        ..default
    };
    let control = Control::open(&args.interface, valve)?;
    if let Some(span) = args.duration {
        stop_after(span, &stop);
    }
    let mut failed = None;
    control.run(&stop, |state| {
        failed = told(state, args.json).err();
        if failed.is_some() {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    })?;
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(Exit::Complete),
    }
}

fn told(state: &State, is_json: bool) -> Result<(), PrintError> {
    match is_json {
        true => print::json(state),
        false => print::line(text(state)),
    }
}

fn text(state: &State) -> String {
    let mbit = |bps: u64| format!("{:.2} Mbit/s", bps as f64 / 1e6);
    if state.is_open {
        return format!("{}: no reports, not limited", state.device);
    }
    let drain = state.drain_bps.map_or("unknown".to_owned(), mbit);
    format!(
        "{}: rate {}; modem drains {drain}, holds {} of {} ({} reports)",
        state.device,
        mbit(state.rate_bps),
        Bytes::new(state.held_bytes),
        Bytes::new(state.limit_bytes),
        state.reports
    )
}

fn target(text: &str) -> Result<Delta, String> {
    within(text, Delta::ms(5)..=Delta::secs(1), "5 ms to 1 s")
}
