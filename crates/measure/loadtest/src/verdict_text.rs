//! The verdict, for people: one sentence, where, what to do, what casts doubt on it.

use std::fmt::Write;
use unbloat_responsiveness::{Doubt, Verdict};

pub(crate) fn verdict_text(verdict: &Verdict) -> String {
    let headline = verdict.kind.tone().paint(&verdict.headline);
    let mut text = format!("{headline}\n");
    for place in &verdict.places {
        let _ = writeln!(text, "{place}");
    }
    uses(&mut text, verdict);
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

/// What it means, in aligned columns.
fn uses(text: &mut String, verdict: &Verdict) {
    let uses = verdict.uses();
    if !uses.is_empty() {
        text.push_str("\nWhat it means\n");
    }
    for one in uses {
        let rating = one
            .rating
            .tone()
            .paint(&format!("{:<4}", one.rating.name()));
        let _ = writeln!(text, "  {:<9}  {rating}  {}", one.name, one.text);
    }
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
