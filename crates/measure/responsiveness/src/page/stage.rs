//! Numbers of each stage.

use super::{PageLoad, PageRun, PageStage};
use crate::baseline::standing;
use crate::fields::{bps_or_null, ms_or_null};
use crate::load::{self, Passed, STANDS, line_rate};
use serde::Serialize;
use std::collections::BTreeMap;
use unbloat_stats::quantile;
use unbloat_units::{Both, Delta, Direction, Rate};

/// What a load needs until its rate and its queue stand: this share of its stage, or this long.
const RAMP_SHARE: f64 = 0.4;
const RAMP_MS: f64 = 2_000.0;
/// What messages may wait longer than the load's own segments do: the larger of a time and a third of their delay. The kernel's round trips are
/// smoothed, and those of a load with a queue of its own are longer, not shorter.
const BEYOND_KERNEL: Delta = Delta::ms(20);
const BEYOND_KERNEL_PART: i64 = 3;
/// Of the server's kernel, in a stage.
const LEAST_ROUND_TRIPS: usize = 8;
/// No page has longer ones.
const LONGEST_STAGE_S: f64 = 600.0;
/// A message that overtook another left so much later and came so much earlier: less is the order in which a browser hands over.
const LATER_INTERVALS: f64 = 2.0;
const EARLIER_MS: f64 = 10.0;

/// Of a message: its number, the header of its WebSocket frame, TLS 1.3's record.
const MESSAGE_BYTES: Both<u64> = Both {
    down: 8 + 2 + 22,
    up: 8 + 6 + 22,
};

/// Headers of IP and TCP that come with it: each is a packet of its own, and its answer is acknowledged by another.
const MESSAGE_HEADERS: Both<u64> = Both { down: 52, up: 104 };

/// One stage, as it is judged.
#[derive(Clone, Debug, Serialize)]
pub struct StageNumbers {
    pub name: PageLoad,
    /// Of what counts.
    pub seconds: f64,
    #[serde(rename = "added_mean_ms", with = "ms_or_null")]
    mean: Option<Delta>,
    #[serde(rename = "added_p50_ms", with = "ms_or_null")]
    p50: Option<Delta>,
    #[serde(rename = "added_p95_ms", with = "ms_or_null")]
    p95: Option<Delta>,
    #[serde(rename = "added_p99_ms", with = "ms_or_null")]
    p99: Option<Delta>,
    pub samples: usize,
    /// Left out: held back by their own connection.
    pub held: usize,
    pub unanswered: usize,
    /// The last third waited clearly longer than the first: the buffer is larger than the load could fill.
    pub growing: bool,
    #[serde(rename = "down_bps", with = "bps_or_null")]
    down: Option<Rate>,
    #[serde(rename = "up_bps", with = "bps_or_null")]
    up: Option<Rate>,
    /// What messages take of the line beside their bytes, bit/s.
    #[serde(skip)]
    headers: Both<f64>,
    #[serde(skip)]
    is_steady: Option<bool>,
    /// Mean of what the load's own segments waited, by the server's kernel.
    #[serde(skip)]
    kernel: Option<Delta>,
}

impl StageNumbers {
    pub fn mean(&self) -> Option<Delta> {
        self.mean
    }

    pub fn p95(&self) -> Option<Delta> {
        self.p95
    }

    /// What messages waited longer than the load's own segments, if it is more than those round trips are uncertain: in the browser, or beyond a
    /// proxy, which ends the connections that the server's kernel sees.
    pub fn beyond_kernel(&self) -> Option<Delta> {
        let mean = self.mean?;
        let beyond = mean - self.kernel?;
        (beyond > BEYOND_KERNEL.max(mean / BEYOND_KERNEL_PART)).then_some(beyond)
    }

    pub fn rates(&self) -> Both<Option<Rate>> {
        Both::new(self.down, self.up)
    }

    /// Of the line, all packets with their headers.
    pub fn line(&self, direction: Direction) -> Option<Rate> {
        let load = line_rate(direction, self.rates()[direction]?, Passed::default());
        let all = load.as_bps_f64() + self.headers[direction];
        Some(Rate::from_bps_f64(all))
    }

    pub fn is_steady(&self) -> bool {
        self.is_steady.unwrap_or(true)
    }
}

impl PageLoad {
    pub fn loads(self) -> Both<bool> {
        Both::new(
            matches!(self, PageLoad::Down | PageLoad::Both),
            matches!(self, PageLoad::Up | PageLoad::Both),
        )
    }
}

type Sample = (u16, f64, f64);

/// The round trip of the empty path.
#[derive(Clone, Copy, Debug)]
pub struct Base {
    pub rtt: Delta,
    /// How long a queue was before any load, if one stood.
    pub standing: Option<Delta>,
}

/// The empty path, and the numbers of all stages.
pub fn all(run: &PageRun) -> (Option<Base>, Vec<StageNumbers>) {
    let held = held(run);
    let counts = |at: &usize| !held[*at];
    let of_idle = run.stages.iter().find(|stage| stage.name == PageLoad::Idle);
    let base = of_idle.and_then(|stage| {
        let idle = within(run, window(stage));
        let mut idle: Vec<Delta> = idle.map(|at| delta(run.samples[at].2)).collect();
        let floor = run.samples.iter().map(|sample| delta(sample.2)).min()?;
        // Where a queue stood before any load, the run's floor is nearer to the empty path.
        let standing = standing(&mut idle, floor);
        let median = quantile(&mut idle, 0.5)?;
        let rtt = if standing.is_some() { floor } else { median };
        Some(Base { rtt, standing })
    });
    let base_ms = base.map(|base| base.rtt.as_ms());
    let stages = run.stages.iter().map(|stage| {
        let span = window(stage);
        let answered = within(run, span).count();
        let counting: Vec<Sample> = within(run, span)
            .filter(counts)
            .map(|at| run.samples[at])
            .collect();
        numbers(run, stage, base_ms, answered, &counting)
    });
    (base, stages.collect())
}

fn numbers(
    run: &PageRun,
    stage: &PageStage,
    base: Option<f64>,
    answered: usize,
    counting: &[Sample],
) -> StageNumbers {
    let (from, to) = window(stage);
    // Less than nothing is nothing.
    let fastest = fastest_of_rounds(run, from, counting).into_iter();
    let added = fastest.filter_map(|rtt| Some((rtt - base?).max(0.0)));
    let added: Vec<f64> = added.collect();
    let share = |share| quantile(&mut added.clone(), share).map(delta);
    let loads = stage.name.loads();
    let of_messages = |bytes: u64| answered as f64 * 8e3 * bytes as f64 / (to - from);
    let of = |direction, readings| {
        let carried = loads[direction]
            .then(|| rate(readings, from, to))
            .flatten()?;
        let all = carried.as_bps_f64() + of_messages(MESSAGE_BYTES[direction]);
        let all = Rate::from_bps_f64(all);
        // A load that never ran stays one.
        Some(if carried == Rate::ZERO { carried } else { all })
    };
    let alone = match (loads.down, loads.up) {
        (true, false) => Some(&run.down),
        (false, true) => Some(&run.up),
        _ => None,
    };
    StageNumbers {
        name: stage.name,
        seconds: (to - from) / 1e3,
        mean: (!added.is_empty()).then(|| delta(added.iter().sum::<f64>() / added.len() as f64)),
        p50: share(0.5),
        p95: share(0.95),
        p99: share(0.99),
        samples: counting.len(),
        held: answered - counting.len(),
        unanswered: run
            .unanswered
            .iter()
            .filter(|at| (from..to).contains(*at))
            .count(),
        growing: is_growing(counting, (from, to)),
        down: of(Direction::Down, &run.down),
        up: of(Direction::Up, &run.up),
        headers: MESSAGE_HEADERS.map(of_messages),
        is_steady: alone.and_then(|readings| {
            const HALF_MS: f64 = 500.0;
            let halves = fastest_of(HALF_MS, from, counting);
            let full = spread(readings, (from, to), HALF_MS, |part| {
                let wait = halves.get(&part).zip(base).map(|(rtt, base)| rtt - base);
                wait.is_some_and(|ms| ms >= STANDS.as_ms())
            });
            load::is_steady(full, spread(readings, (from, to), 1e3, |_| true))
        }),
        kernel: kernel(&run.round_trips, (from, to), base).filter(|_| loads.down),
    }
}

/// Mean of the round trips between two times, above the least of the run: that of the empty path, where the load never met it.
fn kernel(round_trips: &[(f64, f64)], (from, to): (f64, f64), base: Option<f64>) -> Option<Delta> {
    let trips = round_trips.iter().map(|trip| trip.1);
    let floor = trips.chain(base).min_by(f64::total_cmp)?;
    let within = round_trips
        .iter()
        .filter(|trip| (from..to).contains(&trip.0));
    let added: Vec<f64> = within.map(|trip| trip.1 - floor).collect();
    let mean = added.iter().sum::<f64>() / added.len() as f64;
    (added.len() >= LEAST_ROUND_TRIPS).then(|| delta(mean))
}

/// The fastest answer to each round of messages, one on each lane. A queue delays all of a round; what only some of them wait for is a retransmission,
/// or the browser, which has the load to handle as well.
fn fastest_of_rounds(run: &PageRun, from: f64, counting: &[Sample]) -> Vec<f64> {
    let round_ms = f64::from(run.watched.lanes.max(1)) * run.watched.interval_ms.max(1.0);
    fastest_of(round_ms, from, counting).into_values().collect()
}

/// The least round trip of the messages sent in each part of this length, in ms, by number of the part.
fn fastest_of(each: f64, from: f64, counting: &[Sample]) -> BTreeMap<u64, f64> {
    let mut parts: BTreeMap<u64, f64> = BTreeMap::new();
    for &(_, sent, rtt) in counting {
        let part = ((sent - from) / each) as u64;
        let fastest = parts.entry(part).or_insert(rtt);
        *fastest = fastest.min(rtt);
    }
    parts
}

/// The part of a stage that counts.
fn window(stage: &PageStage) -> (f64, f64) {
    let ramp = match stage.name {
        PageLoad::Idle => 0.0,
        _ => (RAMP_SHARE * (stage.end_ms - stage.start_ms)).min(RAMP_MS),
    };
    (stage.start_ms + ramp, stage.end_ms)
}

fn within(run: &PageRun, (from, to): (f64, f64)) -> impl Iterator<Item = usize> {
    let sent = run.samples.iter().enumerate();
    sent.filter(move |(_, sample)| (from..to).contains(&sample.1))
        .map(|(at, _)| at)
}

/// Which samples their own connection held back.
fn held(run: &PageRun) -> Vec<bool> {
    let arrival = |at: usize| run.samples[at].1 + run.samples[at].2;
    let mut order: Vec<usize> = (0..run.samples.len()).collect();
    order.sort_by(|a, b| arrival(*a).total_cmp(&arrival(*b)));
    let later = LATER_INTERVALS * run.watched.interval_ms;
    let enough = f64::from(run.watched.lanes.saturating_sub(1)) / 2.0;
    let mut found = vec![false; run.samples.len()];
    // Of what had arrived clearly before: when the newest message of each lane was sent.
    let mut newest: BTreeMap<u16, f64> = BTreeMap::new();
    let mut before = 0;
    for &at in &order {
        while arrival(order[before]) < arrival(at) - EARLIER_MS {
            let (lane, sent, _) = run.samples[order[before]];
            let known = newest.entry(lane).or_insert(sent);
            *known = known.max(sent);
            before += 1;
        }
        let (lane, sent, _) = run.samples[at];
        let overtook = newest
            .iter()
            .filter(|(other, newest)| **other != lane && **newest > sent + later);
        found[at] = overtook.count() as f64 >= enough.max(1.0);
    }
    found
}

fn is_growing(samples: &[Sample], (from, to): (f64, f64)) -> bool {
    let third = (to - from) / 3.0;
    let part = |begin: f64, end: f64| {
        let sent = samples
            .iter()
            .filter(move |sample| (begin..end).contains(&sample.1));
        median(sent.map(|sample| sample.2))
    };
    match (part(from, from + third), part(to - third, to)) {
        (Some(first), Some(last)) => last > 1.3 * first && last > first + 30.0,
        _ => false,
    }
}

/// Between two times; None if the counter was not read until the second.
fn rate(readings: &[(f64, f64)], from: f64, to: f64) -> Option<Rate> {
    let (first, last) = (readings.first()?, readings.last()?);
    let is_covered = first.0 <= from && last.0 >= to && to > from;
    let bytes = counted(readings, to) - counted(readings, from);
    is_covered.then(|| Rate::from_bps_f64(bytes.max(0.0) * 8e3 / (to - from)))
}

/// What a counter said at a time, in proportion between two readings.
fn counted(readings: &[(f64, f64)], at: f64) -> f64 {
    let after = readings.partition_point(|reading| reading.0 < at);
    match (
        after.checked_sub(1).and_then(|before| readings.get(before)),
        readings.get(after),
    ) {
        (Some(a), Some(b)) => a.1 + (b.1 - a.1) * (at - a.0) / (b.0 - a.0),
        (Some(only), None) | (None, Some(only)) => only.1,
        (None, None) => 0.0,
    }
}

/// Of rates of the parts of this length, in ms, that are wanted.
fn spread(
    readings: &[(f64, f64)],
    (from, to): (f64, f64),
    each: f64,
    is_wanted: impl Fn(u64) -> bool,
) -> Option<f64> {
    let lasts = (to - from).clamp(0.0, LONGEST_STAGE_S * 1e3);
    let parts = (0..(lasts / each) as u64).filter(|part| is_wanted(*part));
    let rates = parts.filter_map(|part| {
        let begin = from + part as f64 * each;
        rate(readings, begin, begin + each)
    });
    load::spread(rates.collect())
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    quantile(&mut values.collect::<Vec<_>>(), 0.5)
}

fn delta(ms: f64) -> Delta {
    Delta::from_secs_f64(ms / 1e3)
}
