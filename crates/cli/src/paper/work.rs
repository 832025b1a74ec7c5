//! Runs what figures need: each request once, all runs of all requests in parallel.

use super::args::{Args, Clock};
use super::folder::FolderError;
use super::{PaperCommandError, kernel, lte_trace};
use crate::events::bar_target;
use crate::experiment::{Came, Changes, Plan, plan_of};
use crate::model;
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use unbloat_paper::{
    Evidence, EvidencePoint, ModelRecipe, Paper, Request, RunResults, Source, scenario,
};

pub struct Done {
    /// Of the requests that this clock can run.
    pub evidence: BTreeMap<Request, Evidence>,
    /// Ctrl-C ended it early.
    pub is_cut: bool,
}

pub fn work(
    papers: &[Paper],
    requests: impl Iterator<Item = Request>,
    args: &Args,
    stop: &AtomicBool,
) -> Result<Done, PaperCommandError> {
    let mut done = Done {
        evidence: BTreeMap::new(),
        is_cut: false,
    };
    let (mut plans, mut traces) = (Vec::new(), Vec::new());
    for request in requests.collect::<BTreeSet<_>>() {
        match &request.source {
            Source::Model(model) => drop(done.evidence.insert(request.clone(), of_model(model)?)),
            Source::LteTrace(_) if args.clock != Clock::Sim => {}
            Source::LteTrace(recipe) => traces.push((request.clone(), recipe.clone())),
            Source::Scenario { .. } => plans.extend(planned(papers, request, args)?),
        }
    }
    match args.clock {
        Clock::Sim => simulate(&plans, args, stop, &mut done),
        Clock::Virtual | Clock::Lab => kernel::run(&plans, args, stop, &mut done)?,
    }
    for (request, recipe) in traces {
        done.is_cut |= stop.load(Ordering::Relaxed);
        if !done.is_cut {
            let evidence = lte_trace::evidence(&recipe, request.repeats, args)?;
            done.evidence.insert(request, evidence);
        }
    }
    Ok(done)
}

/// A request for which the scenario is known.
pub struct Planned {
    pub request: Request,
    /// Its scenario's text.
    pub text: String,
    pub set: Vec<String>,
    pub plan: Plan,
}

impl Planned {
    pub fn repeats(&self) -> u32 {
        self.plan.sweep.repeats
    }
}

/// None: the kernel cannot run it.
fn planned(
    papers: &[Paper],
    request: Request,
    args: &Args,
) -> Result<Option<Planned>, PaperCommandError> {
    let Source::Scenario { file, set, kernel } = &request.source else {
        return Ok(None);
    };
    let mut set = set.clone();
    match (args.clock, kernel) {
        (Clock::Sim, _) => {}
        (_, Some(more)) => set.extend(more.iter().cloned()),
        (_, None) => return Ok(None),
    }
    let text = scenario(papers, file).ok_or_else(|| FolderError::NoScenario(file.clone()))?;
    let repeats = args.repeats.or(request.repeats);
    let changes = Changes {
        set: &set,
        seed: args.seed,
        repeats,
    };
    let plan = plan_of(Path::new(file), text, &changes)?;
    Ok(Some(Planned {
        text: text.to_owned(),
        plan,
        set,
        request,
    }))
}

/// `unbloat model` with these options.
fn of_model(recipe: &ModelRecipe) -> Result<Evidence, PaperCommandError> {
    let tables = model::tables_of(&[
        "--rate",
        &recipe.rate,
        "--packet",
        &recipe.packet,
        "--utilisation",
        &recipe.utilisation.join(","),
        "--buffer",
        &recipe.buffer,
    ])?;
    Ok(Evidence {
        points: vec![EvidencePoint {
            tables,
            ..EvidencePoint::default()
        }],
        notes: Vec::new(),
    })
}

/// One run: request, point and repeat.
type Task = (usize, usize, u32);

fn simulate(plans: &[Planned], args: &Args, stop: &AtomicBool, done: &mut Done) {
    let tasks: Vec<Task> = plans
        .iter()
        .enumerate()
        .flat_map(|(number, planned)| {
            let points = 0..planned.plan.points.len();
            points.flat_map(move |point| (0..planned.repeats()).map(move |r| (number, point, r)))
        })
        .collect();
    let template = "{bar:30} {percent:>3} %  {pos}/{len} runs  {eta} left";
    let style = ProgressStyle::with_template(template).expect("a template of ours");
    let target = bar_target(args.quiet || tasks.len() < 2);
    let bar = ProgressBar::with_draw_target(Some(tasks.len() as u64), target).with_style(style);
    let next = AtomicUsize::new(0);
    let finished = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..args.threads().min(tasks.len()) {
            scope.spawn(|| {
                while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed))
                    && !stop.load(Ordering::Relaxed)
                {
                    if let Some(came) = simulated(&plans[task.0], task, stop) {
                        let mut finished = finished.lock().expect("no run panics with the lock");
                        finished.insert(*task, came);
                        bar.inc(1);
                    }
                }
            });
        }
    });
    bar.finish_and_clear();
    let mut finished = finished.into_inner().expect("all runs have ended");
    done.is_cut = finished.len() < tasks.len();
    for (number, planned) in plans.iter().enumerate() {
        let mut evidence = Evidence::default();
        for point in 0..planned.plan.points.len() {
            let runs = (0..planned.repeats()).filter_map(|r| finished.remove(&(number, point, r)));
            add(&mut evidence, planned, point, runs.collect());
        }
        done.evidence.insert(planned.request.clone(), evidence);
    }
}

fn simulated(planned: &Planned, &(_, point, repeat): &Task, stop: &AtomicBool) -> Option<Came> {
    let plan = &planned.plan;
    let run = point * planned.repeats() as usize + repeat as usize;
    let mut experiment = plan.experiment(run);
    // Series of the first repeat of every point, not of a single run only.
    let keeps_series = planned.request.needs_tables && repeat == 0;
    experiment.keeps_series = keeps_series;
    let mut may_go_on = |_| !stop.load(Ordering::Relaxed);
    let outcomes = unbloat_sim::run_while(&experiment, &mut may_go_on)?;
    Some(Came::of(&outcomes, run))
}

/// Adds what the runs of a point gave.
pub fn add(evidence: &mut Evidence, planned: &Planned, point: usize, runs: Vec<Came>) {
    let values = planned.plan.sweep.point(point).values.into_iter();
    let mut here = EvidencePoint {
        values: values
            .map(|(key, value)| (key, value.to_string()))
            .collect(),
        ..EvidencePoint::default()
    };
    for came in runs {
        let results = came.results.into_iter();
        let named = results.map(|one| (format!("{}.{}", one.subject, one.metric), one.value));
        here.runs.push(named.collect::<RunResults>());
        evidence.notes.extend(came.notes);
        if here.tables.is_empty() {
            here.tables = came.tables;
        }
    }
    evidence.points.push(here);
}
