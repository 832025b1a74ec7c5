//! `unbloat locate`: finds the hop of a path, or the layer of this host, that holds the queue.

mod args;
mod driver;
mod load;
mod text;

pub use args::Args;

use crate::confine::{MEASURES, drop_capabilities, speak};
use crate::exit::{Exit, Failure};
use crate::loadtest::kept;
#[cfg(feature = "runs")]
use crate::output::write_run;
use crate::print::{self, note};
use crate::stop::stop_on_ctrl_c;
use crate::terminal;
use args::Wish;
pub use driver::DriverWatch;
use load::{ServerLoad, knock};
#[cfg(feature = "runs")]
use unbloat_locate::Finding;
use unbloat_locate::Phase;
#[cfg(feature = "runs")]
use unbloat_locate_host::tables;
use unbloat_locate_host::{Document, LocateError, Located, Stage};
#[cfg(feature = "runs")]
use unbloat_run::{Clock, Input, RunInfo, Status};

/// File with the verdicts in a run's folder.
#[cfg(feature = "runs")]
const VERDICTS: &str = "locate.json";

pub fn run(args: &Args) -> Result<Exit, Failure> {
    drop_capabilities(MEASURES);
    let wish = args.wish()?;
    let stop = stop_on_ctrl_c()?;
    let mut driver = DriverWatch::open(wish.options.target);
    let located = speak(kept(&wish.load), || {
        let at = wish.server;
        knock(at).map_err(|source| format!("cannot connect to the load server at {at}: {source}; start `unbloat serve` there, or give another server or port"))?;
        let mut load = ServerLoad::new(wish.load.clone(), stop.clone());
        let mut begun = None;
        let located = unbloat_locate_host::run(
            &wish.options,
            &mut load,
            &mut |stage| {
                let is_new = begun.replace(stage) != Some(stage);
                if is_new && !args.quiet {
                    note!("{}", words(stage));
                }
                driver.look(stage, is_new);
            },
            &stop,
        );
        Ok::<_, Failure>(located)
    })?;
    let mut located = match located {
        Err(LocateError::Stopped) => return Ok(Exit::Interrupted),
        other => other?,
    };
    located.explain(&wish.options.params, |phase| driver.under(phase));
    print(args, &wish, &located)?;
    #[cfg(feature = "runs")]
    write(args, &wish, &located)?;
    if let Some(failed) = &located.failed {
        note!("unbloat: {failed}");
        return Ok(Exit::Failed);
    }
    Ok(match located.is_cut {
        true => Exit::Interrupted,
        false => Exit::Complete,
    })
}

fn words(stage: Stage) -> &'static str {
    match stage {
        Stage::Discover => "searching for hops",
        Stage::Measure(Phase::Idle) => "measuring idle",
        Stage::Measure(Phase::Down) => "measuring under download",
        Stage::Measure(Phase::Up) => "measuring under upload",
        Stage::Measure(Phase::Both) => "measuring under download and upload",
        Stage::Fill(_) => "starting the load",
        Stage::Drain => "waiting for queues to drain",
    }
}

fn print(args: &Args, wish: &Wish, located: &Located) -> Result<(), Failure> {
    #[cfg(feature = "runs")]
    if let Some(wanted) = args.print.of(&args.table) {
        return wanted.print(&tables::all(located));
    }
    match args.json {
        true => print::json(&Document::new(&wish.options, located))?,
        false => print::text(&text::text(located, terminal::stdout().columns))?,
    }
    Ok(())
}

#[cfg(feature = "runs")]
fn write(args: &Args, wish: &Wish, located: &Located) -> Result<(), Failure> {
    if args.run.is_wanted(&args.print) {
        let info = info(args, wish, located);
        let all = tables::all(located);
        let dir = write_run(args.run.out.as_deref(), "locate", &info, &all)?;
        let document = Document::new(&wish.options, located);
        let text = print::document(&document)?;
        unbloat_os::files::replace(&dir.join(VERDICTS), text)
            .map_err(|error| format!("cannot write the output: {error}"))?;
    }
    Ok(())
}

#[cfg(feature = "runs")]
fn info(args: &Args, wish: &Wish, located: &Located) -> RunInfo {
    let command = std::env::args().collect();
    let mut info = RunInfo::new("unbloat locate", env!("CARGO_PKG_VERSION"), command);
    info.clock = Clock::Real;
    info.inputs = vec![Input {
        name: args.target.clone(),
        size_bytes: None,
    }];
    info.seed = Some(wish.options.params.seed);
    info.options = args.settings(wish);
    if located.is_cut {
        info.status = Status::Interrupted;
    }
    info.left_out.extend(located.failed.clone());
    let (mut queues, mut others) = (located.verdicts.iter())
        .partition::<Vec<_>, _>(|verdict| matches!(verdict.finding, Finding::Queue { .. }));
    queues.append(&mut others);
    if let Some(first) = queues.first() {
        let text = first.to_string();
        let kind = match first.finding {
            Finding::Queue { .. } => "bloated",
            Finding::NoQueue { .. } => "clean",
            Finding::Inconclusive(_) => "unknown",
        };
        info.conclude(kind, text.lines().next().unwrap_or_default());
    }
    info
}
