//! Synthetic LTE traces, analysed: the numbers and curves of `unbloat analyze`, and what the simulated hosts know.

use super::args::Args;
use crate::events::bar_target;
use crate::exit::Failure;
use indicatif::ProgressBar;
use std::collections::BTreeMap;
use std::time::Duration;
use unbloat_lte_trace::score::{Seen, checks, known};
use unbloat_lte_trace::{Params, UserTruth, analyse};
use unbloat_paper::{Evidence, EvidencePoint, LteTraceRecipe, RunResults};
use unbloat_summary::figures_rows;

/// Results are named `GROUP.NAME` as in table `summary`, `truth.GROUP.NAME` as the hosts know the same, and `check.GROUP.NAME` for a
/// comparison of the two.
pub fn evidence(
    recipe: &LteTraceRecipe,
    repeats: Option<u32>,
    args: &Args,
) -> Result<Evidence, Failure> {
    let params = Params {
        users: recipe.users,
        ..Params::default()
    };
    let bar = ProgressBar::with_draw_target(None, bar_target(args.quiet));
    bar.set_message(format!("LTE trace of {} users", recipe.users));
    bar.enable_steady_tick(Duration::from_millis(200));
    let (first, repeats) = (
        args.seed.unwrap_or(1),
        args.repeats.or(repeats).unwrap_or(1),
    );
    let mut point = EvidencePoint::default();
    for seed in (0..repeats).map(|repeat| first.wrapping_add(u64::from(repeat))) {
        let threads = args.threads() as u32;
        let (seen, truth) = analyse(&params, seed, threads)?;
        point.runs.push(results(&seen, &truth));
        if point.tables.is_empty() {
            point.tables.push(figures_rows(&seen.summary.figures));
        }
    }
    bar.finish_and_clear();
    Ok(Evidence {
        points: vec![point],
        notes: Vec::new(),
    })
}

fn results(seen: &Seen, truth: &[UserTruth]) -> RunResults {
    let mut results: BTreeMap<String, f64> = BTreeMap::new();
    let mut add = |name: String, value: Option<f64>| {
        if let Some(value) = value {
            results.insert(name, value);
        }
    };
    for metric in &seen.summary.metrics {
        add(format!("{}.{}", metric.group, metric.metric), metric.value);
    }
    for (name, value) in known(seen, truth) {
        add(format!("truth.{name}"), Some(value));
    }
    for check in checks(seen, truth) {
        add(format!("check.{}.{}", check.group, check.name), check.value);
    }
    results
}
