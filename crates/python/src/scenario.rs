//! `unbloat sim`.

use crate::error::{self, ScenarioError};
use crate::work::interruptible;
use pyo3::prelude::*;
use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread::available_parallelism;
use unbloat_api::experiment::{
    Campaign, Changes, Layout, Plan, PlanError, Simulator, all, info, refuse_kernel_queues,
    run_all, text,
};
use unbloat_api::folder::{self, FolderError, write_tables};

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(simulate, module)?)
}

/// Number of the run, bound, whether it holds, and what came: subject, metric and value, if there is such a result.
type Judged = (usize, String, bool, Option<(String, String, f64)>);

/// A scenario file, and its text if it is not to be read from the file.
#[derive(FromPyObject)]
struct Scenario(PathBuf, Option<String>);

/// What changes a scenario: assignments, seed and repeats; and whether the series of all runs are kept.
#[derive(FromPyObject)]
struct Wish(Vec<String>, Option<u64>, Option<u32>, bool);

/// Simulates a scenario into the run folder `out`. Traces are relative to the scenario's file, which need not exist if its text is given.
/// Returns the command's text, and what the scenario's bounds found.
#[pyfunction]
#[pyo3(signature = (scenario, wish, threads, out, publish, command))]
fn simulate(
    py: Python<'_>,
    scenario: Scenario,
    wish: Wish,
    threads: Option<NonZeroUsize>,
    out: PathBuf,
    publish: bool,
    command: Vec<String>,
) -> PyResult<(String, Vec<Judged>)> {
    let Scenario(file, source) = scenario;
    let Wish(set, seed, repeats, series) = wish;
    let changes = Changes {
        set: &set,
        seed,
        repeats,
    };
    let planned = || -> Result<Plan, PlanError> {
        let mut plan = match &source {
            Some(source) => Plan::of_text(&file, source, &changes)?,
            None => Plan::of_file(&file, &changes)?,
        };
        refuse_kernel_queues(&plan)?;
        if series || plan.runs() == 1 {
            plan.keep_series()?;
        }
        Ok(plan)
    };
    let plan = planned().map_err(|error| ScenarioError::new_err(error::text(&error)))?;
    let threads = threads.or_else(|| available_parallelism().ok());
    let simulator = Simulator {
        threads: threads.map_or(1, NonZeroUsize::get),
    };
    let done = interruptible(py, |stop| -> Result<_, FolderError> {
        let Ok(campaign) = run_all::<Infallible>(&plan, &simulator, &(), stop);
        let about = info::<Infallible>(&plan, &campaign, &simulator, command);
        let dir = write_tables(&out, &about, &all(&plan, &campaign))?;
        if publish {
            folder::publish(&dir)?;
        }
        Ok((
            text(&plan, &campaign, Layout::default()),
            judged(&plan, &campaign),
        ))
    })?;
    done.map_err(|error| error::of_run(&error))
}

fn judged(plan: &Plan, campaign: &Campaign) -> Vec<Judged> {
    let runs = campaign.runs.iter();
    let judgements = runs.flat_map(|run| {
        let judgements = plan.bounds.iter().zip(&run.judgements);
        judgements.map(|(bound, judgement)| {
            let worst = judgement.worst.as_ref();
            let worst = worst.map(|one| (one.subject.clone(), one.metric.clone(), one.value));
            (run.index, bound.to_string(), judgement.holds, worst)
        })
    });
    judgements.collect()
}
