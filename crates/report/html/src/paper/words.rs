//! Verdicts and numbers in words.

use crate::numbers::three_digits;
use unbloat_paper::{Claim, ClaimKind, Judgement, Made, Spread, Verdict};

/// The verdict of a figure in one sentence.
pub(super) fn sentence(made: &Made) -> String {
    let (held, claims) = made.held();
    let of = |word: &str| match claims {
        1 => format!(
            "{word}: the statement {}",
            if held == 1 { "holds" } else { "does not hold" }
        ),
        _ => format!("{word}: {held} of {claims} statements hold"),
    };
    let mut sentence = match made.judged.verdict {
        Verdict::NotMade => "Not made".to_owned(),
        Verdict::NotRun => "Not run".to_owned(),
        Verdict::Drawn => "Drawn; the paper gives no number to compare with".to_owned(),
        Verdict::Agrees => of("Agrees"),
        Verdict::ShapeAgrees => of("Shape agrees"),
        Verdict::Differs => of("Differs"),
    };
    sentence.push('.');
    if let Some(because) = made.because() {
        sentence.push(' ');
        sentence.push_str(because);
    }
    if !made.left_out.is_empty() {
        let runs = made.left_out.join(", ");
        sentence.push_str(&format!(" The kernel cannot run: {runs}."));
    }
    sentence
}

/// What a claim compares: "published 2.6, ours 2.4 (2.1 to 2.8)".
pub(super) fn numbers(claim: &Claim, judgement: &Judgement) -> String {
    let ours = ours(claim, judgement);
    match judgement.kind {
        ClaimKind::Order => {
            let others: Vec<String> = judgement.others.iter().map(|one| spread(*one)).collect();
            format!(
                "ours {ours} against {}",
                with_unit(claim, others.join(", "))
            )
        }
        _ => format!("published {}, ours {ours}", published(claim)),
    }
}

/// The published number or bounds.
pub(super) fn published(claim: &Claim) -> String {
    let value = claim.value.map(number);
    let above = claim
        .above
        .map(|bound| format!("at least {}", number(bound)));
    let below = claim
        .below
        .map(|bound| format!("at most {}", number(bound)));
    let given: Vec<String> = value.into_iter().chain(above).chain(below).collect();
    match given.is_empty() {
        true => "an order".to_owned(),
        false => with_unit(claim, given.join(" and ")),
    }
}

pub(super) fn ours(claim: &Claim, judgement: &Judgement) -> String {
    let ours = judgement.ours;
    ours.map_or("not measured".to_owned(), |ours| {
        with_unit(claim, spread(ours))
    })
}

fn with_unit(claim: &Claim, text: String) -> String {
    match claim.unit.name() {
        "" => text,
        unit => format!("{text} {unit}"),
    }
}

fn spread(spread: Spread) -> String {
    let [mean, low, high] = [spread.mean, spread.low, spread.high].map(number);
    match low == high {
        true => mean,
        false => format!("{mean} ({low} to {high})"),
    }
}

/// Three significant digits, without zeros at the end: a paper that prints 2.6 does not say 2.60.
pub(super) fn number(value: f64) -> String {
    let text = three_digits(value);
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A label with its unit.
pub(super) fn with_label(label: &str, unit: &str) -> String {
    match unit {
        "" => label.to_owned(),
        unit => format!("{label}, {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_no_zeros_at_the_end() {
        let cases = [
            (0.0, "0"),
            (2.65, "2.65"),
            (2.6, "2.6"),
            (0.060, "0.06"),
            (1449.6, "1,450"),
            (12.0, "12"),
            (-58.94, "-58.9"),
        ];
        for (value, expected) in cases {
            assert_eq!(number(value), expected);
        }
    }
}
