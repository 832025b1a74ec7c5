//! This week against the last.

use crate::record::{Delay, EventKind, Record};
use serde::Serialize;
use unbloat_units::{Both, Delta, Direction};

/// Seven days.
pub const WEEK: Delta = Delta::secs(7 * 86_400);
/// Less load than this in either week compares nothing.
const LEAST_LOADED_S: f64 = 600.0;
/// A change by less than this factor is none.
const ALIKE: f64 = 1.5;

/// One direction over seven days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Week {
    pub episodes: u64,
    pub standing_s: f64,
    pub loaded_s: f64,
    /// Largest 95th percentile of a span.
    pub p95_ms: Option<f64>,
    /// Time that was watched.
    pub watched_s: f64,
}

impl Week {
    /// Fraction of the loaded time in which a queue stood. Traffic that was not captured may fill a queue, so it is at most 1 by
    /// definition only.
    pub fn bloated(&self) -> Option<f64> {
        (self.loaded_s >= LEAST_LOADED_S).then(|| (self.standing_s / self.loaded_s).min(1.0))
    }
}

/// How a direction did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WeekVerdict {
    Better,
    Worse,
    Same,
    /// One of the weeks had less than ten minutes of load.
    CannotTell,
}

/// Two weeks, by direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Weeks {
    pub this: Both<Week>,
    pub last: Both<Week>,
}

impl Weeks {
    /// Of records of the two weeks that end at `now_ns`.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>, now_ns: i64) -> Weeks {
        let mut weeks = Weeks {
            this: Both::default(),
            last: Both::default(),
        };
        for record in records {
            let age = now_ns - record.start_ns();
            let week = match age.div_euclid(WEEK.as_ns()) {
                0 => &mut weeks.this,
                1 => &mut weeks.last,
                _ => continue,
            };
            match record {
                Record::Delay(delay) => week[delay.direction].add(delay),
                Record::Event(event) if event.kind == EventKind::Episode => {
                    if let Some(direction) = event.direction {
                        week[direction].episodes += 1;
                    }
                }
                _ => {}
            }
        }
        weeks
    }

    pub fn verdict(&self, direction: Direction) -> WeekVerdict {
        let fractions = self.this[direction]
            .bloated()
            .zip(self.last[direction].bloated());
        let Some((this, last)) = fractions else {
            return WeekVerdict::CannotTell;
        };
        // A percent of the loaded time more or less is nothing.
        let (this, last) = (this + 0.01, last + 0.01);
        match this / last {
            ratio if ratio >= ALIKE => WeekVerdict::Worse,
            ratio if ratio <= 1.0 / ALIKE => WeekVerdict::Better,
            _ => WeekVerdict::Same,
        }
    }
}

impl Week {
    fn add(&mut self, delay: &Delay) {
        self.standing_s += delay.standing_s;
        self.loaded_s += delay.loaded_s;
        self.watched_s += delay.span_ms as f64 / 1e3;
        self.p95_ms = crate::thin::larger(self.p95_ms, delay.standing_p95_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_summary::VerdictKind;

    const DAY: i64 = 86_400_000_000_000;

    fn hour(day: i64, standing_s: f64, loaded_s: f64) -> Record {
        Record::Delay(Delay {
            start_ns: day * DAY,
            span_ms: 3_600_000,
            direction: Direction::Up,
            verdict: VerdictKind::Bloated,
            standing_s,
            loaded_s,
            sustained_ms: None,
            standing_p50_ms: None,
            standing_p95_ms: Some(standing_s),
            peak_bps: None,
            flows: 1,
        })
    }

    fn verdict(last: (f64, f64), this: (f64, f64)) -> WeekVerdict {
        let records = [
            hour(1, last.0, last.1),
            hour(9, this.0, this.1),
            hour(-9, 1e6, 1e6),
        ];
        Weeks::of(&records, 14 * DAY).verdict(Direction::Up)
    }

    #[test]
    fn weeks_are_compared_by_the_part_of_the_load_in_which_a_queue_stood() {
        assert_eq!(
            verdict((600.0, 1_000.0), (50.0, 1_000.0)),
            WeekVerdict::Better
        );
        assert_eq!(
            verdict((60.0, 1_000.0), (600.0, 2_000.0)),
            WeekVerdict::Worse
        );
        assert_eq!(
            verdict((300.0, 1_000.0), (600.0, 2_000.0)),
            WeekVerdict::Same
        );
        assert_eq!(verdict((0.0, 1_000.0), (4.0, 1_000.0)), WeekVerdict::Same);
        assert_eq!(
            verdict((300.0, 1_000.0), (100.0, 100.0)),
            WeekVerdict::CannotTell
        );
    }
}
