//! What `run.json` says of a simulation's run.

use super::campaign::Campaign;
use super::input::Plan;
use super::{Args, text};
use crate::output::input;
use serde_json::json;
use unbloat_run::{Clock, RunInfo, Status};

pub fn info(args: &Args, plan: &Plan, campaign: &Campaign) -> RunInfo {
    let mut info = RunInfo::new(
        "unbloat sim",
        env!("CARGO_PKG_VERSION"),
        std::env::args().collect(),
    );
    info.clock = Clock::Virtual;
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
        ("set".to_owned(), json!(args.set)),
        ("repeats".to_owned(), json!(plan.sweep.repeats)),
        ("points".to_owned(), json!(plan.sweep.points())),
    ]);
    if !plan.bounds.is_empty() {
        let score: Vec<_> = text::judgements(plan, campaign)
            .lines()
            .map(str::to_owned)
            .collect();
        info.options.insert("score".to_owned(), json!(score));
    }
    info
}
