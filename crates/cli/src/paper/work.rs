//! Runs what figures need: each request once, all runs of all requests in parallel.

use super::args::{Args, Clock};
use super::{clock, lte_trace};
use crate::exit::Failure;
use crate::experiment::ProgressLine;
use crate::model;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;
use unbloat_api::experiment::{Came, Changes, Plan, Progress, Runner, all_of};
use unbloat_paper::{
    Evidence, EvidencePoint, ModelRecipe, Needs, Paper, Request, RunResults, Source, scenario,
};

pub struct Done {
    /// Of the requests that this clock can run.
    pub evidence: BTreeMap<Request, Evidence>,
    /// Ctrl-C ended it early.
    pub is_cut: bool,
}

pub fn work(
    papers: &[Paper],
    requests: impl Iterator<Item = (Request, Needs)>,
    args: &Args,
    stop: &AtomicBool,
) -> Result<Done, Failure> {
    let mut done = Done {
        evidence: BTreeMap::new(),
        is_cut: false,
    };
    let mut joined: BTreeMap<Request, Needs> = BTreeMap::new();
    for (request, needs) in requests {
        joined.entry(request).or_default().join(needs);
    }
    let scenarios = clock::folder()?;
    let (mut plans, mut traces) = (Vec::new(), Vec::new());
    for (request, needs) in joined {
        match &request.source {
            Source::Model(model) => drop(done.evidence.insert(request.clone(), of_model(model)?)),
            Source::LteTrace(_) if args.clock != Clock::Sim => {}
            Source::LteTrace(recipe) => traces.push((request.clone(), recipe.clone())),
            Source::Scenario { .. } => {
                plans.extend(planned(papers, (request, needs), args, &scenarios)?);
            }
        }
    }
    run_all(plans, args, stop, &mut done)?;
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
struct Planned {
    request: Request,
    keeps_series: bool,
    plan: Plan,
    /// The points that figures read, with the values of the sweep there.
    points: Vec<(usize, BTreeMap<String, String>)>,
    runner: Box<dyn Runner<Failure>>,
}

impl Planned {
    fn repeats(&self) -> usize {
        self.plan.sweep.repeats as usize
    }
}

/// None: the kernel cannot run it.
fn planned(
    papers: &[Paper],
    (request, needs): (Request, Needs),
    args: &Args,
    scenarios: &TempDir,
) -> Result<Option<Planned>, Failure> {
    let Source::Scenario { file, set, kernel } = &request.source else {
        return Ok(None);
    };
    let mut set = set.clone();
    match (args.clock, kernel) {
        (Clock::Sim, _) => {}
        (_, Some(more)) => set.extend(more.iter().cloned()),
        (_, None) => return Ok(None),
    }
    let text = scenario(papers, file).ok_or_else(|| {
        format!("no scenario {file}; a recipe names a file of its own folder, or PAPER/FILE")
    })?;
    let repeats = args.repeats.or(request.repeats);
    let changes = Changes {
        set: &set,
        seed: args.seed,
        repeats,
    };
    let plan = Plan::of_text(Path::new(file), text, &changes)?;
    let points = (0..plan.points.len()).map(|number| {
        let values = plan.sweep.point(number).values.into_iter();
        let values = values.map(|(key, value)| (key, value.to_string()));
        (number, values.collect())
    });
    Ok(Some(Planned {
        keeps_series: needs.tables,
        points: points.filter(|(_, values)| needs.has(values)).collect(),
        runner: clock::runner(args, &plan, text, &set, scenarios.path())?,
        plan,
        request,
    }))
}

/// `unbloat model` with these options.
fn of_model(recipe: &ModelRecipe) -> Result<Evidence, Failure> {
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

/// One run: number of the request, point and repeat.
type Task = (usize, usize, usize);

fn run_all(
    plans: Vec<Planned>,
    args: &Args,
    stop: &AtomicBool,
    done: &mut Done,
) -> Result<(), Failure> {
    let tasks: Vec<Task> = plans
        .iter()
        .enumerate()
        .flat_map(|(number, planned)| {
            let points = planned.points.iter().map(|(point, _)| *point);
            points.flat_map(move |point| (0..planned.repeats()).map(move |r| (number, point, r)))
        })
        .collect();
    let progress = ProgressLine::over_runs(tasks.len(), args.quiet);
    let at_a_time = plans.iter().map(|planned| planned.runner.at_a_time()).min();
    let at_a_time = at_a_time.map_or(1, |most| most.min(args.threads()));
    let came = all_of(tasks.len(), at_a_time, stop, |task| {
        let (number, point, repeat) = tasks[task];
        let came = run(&plans[number], point, repeat, stop, &progress);
        progress.done();
        came
    });
    progress.finish();
    let came = came?;
    done.is_cut = came.len() < tasks.len() || came.values().any(|one| one.is_cut);
    let mut came: BTreeMap<Task, Came> = came
        .into_iter()
        .map(|(task, came)| (tasks[task], came))
        .collect();
    for (number, planned) in plans.into_iter().enumerate() {
        let repeats = planned.repeats();
        let mut evidence = Evidence::default();
        for (point, values) in planned.points {
            let runs = (0..repeats).filter_map(|r| came.remove(&(number, point, r)));
            add(&mut evidence, values, runs.collect());
        }
        done.evidence.insert(planned.request, evidence);
    }
    Ok(())
}

fn run(
    planned: &Planned,
    point: usize,
    repeat: usize,
    stop: &AtomicBool,
    progress: &dyn Progress,
) -> Result<Option<Came>, Failure> {
    let index = point * planned.repeats() + repeat;
    let mut experiment = planned.plan.experiment(index);
    // Series of the first repeat of every point, not of a single run only.
    experiment.keeps_series = planned.keeps_series && repeat == 0;
    let came = planned.runner.run(&experiment, index, stop, progress);
    came.map_err(|error| format!("{}: {error}", planned.plan.file.display()).into())
}

/// Adds what the runs of a point gave.
fn add(evidence: &mut Evidence, values: BTreeMap<String, String>, runs: Vec<Came>) {
    let mut here = EvidencePoint {
        values,
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
