//! `unbloat fix`: a test, a cure that it calls for, and the same test again as the proof.

mod args;
mod place;
mod route;
mod window;

pub use args::Args;

use crate::exit::Exit;
use crate::stop::stop_on_ctrl_c;
use crate::test::{self, RunTestError};
use place::Cures;
use serde_json::{Value, json};
use std::io::{BufRead, IsTerminal, stdin};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use unbloat_remedy::{Judgement, NotATest, Proposal, Tested, Untreated, judge, propose};
use unbloat_shaper::ShaperError;
use unbloat_sqm::{DeviceError, Plan, PlanError};
use unbloat_test::Options;
use unbloat_undo::UndoError;
use unbloat_window::WindowError;

#[derive(Debug, thiserror::Error)]
pub enum FixError {
    #[error(transparent)]
    Test(#[from] RunTestError),
    #[error("one test at a time is repeated: give one congestion control and one receive window")]
    Sweep,
    #[error("cannot read {path}: {source}", path = path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{path}: {source}", path = path.display())]
    Document { path: PathBuf, source: NotATest },
    #[error("{path} is a test of {found}, not of {wanted}", path = path.display())]
    OtherTarget {
        path: PathBuf,
        found: String,
        wanted: String,
    },
    #[error("what was measured cannot be read again: {0}")]
    Own(NotATest),
    #[error("no device leads to {address}: {why}; give --interface")]
    NoDevice { address: IpAddr, why: String },
    #[error("the router has no default route, so nothing says which device leads out")]
    NoOutward,
    #[error("nobody answered, so no device leads there; give --interface")]
    NoAddress,
    #[error(
        "this kernel has neither CAKE nor HTB to shape with; shape on the router: --router USER@HOST"
    )]
    NothingOffered,
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error(transparent)]
    Shaper(#[from] ShaperError),
    #[error(transparent)]
    Window(#[from] WindowError),
    #[error(transparent)]
    Undo(#[from] UndoError),
    #[error("cannot watch for Ctrl-C: {0}")]
    Signal(#[from] ctrlc::Error),
}

pub fn run(args: &Args) -> Result<Exit, FixError> {
    let mut all = args.options.options().map_err(RunTestError::Args)?;
    let (Some(options), true) = (all.pop(), all.is_empty()) else {
        return Err(FixError::Sweep);
    };
    let stop = stop_on_ctrl_c()?;
    let before = match &args.test {
        Some(run) => read(run, &options)?,
        None => measure(args, &options, &stop, "before")?,
    };
    if stop.load(Ordering::Relaxed) {
        return Ok(Exit::Interrupted);
    }
    let proposal = match propose(&before.tested) {
        Ok(proposal) => proposal,
        Err(untreated) => return Ok(say_untreated(args, &untreated)),
    };
    let cures = Cures::of(args, &before.tested, &proposal)?;
    show(&proposal, &cures);
    if args.dry_run || !(args.yes || agrees()) {
        eprintln!("unbloat: nothing was changed");
        return Ok(Exit::Complete);
    }
    let placed = cures.apply()?;
    let after = match measure(args, &options, &stop, "after") {
        Ok(after) => after,
        Err(error) => {
            placed.release()?;
            eprintln!("unbloat: the second test failed, so the change was taken back");
            return Err(error);
        }
    };
    let judgement = judge(&proposal, &before.tested, &after.tested);
    let is_stopped = stop.load(Ordering::Relaxed);
    let stays = judgement.has_helped && !is_stopped;
    let state = match stays {
        true => placed.keep()?,
        false => {
            placed.release()?;
            "taken back: all is as it was".to_owned()
        }
    };
    let round = Round {
        before,
        proposal,
        plan: cures.plan().cloned(),
        after,
        judgement,
        state,
    };
    round.tell(args.options.json);
    Ok(match (is_stopped, stays) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Complete,
        (false, false) => Exit::OutOfBounds,
    })
}

/// A test, as it is told and as it is judged.
struct Known {
    document: Value,
    tested: Tested,
}

fn measure(
    args: &Args,
    options: &Options,
    stop: &AtomicBool,
    name: &str,
) -> Result<Known, FixError> {
    eprintln!("unbloat: the test {name}");
    let document = test::once(&args.options, options, name, stop)?;
    let tested = match Tested::read(&document.to_string()) {
        // It is never judged.
        Err(NotATest::Cut) => Tested::default(),
        read => read.map_err(FixError::Own)?,
    };
    Ok(Known { document, tested })
}

fn read(run: &Path, options: &Options) -> Result<Known, FixError> {
    let path = match run.is_dir() {
        true => run.join(test::FINDINGS),
        false => run.to_owned(),
    };
    let text = std::fs::read_to_string(&path);
    let text = text.map_err(|source| FixError::Read {
        path: path.clone(),
        source,
    })?;
    let tested = Tested::read(&text).map_err(|source| FixError::Document {
        path: path.clone(),
        source,
    })?;
    let wanted = options.target.to_string();
    match tested.target == wanted {
        true => Ok(Known {
            document: serde_json::from_str(&text).unwrap_or_default(),
            tested,
        }),
        false => Err(FixError::OtherTarget {
            path,
            found: tested.target,
            wanted,
        }),
    }
}

fn say_untreated(args: &Args, untreated: &Untreated) -> Exit {
    let text = untreated.to_string();
    if args.options.json {
        println!(
            "{}",
            json!({ "shaper": null, "holds_window": false, "because": [text] })
        );
    } else {
        println!("{text}");
    }
    match untreated {
        Untreated::Healthy(_) => Exit::Complete,
        Untreated::Distrusted(_) => Exit::Untrusted,
        Untreated::Changing(_) | Untreated::Unloaded => Exit::OutOfBounds,
    }
}

fn show(proposal: &Proposal, cures: &Cures) {
    for reason in &proposal.because {
        eprintln!("{reason}");
    }
    eprintln!("\nTo be changed {cures}:\n");
    for line in cures.lines() {
        eprintln!("  {line}");
    }
    eprintln!();
}

/// Asks who sits there; nobody does not agree.
fn agrees() -> bool {
    if !stdin().is_terminal() {
        eprintln!("unbloat: nobody is there to be asked; --yes changes it without asking");
        return false;
    }
    eprint!("Change it, test again, and take it back if that does not help? [y/N] ");
    let mut line = String::new();
    let read = stdin().lock().read_line(&mut line);
    read.is_ok() && matches!(line.trim(), "y" | "Y" | "yes")
}

/// Once round: all that there is to tell.
struct Round {
    before: Known,
    proposal: Proposal,
    plan: Option<Plan>,
    after: Known,
    judgement: Judgement,
    state: String,
}

impl Round {
    fn tell(&self, is_json: bool) {
        if is_json {
            let document = json!({
                "before": self.before.document,
                "shaper": self.plan,
                "holds_window": self.proposal.holds_window,
                "because": self.proposal.because,
                "after": self.after.document,
                "has_helped": self.judgement.has_helped,
                "judgement": self.judgement.because,
                "state": self.state,
            });
            println!("{document}");
            return;
        }
        let helped = match self.judgement.has_helped {
            true => "It helped.",
            false => "It did not help.",
        };
        println!("\n{helped}");
        for sentence in &self.judgement.because {
            println!("  {sentence}");
        }
        println!("  {}", self.state);
    }
}
