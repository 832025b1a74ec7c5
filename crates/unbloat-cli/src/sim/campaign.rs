//! All runs of a sweep, on all cores. What comes out does not depend on how many there are.

use super::input::Plan;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use unbloat_outcome::{Judgement, Outcomes, RunResult, judge, results};
use unbloat_sim::run_while;

/// One run and what came of it.
pub struct Run {
    pub index: usize,
    pub point: usize,
    pub repeat: u64,
    pub seed: u64,
    pub results: Vec<RunResult>,
    pub judgements: Vec<Judgement>,
}

pub struct Campaign {
    /// In order; without those that Ctrl-C prevented.
    pub runs: Vec<Run>,
    /// Of the only run; of none if there are several.
    pub outcomes: Option<Outcomes>,
    pub is_cut: bool,
}

impl Campaign {
    pub fn run(plan: &Plan, threads: usize, quiet: bool, stop: &AtomicBool) -> Campaign {
        let bar = bar(plan.runs(), quiet);
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..threads.min(plan.runs()) {
                scope.spawn(|| {
                    while let Some(one) = take_next(plan, &next, stop) {
                        bar.inc(1);
                        done.lock()
                            .expect("no run panics with the lock held")
                            .push(one);
                    }
                });
            }
        });
        bar.finish_and_clear();
        let mut done = done.into_inner().expect("all runs have ended");
        done.sort_by_key(|(run, _)| run.index);
        let is_cut = done.len() < plan.runs();
        let (runs, mut outcomes): (Vec<_>, Vec<_>) = done.into_iter().unzip();
        let outcomes = if plan.runs() == 1 {
            outcomes.pop().flatten()
        } else {
            None
        };
        Campaign {
            runs,
            outcomes,
            is_cut,
        }
    }

    pub fn keeps_bounds(&self) -> bool {
        self.runs
            .iter()
            .flat_map(|run| &run.judgements)
            .all(|judgement| judgement.holds)
    }
}

fn take_next(
    plan: &Plan,
    next: &AtomicUsize,
    stop: &AtomicBool,
) -> Option<(Run, Option<Outcomes>)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    if index >= plan.runs() || stop.load(Ordering::Relaxed) {
        return None;
    }
    let experiment = plan.experiment(index);
    let outcomes = run_while(&experiment, &mut |_| !stop.load(Ordering::Relaxed))?;
    let found = results(&outcomes);
    let repeats = plan.sweep.repeats as usize;
    let run = Run {
        index,
        point: index / repeats,
        repeat: (index % repeats) as u64,
        seed: experiment.seed,
        judgements: judge(&plan.bounds, &found),
        results: found,
    };
    Some((run, (plan.runs() == 1).then_some(outcomes)))
}

fn bar(runs: usize, quiet: bool) -> ProgressBar {
    let target = if quiet || runs == 1 {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    let style = ProgressStyle::with_template(
        "{bar:30} {percent:>3} %  {pos}/{len} runs  {per_sec}  {eta} left",
    );
    ProgressBar::with_draw_target(Some(runs as u64), target)
        .with_style(style.expect("a template of ours"))
}
