//! Rules that give letters for added delay.

use super::{Facts, Mark, Rule, reached};
use unbloat_units::Delta;

const LETTERS: [&str; 6] = ["A+", "A", "B", "C", "D", "F"];
/// Where A, B, C, D and F begin, ms. dslreports.com/faq/17930; LibreQoS's README has the same.
const DSLREPORTS: [f64; 5] = [5.0, 30.0, 60.0, 200.0, 400.0];
/// LibreQoS, `latencyGradeThresholds.json` v1.0: added, and round trip without load.
const SHIPPED: [f64; 5] = [5.0, 25.0, 50.0, 75.0, 100.0];
const SHIPPED_IDLE: [f64; 5] = [75.0, 100.0, 125.0, 150.0, 175.0];

/// The letter for one direction's mean added delay.
pub fn letter(added: Delta) -> &'static str {
    LETTERS[reached(&DSLREPORTS, added.as_ms())]
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
        mark: LETTERS[reached(&DSLREPORTS, mean.as_ms())].to_owned(),
        because: format!(
            "{:.0} ms, of {:.0} ms down and {:.0} ms up",
            mean.as_ms(),
            down.as_ms(),
            up.as_ms()
        ),
    })
}

pub(super) fn libreqos(rule: Rule, facts: &Facts) -> Vec<Mark> {
    let is_shipped = rule == Rule::LibreqosShipped;
    let thresholds = if is_shipped { &SHIPPED } else { &DSLREPORTS };
    let loads = [
        ("down", facts.added_down),
        ("up", facts.added_up),
        ("both", facts.added_both),
    ];
    let numbered = loads.map(|(of, added)| {
        let added = added?;
        Some((of, reached(thresholds, added.as_ms()), added))
    });
    let mark = |of, number: usize, because| Mark {
        rule,
        of,
        mark: LETTERS[number].to_owned(),
        because,
    };
    let added_ms = |added: Delta| format!("{:.0} ms added", added.as_ms());
    let known = numbered.into_iter().flatten();
    let mut marks: Vec<Mark> = known
        .map(|(of, number, added)| mark(of, number, added_ms(added)))
        .collect();
    let idle = facts.idle_rtt.filter(|_| is_shipped);
    let idle = idle.map(|rtt| (reached(&SHIPPED_IDLE, rtt.as_ms()), rtt));
    marks.extend(idle.map(|(number, rtt)| {
        let because = format!("{:.0} ms without load", rtt.as_ms());
        mark("idle", number, because)
    }));
    if let [Some(down), Some(up), Some(both)] = numbered {
        let mean = mean_of([down.1, up.1, both.1]);
        let total = idle.map_or(mean, |(number, _)| mean.max(number));
        marks.push(mark("total", total, "of the marks above".to_owned()));
    }
    marks
}

/// LibreQoS counts A+ as 6 down to F as 1, and takes means of 5.5, 4.5, 3.5, 2.5 and 1.5 as the least of A+ to D.
fn mean_of(numbers: [usize; 3]) -> usize {
    let points: usize = numbers.iter().map(|number| 6 - number).sum();
    let mean = points as f64 / 3.0;
    5 - reached(&[1.5, 2.5, 3.5, 4.5, 5.5], mean)
}

#[cfg(test)]
mod tests {
    use super::super::grade;
    use super::*;

    fn facts(down: i64, up: i64, both: i64) -> Facts {
        Facts {
            idle_rtt: Some(Delta::ms(20)),
            added_down: Some(Delta::ms(down)),
            added_up: Some(Delta::ms(up)),
            added_both: Some(Delta::ms(both)),
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
        assert_eq!(total(Rule::Worst, &facts(1, 240, 0)), "D");
        let one = Facts {
            added_up: None,
            ..facts(70, 0, 10)
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
                total(Rule::DslReports, &facts(down, up, 0)),
                mark,
                "{down} {up}"
            );
        }
    }

    #[test]
    fn one_direction_alone_has_no_total() {
        let one = Facts {
            added_up: None,
            ..facts(10, 0, 10)
        };
        assert_eq!(grade(Rule::DslReports, &one), []);
        assert_eq!(grade(Rule::LibreqosReadme, &one).len(), 2);
    }

    #[test]
    fn what_libreqos_ships_is_stricter_than_what_it_writes() {
        let facts = facts(90, 90, 90);
        assert_eq!(total(Rule::LibreqosReadme, &facts), "C");
        assert_eq!(total(Rule::LibreqosShipped, &facts), "D");
    }

    #[test]
    fn a_long_path_is_no_better_than_its_idle_mark_as_shipped() {
        let far = Facts {
            idle_rtt: Some(Delta::ms(160)),
            ..facts(1, 1, 1)
        };
        assert_eq!(total(Rule::LibreqosShipped, &far), "D");
        assert_eq!(total(Rule::LibreqosReadme, &far), "A+");
    }

    #[test]
    fn the_total_is_the_mean_of_the_marks() {
        // A+ (6), F (1), A (5): a mean of 4 is a B.
        assert_eq!(total(Rule::LibreqosReadme, &facts(1, 999, 10)), "B");
    }
}
