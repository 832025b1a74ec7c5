//! Cloudflare's aggregated internet measurement.
//!
//! @cloudflare/speedtest, `src/config/internalConfig`: `aimMeasurementScoring`, `aimExperiencesDefs`.

use super::{Facts, Mark, Rule, reached};
use unbloat_units::{Delta, Rate};

const CLASSES: [&str; 5] = ["bad", "poor", "average", "good", "great"];

/// Points for what is known.
struct Points {
    latency: Option<i32>,
    increase: Option<i32>,
    jitter: Option<i32>,
    /// 0 if not known, as there.
    loss: i32,
    down: Option<i32>,
}

pub(super) fn marks(facts: &Facts) -> Vec<Mark> {
    let points = Points::of(facts);
    let path = points.latency.zip(points.increase);
    let path = path.map(|(latency, increase)| latency + increase + points.loss);
    let uses = [
        ("streaming", path.zip(points.down), [15.0, 20.0, 40.0, 60.0]),
        ("gaming", path.zip(Some(0)), [5.0, 15.0, 25.0, 30.0]),
        (
            "video calls",
            path.zip(points.jitter),
            [5.0, 15.0, 25.0, 40.0],
        ),
    ];
    let known = uses.into_iter().filter_map(|(of, both, classes)| {
        let (of_path, more) = both?;
        let sum = of_path + more;
        Some(Mark {
            rule: Rule::Aim,
            of,
            mark: CLASSES[reached(&classes, f64::from(sum))].to_owned(),
            because: format!("{sum} points"),
        })
    });
    known.collect()
}

impl Points {
    fn of(facts: &Facts) -> Points {
        let worse = facts.added_down.max(facts.added_up);
        let loss = [0.01, 0.05, 0.25, 0.5];
        Points {
            latency: facts.idle_rtt.map(of_delay),
            increase: worse.map(of_delay),
            jitter: facts.jitter.map(of_jitter),
            loss: facts
                .loss
                .map_or(0, |share| [10, 5, 0, -10, -20][reached(&loss, share)]),
            down: facts.down.map(of_rate),
        }
    }
}

fn of_delay(delay: Delta) -> i32 {
    [20, 10, 5, 0, -10, -20][reached(&[10.0, 20.0, 50.0, 100.0, 500.0], delay.as_ms())]
}

fn of_jitter(jitter: Delta) -> i32 {
    [10, 5, 0, -10, -20][reached(&[10.0, 20.0, 100.0, 500.0], jitter.as_ms())]
}

fn of_rate(rate: Rate) -> i32 {
    [0, 5, 10, 20, 30][reached(&[1e6, 10e6, 50e6, 100e6], rate.as_bps_f64())]
}

#[cfg(test)]
mod tests {
    use super::super::grade;
    use super::*;

    #[test]
    fn a_fast_idle_path_is_great_and_a_bloated_one_is_not() {
        let fast = Facts {
            idle_rtt: Some(Delta::ms(8)),
            added_down: Some(Delta::ms(2)),
            added_up: Some(Delta::ms(3)),
            jitter: Some(Delta::ms(1)),
            loss: Some(0.0),
            down: Some(Rate::mbps(200)),
            ..Facts::default()
        };
        let marks = grade(Rule::Aim, &fast);
        let of: Vec<_> = marks
            .iter()
            .map(|m| (m.of, &*m.mark, &*m.because))
            .collect();
        assert_eq!(
            of,
            [
                ("streaming", "great", "80 points"),
                ("gaming", "great", "50 points"),
                ("video calls", "great", "60 points"),
            ]
        );
        let bloated = Facts {
            idle_rtt: Some(Delta::ms(30)),
            added_up: Some(Delta::ms(240)),
            ..fast
        };
        let gaming = &grade(Rule::Aim, &bloated)[1];
        // 5 for the path, -10 for the worse direction, 10 for no loss.
        assert_eq!((&*gaming.mark, &*gaming.because), ("poor", "5 points"));
    }

    #[test]
    fn a_use_whose_needs_are_not_known_is_left_out() {
        let path = Facts {
            idle_rtt: Some(Delta::ms(8)),
            added_down: Some(Delta::ms(2)),
            ..Facts::default()
        };
        let marks = grade(Rule::Aim, &path);
        assert_eq!(marks.len(), 1);
        assert_eq!(marks[0].of, "gaming");
        assert_eq!(grade(Rule::Aim, &Facts::default()), []);
    }
}
