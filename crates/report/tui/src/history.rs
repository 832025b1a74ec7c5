//! What a watcher remembers: rates need two snapshots, curves need many.

use std::collections::{BTreeMap, VecDeque};
use unbloat_experiment::outcome::Snapshot;
use unbloat_units::{Both, Bytes, Delta, Direction, Rate, Time};

/// Snapshots that curves show: more than terminals have columns.
const REMEMBERED: usize = 500;

/// Rates are taken over this long, or a little longer.
const RATE_SPAN: Delta = Delta::ms(1_000);

/// Larger values are drawn as this one.
const LARGEST: u64 = 1 << 53;

/// Flows that are remembered; those beyond have no rate.
const FLOWS: usize = 1_000;

/// A run as far as it was watched.
#[derive(Clone, Debug, Default)]
pub struct Live {
    title: String,
    now: Snapshot,
    paths: Both<PathHistory>,
    flows: BTreeMap<String, Meter>,
}

#[derive(Clone, Debug, Default)]
struct PathHistory {
    meter: Meter,
    drops: VecDeque<(Time, u64)>,
    backlog: VecDeque<u64>,
    rate: VecDeque<u64>,
    /// Where the path says it.
    wait: VecDeque<Delta>,
}

/// Counts of bytes at times, of late.
#[derive(Clone, Debug, Default)]
struct Meter(VecDeque<(Time, Bytes)>);

impl Meter {
    fn push(&mut self, at: Time, delivered: Bytes) {
        self.0.push_back((at, delivered));
        forget(&mut self.0, at);
    }

    fn rate(&self) -> Option<Rate> {
        let (&(from, before), &(to, now)) = (self.0.front()?, self.0.back()?);
        Bytes::new(now.as_u64().saturating_sub(before.as_u64())).over(to.since(from))
    }
}

/// Keeps the last entry that is at least as old as the span, and all after it.
fn forget<T>(entries: &mut VecDeque<(Time, T)>, now: Time) {
    while entries
        .get(1)
        .is_some_and(|(at, _)| now.since(*at) >= RATE_SPAN)
    {
        entries.pop_front();
    }
}

impl Live {
    pub fn new(title: impl Into<String>) -> Live {
        Live {
            title: title.into(),
            ..Live::default()
        }
    }

    /// Takes in what is seen now. A snapshot that is no newer than the last one changes nothing.
    pub fn take(&mut self, snapshot: Snapshot) {
        let is_first = self.paths.down.backlog.is_empty();
        if !is_first && snapshot.at <= self.now.at {
            return;
        }
        for (path, seen) in self.paths.iter_mut().zip(&snapshot.paths) {
            path.meter.push(snapshot.at, seen.delivered_bytes);
            path.drops.push_back((snapshot.at, seen.drops));
            forget(&mut path.drops, snapshot.at);
            remember(&mut path.backlog, seen.backlog_bytes.as_u64().min(LARGEST));
            remember(
                &mut path.rate,
                path.meter.rate().map_or(0, Rate::as_bps).min(LARGEST),
            );
            if let Some(wait) = seen.wait {
                remember(&mut path.wait, wait);
            }
        }
        let names: Vec<&str> = snapshot
            .flows
            .iter()
            .map(|flow| flow.name.as_str())
            .collect();
        self.flows.retain(|name, _| names.contains(&name.as_str()));
        for flow in snapshot.flows.iter().take(FLOWS) {
            let meter = self.flows.entry(flow.name.clone()).or_default();
            meter.push(snapshot.at, flow.delivered_bytes);
        }
        self.now = snapshot;
    }

    pub fn title(&self) -> &str {
        &self.title
    }

    /// The last snapshot.
    pub fn now(&self) -> &Snapshot {
        &self.now
    }

    /// How long it will go on, if that is known.
    pub fn left(&self) -> Option<Delta> {
        let duration = self.now.duration?;
        Some((duration - self.now.at.since(Time::from_ns(0))).max(Delta::ZERO))
    }

    /// Of a direction over the last second; none before the second snapshot.
    pub fn path_rate(&self, direction: Direction) -> Option<Rate> {
        self.paths[direction].meter.rate()
    }

    /// Drops of a direction within the last second.
    pub fn late_drops(&self, direction: Direction) -> u64 {
        let drops = &self.paths[direction].drops;
        let ends = drops.front().zip(drops.back());
        ends.map_or(0, |((_, before), (_, now))| now.saturating_sub(*before))
    }

    pub fn flow_rate(&self, name: &str) -> Option<Rate> {
        self.flows.get(name)?.rate()
    }

    /// Bytes on the path at each snapshot, the newest last.
    pub fn backlogs(&self, direction: Direction) -> &VecDeque<u64> {
        &self.paths[direction].backlog
    }

    /// 95th percentile of the wait of a direction over the remembered snapshots, the nearest rank.
    pub fn wait_p95(&self, direction: Direction) -> Option<Delta> {
        let mut waits: Vec<Delta> = self.paths[direction].wait.iter().copied().collect();
        waits.sort_unstable();
        let place = (waits.len() * 95).div_ceil(100);
        waits.get(place.checked_sub(1)?).copied()
    }

    /// Bits per second at each snapshot, the newest last.
    pub fn rates(&self, direction: Direction) -> &VecDeque<u64> {
        &self.paths[direction].rate
    }
}

fn remember<T>(history: &mut VecDeque<T>, value: T) {
    if history.len() == REMEMBERED {
        history.pop_front();
    }
    history.push_back(value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_experiment::outcome::{FlowSnapshot, PathSnapshot};

    fn at(ms: i64, delivered: u64, drops: u64) -> Snapshot {
        let path = PathSnapshot {
            delivered_bytes: Bytes::new(delivered),
            drops,
            ..PathSnapshot::default()
        };
        Snapshot {
            at: Time::from_ns(ms * 1_000_000),
            duration: Some(Delta::secs(10)),
            paths: Both::new(path, PathSnapshot::default()),
            flows: vec![FlowSnapshot {
                name: "a".into(),
                delivered_bytes: Bytes::new(delivered / 2),
                ..FlowSnapshot::default()
            }],
            lateness: None,
        }
    }

    #[test]
    fn rates_and_drops_are_those_of_the_last_second() {
        let mut live = Live::new("x");
        assert_eq!(live.path_rate(Direction::Down), None);
        for (ms, bytes, drops) in [(0, 0, 0), (1_000, 125_000, 5), (2_000, 1_125_000, 7)] {
            live.take(at(ms, bytes, drops));
        }
        assert_eq!(
            live.path_rate(Direction::Down).map(Rate::as_bps),
            Some(8_000_000)
        );
        assert_eq!(live.flow_rate("a").map(Rate::as_bps), Some(4_000_000));
        assert_eq!(
            (
                live.late_drops(Direction::Down),
                live.late_drops(Direction::Up)
            ),
            (2, 0)
        );
        assert_eq!(live.left(), Some(Delta::secs(8)));
    }

    #[test]
    fn an_old_snapshot_and_a_counter_that_falls_do_no_harm() {
        let mut live = Live::new("x");
        live.take(at(1_000, 1_000_000, 9));
        live.take(at(500, 2_000_000, 10));
        assert_eq!(live.now().at, Time::from_ns(1_000_000_000));
        live.take(at(1_500, 0, 0));
        assert_eq!(live.path_rate(Direction::Down).map(Rate::as_bps), Some(0));
        assert_eq!(live.late_drops(Direction::Down), 0);
    }

    #[test]
    fn the_percentile_of_waits_is_over_all_that_is_remembered() {
        let mut live = Live::new("x");
        assert_eq!(live.wait_p95(Direction::Down), None);
        for ms in 1..=100 {
            let mut seen = at(ms, 0, 0);
            seen.paths.down.wait = Some(Delta::ms(101 - ms));
            live.take(seen);
        }
        assert_eq!(live.wait_p95(Direction::Down), Some(Delta::ms(95)));
        assert_eq!(live.wait_p95(Direction::Up), None);
    }

    #[test]
    fn memory_does_not_grow_with_time() {
        let mut live = Live::new("x");
        (0..5_000).for_each(|ms| live.take(at(ms, 0, 0)));
        assert_eq!(live.backlogs(Direction::Down).len(), REMEMBERED);
        assert!(live.paths.down.meter.0.len() <= 1_002);
    }
}
