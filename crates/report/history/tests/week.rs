//! Seven days in virtual time: every episode is found with its culprit and direction, none is invented, memory and disk stay within bounds.
//!
//! Packets come from `week/world.rs`, which knows nothing of the detector, and go the way of the live monitor: shard, judged every minute,
//! gathered to spans, joined to episodes, kept in a history. Seeds of [`TUNING`] were looked at while the detector was made, those of
//! [`KEPT`] were not.

#[path = "week/world.rs"]
mod world;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use unbloat_health::Health;
use unbloat_history::{History, Retention};
use unbloat_monitor::{
    Calendar, Change, Episode, Episodes, Event, EventKind, Gather, Params, Record, Weeks,
};
use unbloat_run::{RunInfo, RunReader};
use unbloat_trace::{Output, Params as TraceParams, Shard};
use unbloat_units::{Bytes, Delta, Direction, Time};
use world::{Injected, MINUTE, World};

const TUNING: [u64; 2] = [1, 2];
const KEPT: [u64; 2] = [0x5eed_0001, 0x5eed_0002];
/// Wall clock at the start: 2026-11-02, a Monday.
const START_NS: i64 = 20_759 * 86_400_000_000_000;
const DISK: Bytes = Bytes::mib(4);

/// Counts what is allocated.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);

// SAFETY: it hands everything to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The monitor without its host.
struct Monitor {
    shard: Shard,
    gather: Gather,
    episodes: Episodes,
    found: Vec<Episode>,
    history: History,
}

fn label(at: Time) -> i64 {
    START_NS + at.as_ns()
}

impl Monitor {
    fn new(folder: &std::path::Path) -> Monitor {
        let params = TraceParams {
            max_flows: 4_096,
            standing_of_all_flows: true,
            ..TraceParams::default()
        };
        let mut shard = Shard::new(Arc::new(params), Vec::new(), Time::from_ns(0));
        shard.set_summary_only();
        let info = RunInfo::new("unbloat monitor", "0", Vec::new());
        let retention = Retention {
            disk: DISK,
            full_days: 2,
            ten_minute_days: 2,
            ..Retention::default()
        };
        Monitor {
            shard,
            gather: Gather::new(Delta::ms(60)),
            episodes: Episodes::new(Params::default()),
            found: Vec::new(),
            history: History::open(folder, retention, info).unwrap(),
        }
    }

    fn take(&mut self) {
        let mut output = Output::default();
        std::mem::swap(self.shard.output(), &mut output);
        self.gather.take(&output);
    }

    fn minute(&mut self, world: &mut World, end: Time) {
        loop {
            let more = world.run_until(end);
            self.shard.process(&world.batch, 0..world.batch.packets);
            while self.shard.end_batch(&world.batch, 4_096).is_some() {}
            self.take();
            if !more {
                break;
            }
        }
        self.shard.judge(world.packets());
        self.take();
        let at = |ns: i64| Time::from_ns(ns);
        let span = self
            .gather
            .close((end, MINUTE), &Health::default(), at, |_, _| None);
        let now_ns = label(end);
        for change in self.episodes.take(&span) {
            if let Change::Ended(episode) = change {
                let event = Event::of_episode(&episode, true, label);
                self.history.add(Record::Event(event), now_ns).unwrap();
                self.found.push(episode);
            }
        }
        for record in Record::of_span(&span, label(span.start())) {
            self.history.add(record, now_ns).unwrap();
        }
    }
}

fn matches(one: &Injected, episode: &Episode) -> bool {
    one.direction == episode.direction
        && episode.start < one.stop + Delta::secs(3)
        && episode.end > one.start
}

fn week(seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let mut world = World::new(seed);
    let mut monitor = Monitor::new(folder.path());
    let mut memory = Vec::new();
    for minute in 1..=7 * 1_440 {
        let end = Time::from_ns(0) + Delta::secs(60 * minute);
        monitor.minute(&mut world, end);
        if minute % 10 == 0 {
            monitor.history.save(label(end)).unwrap();
            let size = monitor.history.size().unwrap();
            assert!(size <= DISK, "seed {seed}, minute {minute}: {size} on disk");
        }
        if minute % 1_440 == 700 {
            // Plans of the world shrink meanwhile: what is left is the monitor's.
            memory.push(LIVE.load(Ordering::Relaxed));
        }
    }
    for change in monitor.episodes.end() {
        if let Change::Ended(episode) = change {
            monitor.found.push(episode);
        }
    }
    judge(seed, &world.injected, &monitor.found);
    let (early, late) = (memory[1], memory[6]);
    assert!(
        late as f64 <= 1.1 * early as f64,
        "seed {seed}: memory grows: {memory:?}"
    );
    kept(seed, &monitor.history, &world.injected);
    println!(
        "seed {seed}: {} packets, {} episodes found, {} MB live after two days, {} MB after seven, {} on disk",
        world.packets(),
        monitor.found.len(),
        early / 1_000_000,
        late / 1_000_000,
        monitor.history.size().unwrap()
    );
}

/// All that was put in and nothing else.
fn judge(seed: u64, injected: &[Injected], found: &[Episode]) {
    let mut faults = Vec::new();
    for one in injected {
        let hits: Vec<&Episode> = found
            .iter()
            .filter(|episode| matches(one, episode))
            .collect();
        match hits[..] {
            [hit] => {
                let culprit = hit.shares().first().map(|first| first.server.clone());
                if culprit.as_ref() != Some(&one.server) {
                    faults.push(format!("culprit {culprit:?} in place of {}", one.server));
                }
                let late = hit.start.since(one.start);
                let over = hit.end.since(one.stop);
                // Reno's last loss may leave a queue that nobody feels, which grows again by a segment a round trip.
                if late > Delta::secs(5) || over > Delta::secs(5) || over < Delta::secs(-8) {
                    faults.push(format!("begins {late} late, ends {over} late: {one:?}"));
                }
            }
            [] => faults.push(format!("not found: {one:?}")),
            _ => faults.push(format!("found {} times: {one:?}", hits.len())),
        }
    }
    for episode in found {
        if !injected.iter().any(|one| matches(one, episode)) {
            faults.push(format!("invented: {episode:?}"));
        }
    }
    assert!(faults.is_empty(), "seed {seed}: {faults:#?}");
}

/// The history has the same episodes after it was thinned and opened again, and the time that was watched.
fn kept(seed: u64, history: &History, injected: &[Injected]) {
    let mut records = Vec::new();
    for day in history.days().unwrap() {
        records.extend(history.day(day).unwrap());
    }
    let episodes = records.iter().filter(
        |record| matches!(record, Record::Event(event) if event.kind == EventKind::Episode),
    );
    assert_eq!(episodes.count(), injected.len(), "seed {seed}");
    let first = Calendar::day_name(history.days().unwrap()[0]);
    let run = RunReader::open(&history.folder().join(first)).unwrap();
    let headline = run.info().headline().unwrap();
    assert!(headline.contains(" of bufferbloat"), "{headline}");
    let weeks = Weeks::of(&records, START_NS + 7 * 86_400_000_000_000 - 1);
    for direction in Direction::BOTH {
        let week = &weeks.this[direction];
        assert!(
            (week.watched_s - 7.0 * 86_400.0).abs() < 120.0,
            "seed {seed}: {week:?}"
        );
        let lasted: f64 = injected
            .iter()
            .filter(|one| one.direction == direction)
            .map(|one| one.stop.since(one.start).as_secs())
            .sum();
        assert!(
            week.standing_s > 0.7 * lasted && week.standing_s < 1.1 * lasted + 1.0,
            "seed {seed}: {week:?}, {lasted} s"
        );
    }
}

/// One test: memory is counted for the whole process.
#[test]
fn a_week_holds_what_was_put_into_it_and_no_more() {
    for seed in TUNING.into_iter().chain(KEPT) {
        week(seed);
    }
}
