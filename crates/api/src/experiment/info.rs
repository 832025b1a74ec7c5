//! The contents of `run.json` for a scenario's run.

use super::campaign::Campaign;
use super::plan::Plan;
use super::{Runner, text};
use crate::folder::input;
use serde_json::json;
use unbloat_run::{RunInfo, Status};

/// What `run.json` says of the runs of a plan; `command` is the command line, one argument each.
pub fn info<E>(
    plan: &Plan,
    campaign: &Campaign,
    runner: &impl Runner<E>,
    command: Vec<String>,
) -> RunInfo {
    let mut info = RunInfo::new(runner.command(), env!("CARGO_PKG_VERSION"), command);
    info.clock = runner.clock();
    info.kernel = runner.kernel();
    info.seed = campaign.runs.first().map(|run| run.seed);
    info.status = if campaign.is_cut {
        Status::Interrupted
    } else {
        Status::Complete
    };
    let files = std::iter::once(&plan.file).chain(&plan.traces);
    info.inputs = files.map(|path| input(path)).collect();
    let scenario = plan.scenario.iter();
    info.options = scenario
        .map(|(path, value)| (path.clone(), json!(value)))
        .collect();
    if let Some(first) = plan.points.first() {
        // Defaults included.
        for (key, span) in [("duration", first.duration), ("warmup", first.warmup)] {
            info.options
                .insert(format!("scenario.{key}"), json!(span.to_string()));
        }
    }
    info.options.extend([
        ("set".to_owned(), json!(plan.set)),
        ("repeats".to_owned(), json!(plan.sweep.repeats)),
        ("points".to_owned(), json!(plan.sweep.points())),
    ]);
    let facts = campaign.facts.iter();
    info.options
        .extend(facts.map(|(key, value)| (key.clone(), value.clone())));
    info.left_out = campaign.notes();
    if !plan.bounds.is_empty() {
        let score: Vec<_> = text::judgements(plan, campaign)
            .lines()
            .map(str::to_owned)
            .collect();
        info.options.insert("score".to_owned(), json!(score));
    }
    info
}
