//! `unbloat paper`: makes the figures and tables of published studies again and compares them with what was published.

mod args;
mod clock;
mod document;
mod folder;
mod list;
mod lte_trace;
mod own;
mod page;
mod results;
mod rows;
mod work;

pub use args::Args;
pub use document::Document;
pub use rows::tables;

use crate::exit::{Exit, Failure, cannot};
use crate::print::{self, note};
use crate::recovery;
use crate::stop::stop_on_ctrl_c;
use crate::terminal;
use args::Clock;
use unbloat_api::folder::{mark_latest, run_dir, write_tables};
use unbloat_html::{paper_headline, paper_text};
use unbloat_paper::{Evidence, Figure, Made, Paper, Requests, Runs, Verdict, draw, judge};
use unbloat_run::RunInfo;

pub fn run(args: &Args) -> Result<Exit, Failure> {
    let papers = folder::papers(args.papers.as_deref())?;
    if args.paper == "list" {
        return list::print(args, &papers);
    }
    let chosen = folder::choose(&papers, &args.paper, &args.figures)?;
    // Must run before the first thread.
    let _guard = (args.clock == Clock::Lab)
        .then(recovery::guarded)
        .transpose()?;
    let own = args.with.as_deref();
    let own = own.map(|path| own::read(path, &chosen)).transpose()?;
    let stop = stop_on_ctrl_c()?;
    let asked: Vec<(&Paper, &Figure, Requests)> = chosen
        .into_iter()
        .map(|(paper, figure)| (paper, figure, requests(paper, figure, args.clock)))
        .collect();
    let all = asked.iter().flat_map(|(.., requests)| requests.values());
    let done = work::work(&papers, all.cloned(), args, &stop)?;
    let mut made: Vec<Made> = asked
        .into_iter()
        .map(|(paper, figure, requests)| make((paper, figure), requests, &done, args.clock))
        .collect();
    if let Some(own) = &own {
        own::lay_over(own, &mut made);
    }
    let tables = rows::all(&made);
    match args.print.of(&args.table) {
        Some(wanted) => wanted.print(&tables)?,
        None if args.json => print::json(&Document::of(&made))?,
        None => print::text(&paper_text(&made, terminal::width()))?,
    }
    let differs = made
        .iter()
        .any(|one| one.judged.verdict == Verdict::Differs && one.because().is_none());
    if args.run.is_wanted(&args.print) && (!args.json || args.run.out.is_some()) {
        let dir = run_dir(args.run.out.as_deref(), &format!("paper-{}", args.paper))?;
        let mut info = info(args);
        let kind = if differs { "worse" } else { "same" };
        info.conclude(kind, &paper_headline(&made));
        let dir = write_tables(&dir, &info, &tables)?;
        let document = dir.join("paper.json");
        let text = print::document(&Document::of(&made))?;
        unbloat_os::files::replace(&document, text).map_err(cannot("write", &document))?;
        for page in page::write(&dir, &papers, &made)? {
            note!("report  {}", page.display());
        }
        mark_latest(&dir)?;
        note!("tables  {}", dir.display());
    }
    Ok(match () {
        () if done.is_cut => Exit::Interrupted,
        () if differs => Exit::OutOfBounds,
        () => Exit::Complete,
    })
}

/// What other values of an assumption do is simulated only: these are as many runs again.
fn requests(paper: &Paper, figure: &Figure, clock: Clock) -> Requests {
    let mut requests = figure.requests(&paper.id);
    if clock == Clock::Sim {
        requests.extend(figure.effect_requests(&paper.id));
    }
    requests
}

fn make<'a>(
    (paper, figure): (&'a Paper, &'a Figure),
    requests: Requests,
    done: &work::Done,
    clock: Clock,
) -> Made<'a> {
    let mut evidence = Runs::new();
    let mut left_out = Vec::new();
    for (name, (request, _)) in requests {
        match done.evidence.get(&request) {
            Some(found) => drop(evidence.insert(name, found)),
            None => left_out.push(name),
        }
    }
    let mut notes: Vec<String> = evidence
        .values()
        .flat_map(|one: &&Evidence| one.notes.clone())
        .collect();
    notes.sort();
    notes.dedup();
    Made {
        paper,
        figure,
        is_of_kernel: clock != Clock::Sim,
        drawn: figure
            .panels
            .iter()
            .map(|panel| draw(panel, &evidence))
            .collect(),
        judged: judge(figure, &evidence),
        notes,
        left_out,
    }
}

fn info(args: &Args) -> RunInfo {
    let mut info = RunInfo::new(
        "unbloat paper",
        env!("CARGO_PKG_VERSION"),
        std::env::args().collect(),
    );
    info.clock = match args.clock {
        Clock::Sim | Clock::Virtual => unbloat_run::Clock::Virtual,
        Clock::Lab => unbloat_run::Clock::Real,
    };
    info.seed = args.seed;
    info
}
