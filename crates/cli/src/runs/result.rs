//! What a run found, as its `run.json` has it.

use unbloat_html::verdict_text;
use unbloat_run::{RunInfo, Status};
use unbloat_summary::Verdict;
use unbloat_text::Tone;
use unbloat_untrusted::in_line;

/// In one line; none for runs that conclude nothing, such as those of `model`.
pub fn line(info: &RunInfo) -> Option<String> {
    info.headline().map(in_line)
}

/// All verdicts have the same kinds.
pub fn tone(info: &RunInfo) -> Tone {
    match info.verdict.get("kind").and_then(|kind| kind.as_str()) {
        Some("bloated" | "worse") => Tone::Bad,
        Some("clean" | "better" | "same") => Tone::Good,
        _ => Tone::Fair,
    }
}

/// In a few lines.
pub fn text(info: &RunInfo, width: usize) -> String {
    let capture = Verdict::of_run(&info.verdict).ok().flatten();
    let mut text = match (capture, line(info)) {
        (Some(verdict), _) => {
            let said = verdict_text(&verdict, width);
            tone(info).paint_first(&said)
        }
        (None, Some(line)) => tone(info).paint(&line) + "\n",
        (None, None) => "No verdict: the report and the tables have the results.\n".to_owned(),
    };
    match info.status {
        Status::Complete => {}
        Status::Interrupted => text.push_str("Interrupted: it covers what was done until then.\n"),
        Status::Damaged => text.push_str("Damaged input: it covers what came before the damage.\n"),
    }
    text
}
