//! `unbloat fix`: tests the path, applies a fix, and repeats the test to prove that it helped.

mod args;
mod place;
mod window;

pub use args::Args;

use crate::exit::{Exit, Failure};
use crate::keep::{self, Keep};
use crate::loadtest::{self, Locating};
use crate::print::{self, PrintError, note};
use crate::recovery;
use crate::shaping::{Distrusted, Search};
use crate::stop::stop_on_ctrl_c;
use place::{Cures, Placed};
use std::io::{BufRead, IsTerminal, Write, stderr, stdin};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use unbloat_fix::{
    Document, Effect, Judgement, Proposal, Reach, Untreated, judge, propose, searched,
};
use unbloat_loadtest::{Load, Options};
use unbloat_os::privilege::{Capability, may};
use unbloat_responsiveness::document::Test;
use unbloat_sqm::Tried;
use unbloat_undo::Journals;
use unbloat_units::{Both, Direction, Framing};

pub fn run(args: &Args) -> Result<Exit, Failure> {
    let mut all = args.options.options()?;
    let (Some(options), true) = (all.pop(), all.is_empty()) else {
        return Err(
            "`fix` cannot run a sweep: give at most one congestion control and one receive window"
                .into(),
        );
    };
    // Must run before the first thread and the first claim.
    let _guard = (!args.dry_run).then(recovery::guarded).transpose()?;
    if !args.dry_run && args.router.is_none() {
        // Fail now, not after a minute of testing.
        if !may(Capability::NetAdmin) {
            return Err("cannot change queues of this host without CAP_NET_ADMIN; run as root (`sudo unbloat fix`), or give --dry-run or --router HOST".into());
        }
        recovery::journals()?;
    }
    if args.test.is_none() && !args.dry_run {
        place::foresee(args)?;
    }
    let stop = stop_on_ctrl_c()?;
    let before = match &args.test {
        Some(run) => Some(read(run, &options)?),
        None => measure(args, &options, &stop, "before", Locating::Yes)?,
    };
    let Some(before) = before.filter(|_| !stop.load(Ordering::Relaxed)) else {
        return Ok(Exit::Interrupted);
    };
    let reach = match args.router {
        None => Reach::ThisHost,
        Some(_) => Reach::Router,
    };
    let proposal = match propose(&before.verdict, reach) {
        Ok(proposal) => proposal,
        Err(untreated) => return Ok(say_untreated(args, &untreated)?),
    };
    let cures = Cures::of(args, &before, &proposal)?;
    // Refuses what cannot be kept before anything is changed.
    let keep = stays(args, &before, &cures)?;
    show(&proposal, &cures, args.search);
    if let Some(keep) = keep.filter(|_| args.dry_run) {
        note!("If it helps, these files are written:\n");
        keep::show(&keep);
    }
    if args.dry_run
        || !(args.yes || agrees("Apply this, test again, and roll back if it does not help?"))
    {
        note!("unbloat: nothing was changed");
        if args.options.json {
            print::json(&document(&proposal, &cures, None))?;
        }
        return Ok(Exit::Complete);
    }
    // Both tests send as many datagrams as the line is known to allow.
    let mut options = options;
    options.probing.line = Both::of(|way| Some(before.verdict.of(way)?.line));
    let cure = Cure {
        args,
        options,
        stop: &stop,
        before,
        proposal,
        cures,
        trials: Vec::new(),
    };
    match cure.run() {
        Err(error) if error.is::<Distrusted>() => {
            note!("unbloat: {error}");
            note!("unbloat: rolled back: the previous state is restored");
            Ok(Exit::Untrusted)
        }
        ended => ended,
    }
}

/// A fix whose effect is being tested.
struct Cure<'a> {
    args: &'a Args,
    options: Options,
    stop: &'a AtomicBool,
    before: Test,
    proposal: Proposal,
    cures: Cures,
    trials: Vec<Tried>,
}

impl Cure<'_> {
    fn run(mut self) -> Result<Exit, Failure> {
        if self.args.search && self.search(Both::default())? == Searched::Stopped {
            return Ok(Exit::Interrupted);
        }
        let Some((mut placed, mut proof)) = self.prove("after")? else {
            return Ok(Exit::Interrupted);
        };
        let lost = proof.judgement.dear;
        if let Some(nearer) = self.proposal.nearer(lost, &self.before.verdict)
            && proof.is_trusted()
            && !self.is_stopped()
        {
            placed.release()?;
            note!(
                "unbloat: the shaper costs too much throughput; repeating the test with a rate closer to the line's"
            );
            self.proposal = nearer;
            self.cures.carry_out(&self.proposal)?;
            if lost.down.is_some() {
                // The queue of its start stands in front of the shaper, and a slow line needs seconds to lose it.
                self.options.plan = self.options.plan.twice(Load::Down);
            }
            match self.prove("after-nearer")? {
                Some(again) => (placed, proof) = again,
                None => return Ok(Exit::Interrupted),
            }
        }
        // A search looks for rates with less delay; where throughput is missing, these are not lower.
        let found = &proof.judgement;
        let settled = Both::of(|way| found.stays[way] || found.dear[way].is_some());
        let may_search = !self.args.search && self.is_searchable(settled);
        if may_search && proof.is_trusted() && !self.is_stopped() {
            placed.release()?;
            note!(
                "unbloat: the first rates did not help enough; searching for better ones with short tests"
            );
            let again = match self.search(settled)? {
                Searched::Stopped => return Ok(Exit::Interrupted),
                Searched::Nothing => Some((self.cures.apply()?, proof)),
                Searched::Found => self.prove("after-search")?,
            };
            match again {
                Some(again) => (placed, proof) = again,
                None => return Ok(Exit::Interrupted),
            }
        }
        let stays = proof.judgement.stays;
        let has_all = self.has_all(&proof);
        let (placed, undone) = match has_all {
            true => (Some(placed), ""),
            false => {
                placed.release()?;
                self.proposal = self.proposal.only(stays);
                match proof.judgement.has_helped() {
                    true => {
                        self.cures.carry_out(&self.proposal)?;
                        (
                            Some(self.cures.apply()?),
                            "; the other direction is as it was",
                        )
                    }
                    false => (None, ""),
                }
            }
        };
        let state = match placed {
            Some(placed) => self.stay(placed)? + undone,
            None => "rolled back: the previous state is restored".to_owned(),
        };
        let helped = match (proof.judgement.has_helped(), has_all) {
            (true, true) => "The fix helped.",
            (true, false) => "The fix helped one direction.",
            (false, _) => "The fix did not help.",
        };
        self.tell(&proof, helped, &state)?;
        Ok(match proof.judgement.has_helped() {
            true => Exit::Complete,
            false => Exit::OutOfBounds,
        })
    }

    /// Whether a direction is shaped whose rate is not settled.
    fn is_searchable(&self, settled: Both<bool>) -> bool {
        let mut shaped = self.proposal.shaped.entries();
        shaped.any(|(way, rate)| rate.is_some() && !settled[way])
    }

    /// Every treatment helped.
    fn has_all(&self, proof: &Proof) -> bool {
        let stays = proof.judgement.stays;
        let mut ways = Direction::BOTH.into_iter();
        ways.all(|way| stays[way] || !self.proposal.treats(way))
    }

    /// Leaves the fix in place, with `--keep` after a reboot too. Returns how to remove it, or how to run it.
    fn stay(&self, placed: Placed<'_>) -> Result<String, Failure> {
        if self.args.passing {
            placed.release()?;
            return Ok("removed again, with the path of the demo".to_owned());
        }
        let Some(keep) = stays(self.args, &self.before, &self.cures)? else {
            return placed.keep();
        };
        keep::show(&keep);
        note!();
        if !(self.args.yes
            || agrees(
                "The fix helped. Write these files, so that it is applied after each reboot?",
            ))
        {
            note!("unbloat: no file was written");
            return placed.keep();
        }
        let journals = Journals::system()?;
        let removal = keep.removal();
        note!("unbloat: writing them; to remove them and the fix: {removal}");
        // The unit puts it in place.
        placed.release()?;
        keep.write(&journals)?.keep()?;
        Ok(format!(
            "kept, also after a reboot; to remove it: {removal}"
        ))
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Applies the fix and repeats the test. None: stopped, and the change was rolled back.
    fn prove(&self, name: &str) -> Result<Option<(Placed<'_>, Proof)>, Failure> {
        let placed = self.cures.apply()?;
        let options = Options {
            is_shaped: Both::of(|way| self.proposal.treats(way)),
            ..self.options.clone()
        };
        let after = match measure(self.args, &options, self.stop, name, Locating::No) {
            Ok(Some(after)) => after,
            Ok(None) => {
                placed.release()?;
                note!("unbloat: stopped; the change was rolled back");
                return Ok(None);
            }
            Err(error) => {
                placed.release()?;
                let ended = if self.is_stopped() {
                    "was stopped"
                } else {
                    "failed"
                };
                note!("unbloat: the second test {ended}, so the change was rolled back");
                return Err(error);
            }
        };
        let (before, now) = (&self.before.verdict, &after.verdict);
        let judgement = judge(&self.proposal, before, now);
        Ok(Some((placed, Proof { after, judgement })))
    }

    /// Searches for other rates of the shaped directions, but for those that are settled. A direction for which there are none keeps its rate.
    fn search(&mut self, settled: Both<bool>) -> Result<Searched, Failure> {
        let Some(ground) = self.cures.searchable() else {
            return Ok(Searched::Nothing);
        };
        let (verdict, shaped) = (&self.before.verdict, self.proposal.shaped);
        let carried = Both::of(|way| {
            shaped[way].filter(|_| !settled[way])?;
            Some(verdict.of(way)?.line)
        });
        let mut search = Search {
            ground,
            framing: Framing::NONE,
            nat: false,
            rtt: self.before.verdict.idle_rtt(),
            held: Both::of(|way| shaped[way].filter(|_| settled[way])),
            args: &self.args.options,
            options: &self.options,
            stop: self.stop,
        };
        let sought = search.run(carried, |rate| searched(rate, ground.qdisc))?;
        self.trials = sought.trials;
        let Some(found) = sought.found else {
            return Ok(Searched::Stopped);
        };
        for (way, why) in sought.without {
            let located = verdict.of(way).and_then(|load| load.located.as_ref());
            let located = located.map(|at| format!(" (the first test found it {at})"));
            note!(
                "unbloat: {}: {why}{}",
                way.name(),
                located.unwrap_or_default()
            );
        }
        if found == Both::default() {
            return Ok(Searched::Nothing);
        }
        self.proposal.shaped = Both::of(|way| found[way].or(shaped[way]));
        self.cures.carry_out(&self.proposal)?;
        Ok(Searched::Found)
    }

    fn tell(&self, proof: &Proof, helped: &str, state: &str) -> Result<(), PrintError> {
        if self.args.options.json {
            let stays = proof.judgement.stays.entries();
            let effect = Effect {
                before: self.before.clone(),
                follows: self.proposal.followed != Both::default(),
                left: self.proposal.left.clone(),
                trials: self.trials.clone(),
                after: proof.after.clone(),
                has_helped: proof.judgement.has_helped(),
                kept: stays
                    .filter_map(|(way, is_kept)| is_kept.then_some(way))
                    .collect(),
                judgement: proof.judgement.because.clone(),
                state: state.to_owned(),
            };
            return print::json(&document(&self.proposal, &self.cures, Some(effect)));
        }
        let because = proof.judgement.because.iter();
        let because: String = because.map(|sentence| format!("  {sentence}\n")).collect();
        print::text(&format!("\n{helped}\n{because}  {state}\n"))
    }
}

fn document(proposal: &Proposal, cures: &Cures, effect: Option<Effect>) -> Document {
    Document {
        shaper: cures.plan().cloned(),
        holds_window: proposal.holds_window,
        because: proposal.because.clone(),
        effect,
    }
}

/// How a search ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Searched {
    Found,
    /// There are no better rates.
    Nothing,
    Stopped,
}

/// The test with the fix in place, and its judgement.
struct Proof {
    after: Test,
    judgement: Judgement,
}

impl Proof {
    fn is_trusted(&self) -> bool {
        self.after.verdict.fatal().next().is_none()
    }
}

fn measure(
    args: &Args,
    options: &Options,
    stop: &AtomicBool,
    name: &str,
    locating: Locating,
) -> Result<Option<Test>, Failure> {
    note!("unbloat: running test \"{name}\"");
    let finished = loadtest::once(&args.options, options, name, locating, stop)?;
    Ok(finished.document())
}

fn read(run: &Path, options: &Options) -> Result<Test, Failure> {
    let tested = loadtest::read(run)?;
    let wanted = options.target.to_string();
    match tested.target == wanted {
        true => Ok(tested),
        false => Err(format!(
            "{path} is a test of {found}, not of {wanted}; give a run with the same server",
            path = run.display(),
            found = tested.target
        )
        .into()),
    }
}

/// With `--keep`: what has the fix return after a reboot.
fn stays(args: &Args, before: &Test, cures: &Cures) -> Result<Option<Keep>, Failure> {
    if !args.keep {
        return Ok(None);
    }
    let keep = cures.keep(place::device(args, before).ok())?;
    if let Some(keep) = &keep
        && !args.dry_run
    {
        keep.check_free(&Journals::system()?)?;
    }
    Ok(keep)
}

fn say_untreated(args: &Args, untreated: &Untreated) -> Result<Exit, PrintError> {
    let text = untreated.to_string();
    if args.options.json {
        print::json(&Document {
            shaper: None,
            holds_window: false,
            because: vec![text],
            effect: None,
        })?;
    } else {
        print::line(text)?;
    }
    Ok(match untreated {
        Untreated::Healthy(_) => Exit::Complete,
        Untreated::Distrusted(_) => Exit::Untrusted,
        Untreated::OutOfReach(_) | Untreated::Unmeasured(_) => Exit::OutOfBounds,
    })
}

fn show(proposal: &Proposal, cures: &Cures, searches: bool) {
    for reason in &proposal.because {
        note!("{reason}");
    }
    for advice in &proposal.left {
        note!("Not done by `fix`: {advice}");
    }
    note!("\nPlanned changes {cures}:\n");
    for line in cures.lines() {
        note!("  {line}");
    }
    if searches && cures.searchable().is_some() {
        note!("\nBefore that, short tests through this shaper search for the best rates.");
    }
    note!();
}

/// Asks the user. Without a terminal the answer is no.
fn agrees(question: &str) -> bool {
    if !stdin().is_terminal() {
        note!("unbloat: not a terminal: pass --yes to apply without asking");
        return false;
    }
    let _ = write!(stderr(), "{question} [y/N] ");
    let mut line = String::new();
    let read = stdin().lock().read_line(&mut line);
    read.is_ok() && matches!(line.trim(), "y" | "Y" | "yes")
}
