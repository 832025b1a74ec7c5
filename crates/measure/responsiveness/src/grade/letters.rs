//! Rules that give letters for added delay.

use super::{Facts, Mark, Rule};
use unbloat_units::Delta;

const LETTERS: [&str; 6] = ["A+", "A", "B", "C", "D", "F"];
/// Where A, B, C, D and F begin, ms. dslreports.com/faq/17930.
const BEGIN: [f64; 5] = [5.0, 30.0, 60.0, 200.0, 400.0];

/// The letter for one direction's mean added delay.
pub fn letter(added: Delta) -> &'static str {
    LETTERS[BEGIN.partition_point(|&least| added.as_ms() >= least)]
}

/// Each direction that was loaded alone, and the worse of them as the total.
pub(super) fn worst(facts: &Facts) -> Vec<Mark> {
    let known = [("down", facts.added_down), ("up", facts.added_up)];
    let known = known
        .into_iter()
        .filter_map(|(of, added)| Some((of, added?)));
    let mark = |of, added: Delta, because| Mark {
        rule: Rule::Worst,
        of,
        mark: letter(added).to_owned(),
        because,
    };
    let one = |(of, added): (&'static str, Delta)| {
        mark(of, added, format!("{:.0} ms added", added.as_ms()))
    };
    let worst = known.clone().max_by_key(|(_, added)| *added);
    let total = worst.map(|(of, added)| {
        mark(
            "total",
            added,
            format!("of {of}, {:.0} ms added", added.as_ms()),
        )
    });
    total.into_iter().chain(known.map(one)).collect()
}

/// Needs both directions.
pub(super) fn dslreports(facts: &Facts) -> Option<Mark> {
    let (down, up) = (facts.added_down?, facts.added_up?);
    let mean = (down + up) / 2;
    Some(Mark {
        rule: Rule::DslReports,
        of: "total",
        mark: letter(mean).to_owned(),
        because: format!(
            "{:.0} ms, of {:.0} ms down and {:.0} ms up",
            mean.as_ms(),
            down.as_ms(),
            up.as_ms()
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::grade;
    use super::*;

    fn facts(down: i64, up: i64) -> Facts {
        Facts {
            added_down: Some(Delta::ms(down)),
            added_up: Some(Delta::ms(up)),
            ..Facts::default()
        }
    }

    fn total(rule: Rule, facts: &Facts) -> String {
        let marks = grade(rule, facts);
        let total = marks.iter().find(|mark| mark.of == "total");
        total.unwrap().mark.clone()
    }

    #[test]
    fn the_worst_direction_makes_the_total_and_one_is_enough() {
        assert_eq!(total(Rule::Worst, &facts(1, 240)), "D");
        let one = Facts {
            added_up: None,
            ..facts(70, 0)
        };
        assert_eq!(total(Rule::Worst, &one), "C");
        assert_eq!(grade(Rule::Worst, &Facts::default()), []);
    }

    #[test]
    fn dslreports_takes_the_mean_of_both_directions() {
        for (down, up, mark) in [
            (4, 5, "A+"),
            (5, 5, "A"),
            (0, 59, "A"),
            (0, 60, "B"),
            (160, 240, "D"),
            (159, 240, "C"),
            (400, 400, "F"),
        ] {
            assert_eq!(
                total(Rule::DslReports, &facts(down, up)),
                mark,
                "{down} {up}"
            );
        }
    }

    #[test]
    fn one_direction_alone_has_no_total() {
        let one = Facts {
            added_up: None,
            ..facts(10, 0)
        };
        assert_eq!(grade(Rule::DslReports, &one), []);
    }
}
