//! A comparison in words and numbers.

use crate::numbers::{human, three_digits};
use unbloat_compare::{
    Comparison, Counts, Judgement, Noise, Outcome, Overall, Row, Topic, Verdict, without_unit,
};

/// What two runs side by side come to, in one sentence.
pub fn comparison_headline(comparison: &Comparison) -> String {
    let verdict = &comparison.verdict;
    let worse = || topics(comparison, Outcome::Worse);
    let better = || topics(comparison, Outcome::Better);
    let sentence = match verdict.overall {
        Overall::Better => format!("B is better in {}", better()),
        Overall::Worse => format!("B is worse in {}", worse()),
        Overall::Mixed => format!("B is better in {}, and worse in {}", better(), worse()),
        Overall::Changed => format!("B differs in {}", topics(comparison, Outcome::Changed)),
        Overall::CannotTell => {
            let Counts {
                cannot_tell, same, ..
            } = verdict.key;
            format!(
                "No difference found, but {cannot_tell} of {} key quantities are too noisy to tell",
                cannot_tell + same
            )
        }
        Overall::Same => "No difference that matters".to_owned(),
        Overall::NothingInCommon => "The runs have no quantity in common".to_owned(),
    };
    let by = match is_doubtful(verdict) {
        true => ", by one run each",
        false => "",
    };
    let leading = verdict.leading.iter();
    let mut leading: Vec<&Row> = leading
        .filter_map(|&at| comparison.quantities.get(at))
        .collect();
    // What is better is said first, as in the sentence; of each, what leads.
    leading.sort_by_key(|row| row.outcome != Outcome::Better);
    leading.dedup_by_key(|row| row.outcome);
    let most = leading.iter().enumerate().map(|(at, row)| {
        let [a, b] = [row.a.value, row.b.value].map(|number| value(number, row));
        let mark = if at == 0 { ":" } else { ";" };
        format!("{mark} {} from {a} to {b}", name(row))
    });
    format!("{sentence}{by}{}.", most.collect::<String>())
}

/// Whether all that differs rests on single values.
pub(super) fn is_doubtful(verdict: &Verdict) -> bool {
    let Counts {
        better,
        worse,
        changed,
        unrepeated,
        ..
    } = verdict.key;
    unrepeated > 0 && unrepeated == better + worse + changed
}

fn topics(comparison: &Comparison, outcome: Outcome) -> String {
    let leading = comparison.verdict.leading.iter();
    let leading = leading.filter_map(|index| comparison.quantities.get(*index));
    let named: Vec<&str> = leading
        .filter(|row| row.outcome == outcome)
        .map(|row| topic(row.topic))
        .collect();
    match named.as_slice() {
        [] => "nothing".to_owned(),
        [one] => (*one).to_owned(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

pub(crate) fn topic(topic: Topic) -> &'static str {
    match topic {
        Topic::Throughput => "throughput",
        Topic::Delay => "delay",
        Topic::Application => "applications",
        Topic::Loss => "loss",
        Topic::Rtt => "round-trip times",
        Topic::Queue => "backlog",
        Topic::Window => "windows",
        Topic::Other => "other things",
    }
}

/// "down queue delay p95".
pub(super) fn name(row: &Row) -> String {
    let metric = quantity(&row.metric);
    let statistic = match row.statistic {
        "mean" | "value" | "share" => "",
        "p50" if is_of_many(row) => ": median",
        "p95" if is_of_many(row) => ": p95",
        statistic => statistic,
    };
    let space = if statistic.is_empty() || statistic.starts_with(':') {
        ""
    } else {
        " "
    };
    let point = match row.point.as_str() {
        "" => String::new(),
        point => format!(" at {point}"),
    };
    let named = format!("{metric}{space}{statistic}{point}");
    of_what(&row.subject, &row.metric, &named)
}

/// A metric of a subject: "flows added down", "delay added downstream while uploading".
pub(super) fn of_subject(subject: &str, metric: &str) -> String {
    of_what(subject, metric, &quantity(metric))
}

/// A test measures each direction during each load, so both are named: "delay added downstream while uploading".
fn of_what(subject: &str, metric: &str, named: &str) -> String {
    let is_directed = metric.split('_').any(|word| matches!(word, "down" | "up"));
    let load = match subject {
        "" => return named.to_owned(),
        "idle" => "idle",
        "down" => "downloading",
        "up" => "uploading",
        "both" => "loaded both ways",
        _ => return format!("{subject} {named}"),
    };
    match is_directed {
        true => format!("{named} while {load}"),
        false => format!("{subject} {named}"),
    }
}

/// Whether a value is of a distribution over flows or users.
fn is_of_many(row: &Row) -> bool {
    matches!(row.subject.as_str(), "flows" | "users")
}

/// A metric's name without its unit: "queue delay p95".
pub(crate) fn quantity(metric: &str) -> String {
    let bare = without_unit(metric);
    let bare = bare.rsplit_once(" [").map_or(bare, |(name, _)| name);
    match bare {
        "path" => "backlog".to_owned(),
        // Of tests.
        "added_down" => "delay added downstream".to_owned(),
        "added_up" => "delay added upstream".to_owned(),
        "delivered_down" => "rate delivered downstream".to_owned(),
        "delivered_up" => "rate delivered upstream".to_owned(),
        bare => bare.replace('_', " "),
    }
}

pub(super) fn value(value: f64, row: &Row) -> String {
    human(value, &row.unit)
}

/// "+306 ms".
pub(super) fn difference(value: f64, unit: &str) -> String {
    let shown = human(value.abs(), unit);
    let sign = match value {
        // Of what rounds to nothing, neither.
        _ if shown == human(0.0, unit) => "",
        _ if value > 0.0 => "+",
        _ => "-",
    };
    format!("{sign}{shown}")
}

/// "+12 %", or "x19" where it is several times as much.
pub(super) fn relative(row: &Row) -> String {
    let times = row.b.value / row.a.value;
    match row.relative {
        _ if row.difference == 0.0 => String::new(),
        Some(_) if times >= 3.0 => format!("x{}", three_digits(times)),
        Some(share) => {
            let percent = 100.0 * share;
            let text = match percent.abs() {
                100.0.. => format!("{percent:+.0}"),
                0.095.. => format!("{percent:+.1}"),
                _ => "0.0".to_owned(),
            };
            format!("{text} %")
        }
        None => String::new(),
    }
}

/// What can be said, with a question mark where no noise is known.
pub(super) fn says(row: &Row) -> String {
    let word = match row.outcome {
        Outcome::CannotTell => "cannot tell",
        other => other.name(),
    };
    match row.outcome.differs() && row.noise == Noise::Unknown {
        true => format!("{word}?"),
        false => word.to_owned(),
    }
}

/// "kept    goodput 5 %: all.goodput_bps +1.2 Mbit/s".
pub(super) fn judgement(judgement: &Judgement) -> String {
    let kept = if judgement.holds { "kept  " } else { "BROKEN" };
    let why = match (&judgement.worst, judgement.difference) {
        (Some(worst), Some(found)) => {
            format!("{worst} {}", difference(found, &judgement.unit))
        }
        _ => "no quantity of both runs has that name and unit; --format csv lists them".to_owned(),
    };
    let doubt = match judgement.is_sure {
        Some(false) => ", within what noise alone could turn over",
        _ => "",
    };
    format!("{kept}  {}: {why}{doubt}", judgement.tolerance)
}

/// "84 quantities: 12 worse, 3 better, 9 cannot tell, 60 same".
pub(super) fn tally(counts: &Counts) -> String {
    let Counts {
        better,
        worse,
        changed,
        cannot_tell,
        same,
        ..
    } = *counts;
    let parts = [
        (worse, "worse"),
        (better, "better"),
        (changed, "changed"),
        (cannot_tell, "cannot tell"),
        (same, "same"),
    ];
    let said: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let total = better + worse + changed + cannot_tell + same;
    let noun = if total == 1 { "quantity" } else { "quantities" };
    match total {
        0 => "no quantities".to_owned(),
        _ => format!("{total} {noun}: {}", said.join(", ")),
    }
}

/// Why a question mark stands behind some. Tests repeat themselves by the block; simulations do not.
pub(super) fn question(comparison: &Comparison) -> String {
    let why = "With a question mark: a single value in each run, so that nothing tells how far repeats would differ";
    match comparison.stages.is_empty() {
        true => format!("{why}; --repeats of sim and lab does."),
        false => format!("{why}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_named_without_unit_and_underscores() {
        assert_eq!(quantity("queue_delay_p95_ms"), "queue delay p95");
        assert_eq!(quantity("RTT, median [ms]"), "RTT, median");
        assert_eq!(quantity("jain_index"), "jain index");
        assert_eq!(quantity("path_bytes"), "backlog");
        assert_eq!(difference(-3.0, "ms"), "-3 ms");
        assert_eq!(difference(2e6, "bit/s"), "+2.00 Mbit/s");
    }

    #[test]
    fn the_tally_names_what_there_is() {
        let counts = Counts {
            worse: 2,
            same: 40,
            ..Counts::default()
        };
        assert_eq!(tally(&counts), "42 quantities: 2 worse, 40 same");
        assert_eq!(tally(&Counts::default()), "no quantities");
    }
}
