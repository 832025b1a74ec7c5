//! Live table of the hops, on standard error.

use crate::events;
use crate::print::note;
use crate::terminal;
use console::Term;
use std::fmt::Write;
use unbloat_locate::{PEER, Phase};
use unbloat_locate_host::{HopLine, Snapshot, Stage};
use unbloat_units::Delta;

/// Redraws the table on a terminal; otherwise, and beside events, prints one line per stage.
pub struct View {
    terminal: Term,
    is_quiet: bool,
    lines: usize,
    stage: Option<Stage>,
    has_peer: bool,
    loads: Vec<Phase>,
}

impl View {
    /// A column for each of `loads`.
    pub fn new(loads: &[Phase], has_peer: bool, is_quiet: bool) -> View {
        View {
            loads: loads.to_vec(),
            terminal: Term::stderr(),
            is_quiet,
            lines: 0,
            stage: None,
            has_peer,
        }
    }

    /// Returns whether a new stage has begun.
    pub fn show(&mut self, snapshot: &Snapshot) -> bool {
        let is_new = self.stage.replace(snapshot.stage) != Some(snapshot.stage);
        if self.is_quiet {
            return is_new;
        }
        if !self.terminal.is_term() || events::are_shown() {
            if is_new {
                note!("{}", words(snapshot.stage));
            }
            return is_new;
        }
        // Rows that the terminal breaks could not be removed again.
        let text = terminal::stderr().cut(&self.draw(snapshot));
        // Best effort: the verdict follows anyway.
        let _ = self.terminal.clear_last_lines(self.lines);
        let _ = self.terminal.write_line(&text);
        self.lines = text.lines().count();
        is_new
    }

    /// Removes the table.
    pub fn close(&mut self) {
        let _ = self.terminal.clear_last_lines(self.lines);
        self.lines = 0;
    }

    fn draw(&self, snapshot: &Snapshot) -> String {
        let mut text = format!(
            "{} {:.0} of {:.0} s; Ctrl-C ends early\n hop  address           answered     last     idle",
            words(snapshot.stage),
            snapshot.elapsed.as_secs_f64(),
            snapshot.length.as_secs_f64()
        );
        for load in &self.loads {
            let _ = write!(text, "  {:>7}", load.name());
        }
        let shown = snapshot
            .hops
            .iter()
            .filter(|line| line.hop != PEER || self.has_peer);
        for line in shown {
            text.push('\n');
            hop(&mut text, line, &self.loads);
        }
        text
    }
}

fn words(stage: Stage) -> &'static str {
    match stage {
        Stage::Discover => "searching for hops",
        Stage::Measure(Phase::Idle) => "measuring idle",
        Stage::Measure(Phase::Down) => "measuring under download",
        Stage::Measure(Phase::Up) => "measuring under upload",
        Stage::Measure(Phase::Both) => "measuring under download and upload",
        Stage::Fill(_) => "starting the load",
        Stage::Drain => "waiting for queues to drain",
    }
}

fn hop(text: &mut String, line: &HopLine, loads: &[Phase]) {
    let ms = |delta: Option<Delta>| delta.map_or("-".to_owned(), |d| format!("{:.1}", d.as_ms()));
    let number = match line.hop {
        PEER => "peer".to_owned(),
        number => number.to_string(),
    };
    let address = line
        .address
        .map_or("-".to_owned(), |address| address.to_string());
    let answered = 100 * line.answered / line.sent.max(1);
    // Writing to a String cannot fail.
    let _ = write!(
        text,
        "{number:>4}  {address:<17} {answered:>6} %  {:>7}  {:>7}",
        ms(line.last),
        ms(line.idle_p50)
    );
    for phase in loads {
        let found = line.loaded_p50.iter().find(|(load, _)| load == phase);
        let _ = write!(text, "  {:>7}", ms(found.map(|(_, p50)| *p50)));
    }
}
