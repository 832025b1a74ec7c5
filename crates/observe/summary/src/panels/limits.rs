//! What limits large flows, and the pattern of their windows (CellNet 2012 §5).

use crate::findings::Findings;
use crate::panel::Panel;
use crate::view::View;
use unbloat_trace::flows::{self, LimitColumns, PatternColumns, VolumeColumns};

const PATTERNS: [(&str, &str); 4] = [
    (
        "flat",
        "Bytes in flight stay level: something other than loss holds the window.",
    ),
    (
        "fat",
        "Bytes in flight grow until loss: a deep queue fills.",
    ),
    ("short", "Too short to tell."),
    ("mixed", "Neither level nor growing."),
];
const LIMITS: [(&str, &str); 6] = [
    ("receive_window", "The client's window was full."),
    (
        "sender_buffer",
        "In flight stayed level below the client's window.",
    ),
    ("application", "The sender had nothing to send."),
    ("loss", "The window was cut by loss."),
    ("path", "The link was busy."),
    ("unknown", "Not enough seen to tell."),
];

#[derive(Default)]
pub(crate) struct Limits {
    large: u64,
    patterns: [u64; PATTERNS.len()],
    limits: [u64; LIMITS.len()],
}

impl Panel for Limits {
    fn table(&self) -> &'static str {
        flows::NAME
    }

    fn add(&mut self, view: &View) {
        let large = view.column(VolumeColumns::large_down);
        let (pattern, limit) = (
            view.column(PatternColumns::pattern.down),
            view.column(LimitColumns::limit.down),
        );
        for row in view.tcp_rows().filter(|&row| large.is_true(row)) {
            self.large += 1;
            if let Some(i) = PATTERNS.iter().position(|(name, _)| pattern.is(row, name)) {
                self.patterns[i] += 1;
            }
            if let Some(i) = LIMITS.iter().position(|(name, _)| limit.is(row, name)) {
                self.limits[i] += 1;
            }
        }
    }

    fn finish(&self, found: &mut Findings) {
        let mut group = found.group("What limits large flows");
        for ((name, doc), count) in LIMITS.into_iter().zip(self.limits) {
            let metric = format!("limited by {}", name.replace('_', " "));
            group.share(&metric, (count, self.large), None, doc);
        }
        for ((name, doc), count) in PATTERNS.into_iter().zip(self.patterns) {
            group.share(
                &format!("window pattern {name}"),
                (count, self.large),
                None,
                doc,
            );
        }
    }
}
