//! A progress bar with rate and time left, on standard error, for people only.

use super::tone;
use crate::events::{self, bar_target};
use crate::terminal;
use console::Term;
use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use std::time::{Duration, Instant};
use unbloat_analyze::Standing;
use unbloat_html::verdict_text;
use unbloat_summary::Verdict;
use unbloat_text::Tone;
use unbloat_untrusted::in_line;

pub struct Progress {
    bar: ProgressBar,
    begun: Instant,
    drawn: Instant,
    /// Where a live verdict is drawn, and how many lines it took.
    term: Option<Term>,
    interface: String,
    lines: usize,
}

const EVERY: Duration = Duration::from_millis(100);

impl Progress {
    /// Draws on a terminal only, and nowhere if `quiet`.
    pub fn new(quiet: bool, interface: Option<&str>) -> Progress {
        let bar = ProgressBar::with_draw_target(None, bar_target(quiet));
        let now = Instant::now();
        let is_drawn = interface.is_some() && !quiet && !events::are_shown();
        let term = is_drawn.then(Term::stderr).filter(Term::is_term);
        Progress {
            bar,
            begun: now,
            drawn: now,
            term,
            interface: interface.map(in_line).unwrap_or_default(),
            lines: 0,
        }
    }

    /// Draws the verdict of a live capture over the one before, below what is captured and above the keys.
    pub fn redraw(&mut self, verdict: &Verdict, standing: &Standing) {
        let Some(term) = &self.term else { return };
        let layout = terminal::stderr();
        let said = verdict_text(verdict, layout.columns.unwrap_or(80));
        let said = tone(verdict.kind).paint_first(&said);
        let text = layout.lay(&format!(
            "{}\n{said}\n{}\n",
            self.so_far(standing),
            Tone::Faint.paint("Ctrl-C ends the capture and prints the result")
        ));
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

    /// Line above a live verdict: interface, time and packets. The verdict itself reports drops.
    fn so_far(&self, standing: &Standing) -> String {
        let elapsed = self.begun.elapsed().as_secs();
        let rate = standing.packets / elapsed.max(1);
        format!(
            "{}: {elapsed} s, {} packets so far, {}/s",
            Tone::Strong.paint(&self.interface),
            HumanCount(standing.packets),
            HumanCount(rate)
        )
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
