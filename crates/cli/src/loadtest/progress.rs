//! Progress of a test: one line on the terminal.

use crate::events::bar_target;
use indicatif::{ProgressBar, ProgressStyle};
use unbloat_loadtest::{Load, Progress};

pub struct Line(ProgressBar);

impl Line {
    pub fn new(quiet: bool) -> Line {
        let style = ProgressStyle::with_template("{bar:20} {msg}").expect("a template of ours");
        Line(ProgressBar::with_draw_target(Some(1_000), bar_target(quiet)).with_style(style))
    }

    pub fn show(&self, at: &Progress) {
        let share = at.elapsed.as_secs() / at.lasts.as_secs().max(1e-3);
        let done = (at.stage as f64 + share.min(1.0)) / at.stages.max(1) as f64;
        self.0.set_position((done * 1_000.0) as u64);
        let rtt = at.rtt.map_or(String::new(), |rtt| {
            format!("  round trip {:.0} ms", rtt.as_ms())
        });
        let rates = match at.load {
            Load::Idle => String::new(),
            Load::Down => format!("  {} down", at.down),
            Load::Up => format!("  {} up", at.up),
            Load::Both => format!("  {} down, {} up", at.down, at.up),
        };
        self.0
            .set_message(format!("{}{rates}{rtt}", at.load.name()));
    }

    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}
