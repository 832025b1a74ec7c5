//! `unbloat uplink`: limits this host's queue discipline to the drain rate of a modem.

use crate::confine::{SEES_PACKETS, drop_capabilities};
use crate::dry_run;
use crate::exit::Exit;
use crate::print::{self, PrintError};
use crate::recovery;
use crate::span::{stop_after, within};
use crate::stop::stop_on_ctrl_c;
use unbloat_units::{Bytes, Delta};
use unbloat_uplink::Params;
use unbloat_uplink_host::{Control, Layers, Limits, State, UplinkError, layers, set_limits, steps};

/// Keep a modem's buffer short: send only as fast as it drains.
///
/// The occupancy of the modem is estimated from the TCP timestamps of this host's connections. Packets then wait in fq_codel or, without fq_codel in the kernel, in two FIFOs, where packets of less than 128 bytes go first.
/// The previous queue discipline of the device is restored at exit, also after a kill. Requires root and tc.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat uplink --show-limits --interface wwan0
  unbloat uplink --interface wwan0 --target '50 ms' --json
  unbloat uplink --interface wwan0 --bql '6 kB' --notsent-lowat '128 kB'
  unbloat lab shell --rate-up '8 Mbit/s' --set link.up.radio=lte \\
    --set 'link.up.device={ring_packets=16}' \\
    -- unbloat uplink --interface path --duration '1 min'")]
pub struct Args {
    /// Network interface in front of the modem
    #[arg(long, value_name = "INTERFACE")]
    interface: String,

    /// Show the limits of driver and sockets (BQL, AQL, tcp_notsent_lowat) and advice, and change nothing
    #[arg(long)]
    show_limits: bool,

    /// Target delay, in the modem, 5 ms to 1 s [default: 20 ms]
    #[arg(long, value_name = "SPAN", value_parser = target)]
    target: Option<Delta>,

    /// Limit the driver's ring (BQL) while the command runs
    #[arg(long, value_name = "SIZE")]
    bql: Option<Bytes>,

    /// Limit the unsent bytes per socket of this host (tcp_notsent_lowat) while the command runs
    #[arg(long, value_name = "SIZE")]
    notsent_lowat: Option<Bytes>,

    /// Print what would be done, change nothing
    #[arg(long, conflicts_with = "show_limits")]
    dry_run: bool,

    /// Stop after this time [default: at Ctrl-C]
    #[arg(long, value_name = "SPAN")]
    duration: Option<Delta>,

    /// Print JSON, one object each second
    #[arg(long)]
    json: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error(transparent)]
    Uplink(#[from] UplinkError),
    #[error("cannot install the Ctrl-C handler: {0}")]
    Signal(#[from] crate::stop::SignalError),
    #[error(transparent)]
    Print(#[from] PrintError),
}

pub fn run(args: &Args) -> Result<Exit, CommandError> {
    if args.show_limits {
        return show(args);
    }
    let limits = Limits {
        bql: args.bql,
        notsent_lowat: args.notsent_lowat,
    };
    if args.dry_run {
        dry_run::print(&steps(&args.interface, limits)?, args.json)?;
        return Ok(Exit::Complete);
    }
    // Must precede threads.
    let _guard = recovery::guarded().map_err(UplinkError::from)?;
    recovery::journals().map_err(UplinkError::from)?;
    drop_capabilities(SEES_PACKETS);
    let stop = stop_on_ctrl_c()?;
    let _limited = set_limits(&args.interface, limits)?;
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

fn show(args: &Args) -> Result<Exit, CommandError> {
    let layers = layers(&args.interface)?;
    match args.json {
        true => print::json(&layers)?,
        false => print::text(&shown(&layers))?,
    }
    Ok(Exit::Complete)
}

fn shown(layers: &Layers) -> String {
    let size = |bytes: u64| Bytes::new(bytes).to_string();
    let mut text = format!("{}\n", layers.device);
    for queue in &layers.bql {
        let of = match queue.limit_bytes {
            0 => "no BQL in this driver".to_owned(),
            limit => format!(
                "{} of {} in flight, maximum {}",
                size(queue.inflight_bytes),
                size(limit),
                size(queue.limit_max_bytes)
            ),
        };
        text += &format!("  ring {:<6} {of}\n", queue.queue);
    }
    if let Some(aql) = &layers.aql {
        text += &format!("  airtime queue limit: {}\n", aql.replace('\n', "; "));
    }
    let mark = layers.notsent_lowat_bytes.map_or("none".to_owned(), size);
    text += &format!("  sockets: tcp_notsent_lowat {mark}\n");
    for advice in &layers.advice {
        text += &format!("  advice: {advice}\n");
    }
    text
}

fn target(text: &str) -> Result<Delta, String> {
    within(text, Delta::ms(5)..=Delta::secs(1), "5 ms to 1 s")
}
