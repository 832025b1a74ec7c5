//! `unbloat uplink`: the queue in front of a modem, held to what the modem drains.

use crate::exit::Exit;
use crate::print::out;
use crate::recovery;
use crate::stop::stop_on_ctrl_c;
use clap::builder::ValueParser;
use std::io::{self, Write};
use unbloat_units::{Bytes, Delta};
use unbloat_uplink::Params;
use unbloat_uplink_host::{
    Control, Layers, Limits, Options, Source, State, UplinkError, layers, set_limits,
};

/// Keeps the buffer of a modem short: packets leave this host's queue only as fast as the modem drains.
///
/// What the modem holds is told by reports (docs/uplink.md), each a line of JSON, or estimated from when the far ends of this host's
/// TCP connections got what they were sent. What waits then waits in fq_codel, or, where the kernel has none, behind packets of less
/// than 128 bytes. The queue discipline of the device is put back at the end, after a kill, too. Needs root and tc.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat uplink --show --interface wwan0
  unbloat uplink --interface wwan0 --target 20ms --source modem:/run/modem.sock
  unbloat uplink --interface wwan0 --source bsr:/run/modem.sock --json
  unbloat uplink --interface wwan0 --source delay
  unbloat uplink --interface eth0 --source modem:/run/modem.sock --bql 6kB --notsent-lowat 128kB
  unbloat lab shell --rate-up 8mbit --set link.up.radio=lte --set 'link.up.device={ring_packets=16}' \\
    --modem /tmp/modem.sock -- unbloat uplink --interface path --source modem:/tmp/modem.sock --seconds 60")]
pub struct Args {
    /// The device in front of the modem
    #[arg(long, value_name = "NAME")]
    interface: String,

    /// Show what the driver and the sockets may hold (BQL, AQL, tcp_notsent_lowat), change nothing
    #[arg(long)]
    show: bool,

    /// What the modem holds is known by modem:PATH or bsr:PATH, of a socket, a pipe or a file, or by delay
    #[arg(long, required_unless_present = "show")]
    source: Option<Source>,

    /// How long packets are to wait in the modem, from 5 ms to 1 s [default: 20 ms]
    #[arg(long, value_name = "TIME", value_parser = ValueParser::new(target))]
    target: Option<Delta>,

    /// Most bytes in the ring of the driver meanwhile (BQL)
    #[arg(long, value_name = "SIZE")]
    bql: Option<Bytes>,

    /// Most bytes that a socket of this host holds unsent meanwhile (tcp_notsent_lowat)
    #[arg(long, value_name = "SIZE")]
    notsent_lowat: Option<Bytes>,

    /// End after so many seconds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    seconds: Option<u64>,

    /// Print a line of JSON each second instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error(transparent)]
    Uplink(#[from] UplinkError),
    #[error("Ctrl-C cannot be caught: {0}")]
    Signal(#[from] ctrlc::Error),
    #[error("writing failed: {0}")]
    Write(#[from] io::Error),
}

pub fn run(args: &Args) -> Result<Exit, CommandError> {
    let Some(source) = args.source.as_ref().filter(|_| !args.show) else {
        return show(args);
    };
    // Before any thread is started.
    let _guard = recovery::guarded().map_err(UplinkError::from)?;
    recovery::journals().map_err(UplinkError::from)?;
    let stop = stop_on_ctrl_c()?;
    let limits = Limits {
        bql: args.bql,
        notsent_lowat: args.notsent_lowat,
    };
    let _limited = set_limits(&args.interface, limits)?;
    let default = match source {
        Source::Modem(_) | Source::Bsr(_) => Params::default(),
        Source::Delay => Params::of_delay(),
    };
    let control = Control::open(&Options {
        device: args.interface.clone(),
        source: source.clone(),
        valve: Params {
            target: args.target.unwrap_or(default.target),
            ..default
        },
    })?;
    let mut seconds = 0;
    let mut failed = None;
    control.run(&stop, |state| {
        seconds += 1;
        failed = told(state, args.json).err();
        if failed.is_some() || args.seconds.is_some_and(|most| seconds >= most) {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    })?;
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(Exit::Complete),
    }
}

fn told(state: &State, is_json: bool) -> io::Result<()> {
    let mut out = out();
    match is_json {
        true => writeln!(out, "{}", serde_json::to_string(state)?)?,
        false => writeln!(out, "{}", text(state))?,
    }
    out.flush()
}

fn text(state: &State) -> String {
    let mbit = |bps: u64| format!("{:.2} Mbit/s", bps as f64 / 1e6);
    let fault = state.fault.as_ref();
    let fault = fault.map_or(String::new(), |fault| format!("; {fault}"));
    if state.is_open {
        return format!("{}: no news, all may pass{fault}", state.device);
    }
    let drain = state.drain_bps.map_or("unknown".to_owned(), mbit);
    format!(
        "{}: lets pass {}, the modem drains {drain} and holds {} of {} ({} news){fault}",
        state.device,
        mbit(state.rate_bps),
        Bytes::new(state.held_bytes),
        Bytes::new(state.limit_bytes),
        state.reports
    )
}

fn show(args: &Args) -> Result<Exit, CommandError> {
    let layers = layers(&args.interface)?;
    let mut out = out();
    match args.json {
        true => writeln!(
            out,
            "{}",
            serde_json::to_string(&layers).map_err(io::Error::from)?
        )?,
        false => out.write_all(shown(&layers).as_bytes())?,
    }
    out.flush()?;
    Ok(Exit::Complete)
}

fn shown(layers: &Layers) -> String {
    let size = |bytes: u64| Bytes::new(bytes).to_string();
    let mut text = format!("{}\n", layers.device);
    for queue in &layers.bql {
        let of = match queue.limit_bytes {
            0 => "counts no bytes (no BQL in this driver)".to_owned(),
            limit => format!(
                "{} of {} in flight, most {}",
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
    let span: Delta = text.parse().map_err(|error| format!("{error}"))?;
    match (Delta::ms(5)..=Delta::secs(1)).contains(&span) {
        true => Ok(span),
        false => Err("it is from 5 ms to 1 s".to_owned()),
    }
}
