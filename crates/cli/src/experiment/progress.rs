//! Progress of the runs.

use crate::events::bar_target;
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::atomic::{AtomicU64, Ordering};
use unbloat_api::experiment::{Plan, Progress, Runner};
use unbloat_units::Time;

/// A progress bar: over runs, or over seconds if runs take their configured duration.
pub struct ProgressLine {
    bar: ProgressBar,
    /// Steps of one run.
    steps: u64,
    /// Steps of the finished runs.
    done: AtomicU64,
}

impl ProgressLine {
    pub fn of<E>(plan: &Plan, runner: &impl Runner<E>, quiet: bool) -> ProgressLine {
        let longest = plan.points.iter().map(|point| point.duration).max();
        match runner.is_real_time() {
            true => {
                let steps = longest.map_or(1, |longest| (longest.as_secs() as u64).max(1));
                let template = "{bar:30} {percent:>3} %  {pos}/{len} s  {eta} left";
                let is_short = plan.runs() == 1 && steps == 1;
                ProgressLine::new(plan.runs(), steps, template, quiet || is_short)
            }
            false => ProgressLine::over_runs(plan.runs(), quiet),
        }
    }

    /// One run tells nothing.
    pub fn over_runs(runs: usize, quiet: bool) -> ProgressLine {
        let template = "{bar:30} {percent:>3} %  {pos}/{len} runs  {per_sec}  {eta} left";
        ProgressLine::new(runs, 1, template, quiet || runs < 2)
    }

    fn new(runs: usize, steps: u64, template: &str, quiet: bool) -> ProgressLine {
        let style = ProgressStyle::with_template(template).expect("a template of ours");
        let all = Some(runs as u64 * steps);
        ProgressLine {
            bar: ProgressBar::with_draw_target(all, bar_target(quiet)).with_style(style),
            steps,
            done: AtomicU64::new(0),
        }
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for ProgressLine {
    /// Shown only if a run has several steps.
    fn at(&self, at: Time) {
        if self.steps == 1 {
            return;
        }
        let seconds = (at.as_ns() / 1_000_000_000).max(0) as u64;
        let done = self.done.load(Ordering::Relaxed);
        self.bar.set_position(done + seconds.min(self.steps));
    }

    fn is_shown(&self) -> bool {
        !self.bar.is_hidden()
    }

    fn done(&self) {
        let done = self.done.fetch_add(self.steps, Ordering::Relaxed);
        self.bar.set_position(done + self.steps);
    }
}
