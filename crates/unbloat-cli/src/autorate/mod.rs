//! `unbloat autorate`: rates of the kernel's shapers follow the line.

mod args;

pub use args::Args;

use crate::exit::Exit;
use crate::shape::{decision_json, decision_text};
use crate::stop::stop_on_ctrl_c;
use std::io::{self, Write, stdout};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use unbloat_autorate::Decision;
use unbloat_steer::{Options, Steer, SteerError};
use unbloat_undo::{Claim, Purpose, Resource, Step, UndoError, recover};

#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error(transparent)]
    Steer(#[from] SteerError),
    #[error(transparent)]
    Undo(#[from] UndoError),
    #[error("{file}: {source}")]
    Config { file: String, source: io::Error },
    #[error("--interface is missing: the device towards the line (or ul_if in --config)")]
    NoInterface,
    #[error("nothing to change: name the devices with the shapers by --down and --up")]
    Nothing,
    #[error(
        "the law of cake-autorate goes by probes alone: give --reflector ADDRESS, or reflectors in --config"
    )]
    NoReflector,
    #[error("{0:?} is no IPv4 address of a reflector")]
    Reflector(String),
    #[error("Ctrl-C cannot be caught: {0}")]
    Signal(#[from] ctrlc::Error),
}

pub fn run(args: &Args) -> Result<Exit, CommandError> {
    if args.unit {
        print!("{}", args.unit_file());
        return Ok(Exit::Complete);
    }
    let options = args.options()?;
    let stop = stop_on_ctrl_c()?;
    if let Some(seconds) = args.seconds {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs_f64(seconds));
            stop.store(true, Ordering::Relaxed);
        });
    }
    // Given up after the shapers have their rates again.
    let _claims = claims(&options)?;
    let mut steer = Steer::start(&options)?;
    eprintln!("unbloat: following {} until Ctrl-C", options.interface);
    let watched = Arc::clone(&stop);
    let mut tell = |decision: &Decision| {
        let line = match args.json {
            true => decision_json(decision),
            false => decision_text(decision),
        };
        let mut out = stdout().lock();
        // Who reads is gone: so is the reason to go on.
        if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
            watched.store(true, Ordering::Relaxed);
        }
    };
    steer.run(&stop, &mut tell)?;
    Ok(Exit::Complete)
}

/// Takes the shapers, and writes down how they are, for the next start after a kill.
fn claims(options: &Options) -> Result<Vec<Claim>, UndoError> {
    if options.dry_run {
        return Ok(Vec::new());
    }
    recover()?;
    let mut claims = Vec::new();
    for shaper in options.shapers.iter().flatten() {
        let device = shaper.device();
        let resource = Resource::Device {
            device: device.to_owned(),
        };
        let mut claim = Claim::take(&resource, &Purpose::this_command())?;
        match Step::root(device) {
            Ok(step) => claim.before(step)?,
            Err(UndoError::CannotSave { .. }) => eprintln!(
                "unbloat: if this is killed, {device} keeps its last rate: only cake can be written down"
            ),
            Err(error) => return Err(error),
        }
        claims.push(claim);
    }
    Ok(claims)
}
