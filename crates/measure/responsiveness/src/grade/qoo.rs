//! Quality of Outcome: how far an application's needs are met.
//!
//! draft-ietf-ippm-qoo-06, with the profiles of LibreQoS's bufferbloat test, and goresponsiveness's profile of games. The draft means quantiles of
//! round trips under working conditions; loss is of the whole test.

use super::{Facts, LoadedRtt, Mark, Rule};
use unbloat_units::Delta;

/// A quantile of round trips, and where it is perfect and useless, ms.
struct Need {
    of: fn(&LoadedRtt) -> Delta,
    perfect: f64,
    useless: f64,
}

struct Profile {
    name: &'static str,
    needs: &'static [Need],
    /// Percent of packets lost: perfect and useless.
    loss: Option<[f64; 2]>,
}

const PROFILES: [Profile; 4] = [
    Profile {
        name: "video calls",
        needs: &[p95(50.0, 100.0)],
        loss: Some([0.1, 0.5]),
    },
    Profile {
        name: "gaming",
        needs: &[p95(50.0, 100.0)],
        loss: Some([0.5, 1.0]),
    },
    Profile {
        name: "web",
        needs: &[Need {
            of: |rtt| rtt.p90,
            perfect: 50.0,
            useless: 150.0,
        }],
        loss: Some([0.5, 1.0]),
    },
    Profile {
        name: "gaming-go",
        needs: &[
            Need {
                of: |rtt| rtt.p50,
                perfect: 30.0,
                useless: 150.0,
            },
            p95(65.0, 200.0),
            Need {
                of: |rtt| rtt.p99,
                perfect: 100.0,
                useless: 250.0,
            },
        ],
        loss: None,
    },
];

const fn p95(perfect: f64, useless: f64) -> Need {
    Need {
        of: |rtt| rtt.p95,
        perfect,
        useless,
    }
}

/// Needs delays; without loss it is that of delays alone.
pub(super) fn marks(facts: &Facts) -> Vec<Mark> {
    let Some(rtt) = facts.loaded_rtt else {
        return Vec::new();
    };
    let marks = PROFILES.iter().map(|profile| {
        let of_delays = profile.needs.iter().map(|need| {
            let value = (need.of)(&rtt).as_ms();
            score(value, need.perfect, need.useless)
        });
        let by_delay = of_delays.fold(100.0, f64::min);
        let loss = profile.loss.zip(facts.loss);
        let by_loss = loss.map(|([perfect, useless], loss)| score(100.0 * loss, perfect, useless));
        Mark {
            rule: Rule::Qoo,
            of: profile.name,
            mark: format!("{:.0}", by_delay.min(by_loss.unwrap_or(100.0))),
            because: because(by_delay, by_loss),
        }
    });
    marks.collect()
}

fn because(by_delay: f64, by_loss: Option<f64>) -> String {
    match by_loss {
        Some(by_loss) => format!("{by_delay:.0} by delay, {by_loss:.0} by loss"),
        None => format!("{by_delay:.0} by delay"),
    }
}

fn score(value: f64, perfect: f64, useless: f64) -> f64 {
    (100.0 * (useless - value) / (useless - perfect)).clamp(0.0, 100.0)
}

#[cfg(test)]
mod tests {
    use super::super::grade;
    use super::*;

    fn facts(p95_ms: i64, loss: f64) -> Facts {
        let rtt = Delta::ms(p95_ms);
        Facts {
            loaded_rtt: Some(LoadedRtt {
                p50: rtt,
                p90: rtt,
                p95: rtt,
                p99: rtt,
            }),
            loss: Some(loss),
            ..Facts::default()
        }
    }

    fn scores(facts: &Facts) -> Vec<String> {
        let marks = grade(Rule::Qoo, facts);
        marks.into_iter().map(|m| m.mark).collect()
    }

    #[test]
    fn scores_fall_in_proportion_between_perfect_and_useless() {
        assert_eq!(scores(&facts(20, 0.0)), ["100", "100", "100", "100"]);
        assert_eq!(scores(&facts(75, 0.0)), ["50", "50", "75", "62"]);
        assert_eq!(scores(&facts(400, 0.0)), ["0", "0", "0", "0"]);
    }

    #[test]
    fn the_worst_need_counts() {
        assert_eq!(scores(&facts(20, 0.003)), ["50", "100", "100", "100"]);
        assert_eq!(scores(&facts(75, 0.02)), ["0", "0", "0", "62"]);
    }
}
