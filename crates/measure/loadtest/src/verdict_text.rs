//! The verdict, for people: one sentence, where, what to do, what casts doubt on it.

use std::fmt::Write;
use unbloat_responsiveness::{Doubt, Verdict};

pub fn verdict_text(verdict: &Verdict) -> String {
    let mut text = format!("{}\n", verdict.headline);
    for place in &verdict.places {
        let _ = writeln!(text, "{place}");
    }
    text += "\nWhat to do\n";
    for advice in &verdict.advice {
        let or = if advice.is_alternative { "or: " } else { "" };
        let _ = writeln!(text, "  {or}{}", advice.text);
    }
    // The headline has the first.
    reasons(
        &mut text,
        "Other reasons why there is no verdict",
        fatal(verdict).skip(1),
    );
    let others = verdict.doubts.iter().filter(|doubt| !doubt.is_fatal);
    reasons(&mut text, "Warnings", others);
    text
}

fn fatal(verdict: &Verdict) -> impl Iterator<Item = &Doubt> {
    verdict.doubts.iter().filter(|doubt| doubt.is_fatal)
}

fn reasons<'a>(text: &mut String, title: &str, doubts: impl Iterator<Item = &'a Doubt>) {
    let mut doubts = doubts.peekable();
    if doubts.peek().is_some() {
        let _ = writeln!(text, "\n{title}");
    }
    for doubt in doubts {
        let _ = writeln!(text, "  {}", doubt.reason);
    }
}
