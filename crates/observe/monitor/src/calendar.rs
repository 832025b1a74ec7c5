//! The wall clock, for names only.

use unbloat_units::{Delta, Time};

/// Names moments of the monitor's clock by the wall clock. A wall clock that is slewed is followed; one that is set makes a [`Step`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Calendar {
    /// Wall clock less monitor's clock.
    offset: Option<Delta>,
}

/// The wall clock was set by so much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step(pub Delta);

impl Calendar {
    /// A smaller difference between two looks is slewing.
    const STEP: Delta = Delta::secs(2);
    const DAY_NS: i64 = 86_400_000_000_000;

    /// Both clocks, now.
    pub fn look(&mut self, now: Time, wall_ns: i64) -> Option<Step> {
        let offset = Time::from_ns(wall_ns).since_bounded(now);
        let before = self.offset.replace(offset)?;
        let by = offset - before;
        let is_step = by.as_ns().unsigned_abs() >= Self::STEP.as_ns().unsigned_abs();
        is_step.then_some(Step(by))
    }

    /// Nanoseconds since 1970.
    pub fn label(&self, at: Time) -> i64 {
        (at + self.offset.unwrap_or(Delta::ZERO)).bounded().as_ns()
    }

    /// Days since 1970, in UTC.
    pub const fn day_of(wall_ns: i64) -> i64 {
        wall_ns.div_euclid(Self::DAY_NS)
    }

    /// The name of a day, as 2026-11-24 (Hinnant's `civil_from_days`).
    pub fn day_name(day: i64) -> String {
        let z = day + 719_468;
        let era = z.div_euclid(146_097);
        let doe = z.rem_euclid(146_097);
        let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
        let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
        let mp = (5 * doy + 2) / 153;
        let (d, m) = (
            doy - (153 * mp + 2) / 5 + 1,
            if mp < 10 { mp + 3 } else { mp - 9 },
        );
        let y = yoe + era * 400 + i64::from(m <= 2);
        format!("{y:04}-{m:02}-{d:02}")
    }

    /// The day of a name.
    pub fn day_named(name: &str) -> Option<i64> {
        let mut parts = name.split('-').map(|part| part.parse::<i64>().ok());
        let (y, m, d) = (parts.next()??, parts.next()??, parts.next()??);
        let shifted = y - i64::from(m <= 2);
        let era = shifted.div_euclid(400);
        let yoe = shifted.rem_euclid(400);
        let doy = (153 * (if m > 2 { m - 3 } else { m + 9 }) + 2) / 5 + d - 1;
        let day = era * 146_097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719_468;
        (Self::day_name(day) == name).then_some(day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_is_a_step_and_one_that_is_slewed_is_not() {
        let mut calendar = Calendar::default();
        let at = |s| Time::from_ns(0) + Delta::secs(s);
        let wall = |s: i64| s * 1_000_000_000;
        assert_eq!(calendar.look(at(0), wall(1_000)), None);
        assert_eq!(calendar.look(at(60), wall(1_061)), None);
        assert_eq!(calendar.label(at(30)), wall(1_031));
        assert_eq!(
            calendar.look(at(120), wall(521)),
            Some(Step(Delta::secs(-600)))
        );
        assert_eq!(calendar.label(at(130)), wall(531));
    }

    #[test]
    fn days_have_names_and_come_back() {
        assert_eq!(Calendar::day_name(0), "1970-01-01");
        assert_eq!(Calendar::day_name(20_781), "2026-11-24");
        for day in (-800_000..800_000).step_by(97) {
            assert_eq!(
                Calendar::day_named(&Calendar::day_name(day)),
                (day > -719_528).then_some(day)
            );
        }
        for name in ["2026-13-01", "2026-1-1", "x", "2026-02-30", ""] {
            assert_eq!(Calendar::day_named(name), None, "{name}");
        }
    }
}
