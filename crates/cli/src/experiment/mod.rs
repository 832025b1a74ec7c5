//! Runs scenarios in the simulator or the lab: options, progress, printing, and the run folder.

mod args;
mod progress;

pub use args::Common;
pub use progress::ProgressLine;

use crate::exit::{Exit, Failure};
use crate::output::write_run;
use crate::print::{self};
use crate::terminal;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use unbloat_api::experiment::{
    Changes, Plan, PlanError, Runner, all, info, is_series, run_all, text, unknown,
};

/// The plan of the options.
pub fn plan(args: &Common) -> Result<Plan, PlanError> {
    let changes = Changes {
        set: &args.set,
        seed: args.seed,
        repeats: args.repeats,
    };
    let mut plan = Plan::of_file(&args.scenario, &changes)?;
    plan.show.clone_from(&args.show);
    let is_printed = args.print.format.is_some() && is_series(&args.table);
    let is_written = args.run.is_wanted(&args.print);
    if args.series || is_printed || plan.runs() == 1 && is_written {
        plan.keep_series()?;
    }
    Ok(plan)
}

/// Runs a plan, prints the results and writes the run folder. Returns the path of the folder, if there is one.
pub fn run(
    args: &Common,
    plan: &Plan,
    runner: &impl Runner<Failure>,
    stop: &AtomicBool,
) -> Result<(Exit, Option<PathBuf>), Failure> {
    let progress = ProgressLine::of(plan, runner, args.quiet);
    let campaign = run_all(plan, runner, &progress, stop);
    progress.finish();
    let campaign = campaign?;
    let all = all(plan, &campaign);
    match args.print.of(&args.table) {
        Some(wanted) => wanted.print(&all)?,
        None => print::raw(&text(plan, &campaign, terminal::stdout()))?,
    }
    let mut dir = None;
    if args.run.is_wanted(&args.print) {
        let info = info(plan, &campaign, runner, std::env::args().collect());
        let stem = plan.file.file_stem().unwrap_or_default().to_string_lossy();
        let stem = format!("{}-{stem}", runner.stem());
        dir = Some(write_run(args.run.out.as_deref(), &stem, &info, &all)?);
    }
    if !campaign.is_cut
        && let Some(unknown) = unknown(plan, &campaign)
    {
        return Err(unknown.into());
    }
    let exit = match () {
        () if campaign.is_cut => Exit::Interrupted,
        () if campaign.keeps_bounds() => Exit::Complete,
        () => Exit::OutOfBounds,
    };
    Ok((exit, dir))
}
