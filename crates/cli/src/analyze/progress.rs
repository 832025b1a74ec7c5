//! A progress bar with rate and time left, on standard error, for people only.

use crate::events::{self, bar_target};
use console::Term;
use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use std::time::{Duration, Instant};
use unbloat_analyze::Standing;

pub struct Progress {
    bar: ProgressBar,
    begun: Instant,
    drawn: Instant,
    /// Where a live verdict is drawn, and how many lines it took.
    term: Option<Term>,
    lines: usize,
}

const EVERY: Duration = Duration::from_millis(100);

impl Progress {
    /// Draws on a terminal only, and nowhere if `quiet`.
    pub fn new(quiet: bool, live: bool) -> Progress {
        let bar = ProgressBar::with_draw_target(None, bar_target(quiet));
        let now = Instant::now();
        let is_drawn = live && !quiet && !events::are_shown();
        let term = is_drawn.then(Term::stderr).filter(Term::is_term);
        Progress {
            bar,
            begun: now,
            drawn: now,
            term,
            lines: 0,
        }
    }

    /// Draws the verdict of a live capture over the one before.
    pub fn redraw(&mut self, verdict: &str, standing: &Standing) {
        let Some(term) = &self.term else { return };
        let text = format!("{verdict}\n{}\n", so_far(standing));
        // The capture continues even if the terminal is gone.
        let _ = term.clear_last_lines(self.lines);
        let _ = term.write_str(&text);
        self.lines = text.lines().count();
    }

    pub fn show(&mut self, standing: &Standing) {
        if self.term.is_some() || self.drawn.elapsed() < EVERY {
            return;
        }
        self.drawn = Instant::now();
        if self.bar.length().is_none() {
            self.begin(standing);
        }
        self.bar.set_position(standing.progress.done.as_u64());
        let rate = standing.packets as f64 / self.begun.elapsed().as_secs_f64();
        let packets = HumanCount(standing.packets);
        let rate = HumanCount(rate as u64);
        self.bar.set_message(format!("{packets} packets, {rate}/s"));
    }

    fn begin(&self, standing: &Standing) {
        let template = match standing.progress.total {
            Some(total) => {
                self.bar.set_length(total.as_u64());
                "{bar:30} {percent:>3} %  {bytes}/{total_bytes}  {msg}  {eta} left"
            }
            None => "{spinner} {bytes}  {msg}  {elapsed}",
        };
        let style = ProgressStyle::with_template(template).expect("a template of ours");
        self.bar.set_style(style);
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Line below a live verdict: its number of packets. The verdict itself reports drops.
fn so_far(standing: &Standing) -> String {
    format!("{} packets so far", HumanCount(standing.packets))
}
