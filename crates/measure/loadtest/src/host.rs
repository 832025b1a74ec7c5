//! How busy this machine is.

use std::fs;

/// Ticks since boot of all CPUs, and of this process; the kernel counts a hundred a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ticks {
    total: f64,
    idle: f64,
    stolen: f64,
    own: Option<f64>,
    cpus: f64,
}

impl Ticks {
    /// As it is now; None where /proc does not tell.
    pub fn now() -> Option<Ticks> {
        let stat = fs::read_to_string("/proc/stat").ok()?;
        let own = fs::read_to_string("/proc/self/stat").ok();
        let mut ticks = Ticks::parse(&stat)?;
        ticks.own = own.as_deref().and_then(own_ticks);
        Some(ticks)
    }

    fn parse(stat: &str) -> Option<Ticks> {
        let first = stat.lines().next()?.strip_prefix("cpu ")?;
        let fields: Vec<f64> = first
            .split_whitespace()
            .map_while(|field| field.parse().ok())
            .collect();
        let is_cpu = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
        Some(Ticks {
            // Guests' time, behind these eight, is within that of users.
            total: fields.iter().take(8).sum(),
            idle: fields.get(3)? + fields.get(4)?,
            stolen: *fields.get(7)?,
            own: None,
            cpus: stat.lines().filter(is_cpu).count() as f64,
        })
    }

    /// Shares of busy and stolen time since `earlier`, and the CPUs that this process took.
    pub fn since(&self, earlier: &Ticks) -> (Option<f64>, Option<f64>, Option<f64>) {
        let total = self.total - earlier.total;
        if total <= 0.0 {
            return (None, None, None);
        }
        let share = |later: f64, before: f64| ((later - before) / total).clamp(0.0, 1.0);
        let own = self.own.zip(earlier.own);
        let own =
            own.map(|(later, before)| (later - before).max(0.0) / (total / self.cpus.max(1.0)));
        let busy = 1.0 - share(self.idle, earlier.idle);
        (Some(busy), Some(share(self.stolen, earlier.stolen)), own)
    }
}

/// Fields 14 and 15 of proc(5), behind a name that may hold anything.
fn own_ticks(stat: &str) -> Option<f64> {
    let (_, behind) = stat.rsplit_once(')')?;
    let mut fields = behind.split_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<f64>().ok();
    Some(next()? + next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_time_between() {
        let before =
            Ticks::parse("cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1\ncpu1 1\nintr 5").unwrap();
        let after = Ticks::parse("cpu  150 0 130 900 0 0 0 20 0 0\ncpu0 1\ncpu1 1\n").unwrap();
        let (busy, stolen, own) = after.since(&before);
        assert_eq!((busy, stolen, own), (Some(0.5), Some(0.1), None));
        assert_eq!(before.since(&before), (None, None, None));
    }

    #[test]
    fn a_process_may_have_any_name() {
        let stat = "7 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 30 12 0 0";
        assert_eq!(own_ticks(stat), Some(42.0));
    }
}
