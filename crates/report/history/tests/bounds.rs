//! The folder: its bound holds, what a killed process left is read, days are thinned and deleted by their age.

use std::fs;
use std::io::Write;
use std::path::Path;
use unbloat_history::{History, HistoryError, Retention};
use unbloat_monitor::{Event, EventKind, LayerDelay, NetworkDelay, Record};
use unbloat_run::RunInfo;
use unbloat_units::{Bytes, Direction};

const DAY_NS: i64 = 86_400_000_000_000;
const MINUTE_NS: i64 = 60_000_000_000;
const START_NS: i64 = 20_759 * DAY_NS;

fn open(folder: &Path, retention: Retention) -> History {
    let info = RunInfo::new("unbloat monitor", "0", Vec::new());
    History::open(folder, retention, info).unwrap()
}

/// A full minute: as many networks and layers as there can be, whose numbers hardly compress.
fn minute(history: &mut History, number: i64, rng: &mut fastrand::Rng) {
    let now_ns = START_NS + number * MINUTE_NS;
    for n in 0..8 {
        let network = NetworkDelay {
            start_ns: now_ns,
            span_ms: 60_000,
            direction: if n % 2 == 0 {
                Direction::Up
            } else {
                Direction::Down
            },
            network: format!("{}.{}.{}.0/24", rng.u8(..), rng.u8(..), rng.u8(..)),
            flows: rng.u64(..),
            measured_s: rng.f64(),
            standing_s: rng.f64(),
            sustained_ms: Some(rng.f64() * 300.0),
        };
        history.add(Record::Network(network), now_ns).unwrap();
    }
    for layer in ["socket", "qdisc", "driver", "below"] {
        let layer = LayerDelay {
            start_ns: now_ns,
            span_ms: 60_000,
            layer: layer.to_owned(),
            mean_ms: rng.f64(),
            p95_ms: Some(rng.f64()),
            is_measured: true,
        };
        history.add(Record::Layer(layer), now_ns).unwrap();
    }
}

fn event(now_ns: i64) -> Record {
    Record::Event(Event::other(
        EventKind::Started,
        now_ns,
        format!("at {now_ns}"),
    ))
}

#[test]
fn the_disk_bound_holds_and_the_oldest_days_go_first() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Bytes::mib(4);
    let retention = Retention {
        disk,
        ..Retention::default()
    };
    let mut history = open(folder.path(), retention);
    let mut rng = fastrand::Rng::with_seed(1);
    let mut days = Vec::new();
    for number in 0..12 * 1_440 {
        minute(&mut history, number, &mut rng);
        if number % 30 == 29 {
            history.save(START_NS + number * MINUTE_NS).unwrap();
            history
                .put(
                    "index.html",
                    &[b'x'; 200_000],
                    START_NS + number * MINUTE_NS,
                )
                .unwrap();
            let size = history.size().unwrap();
            assert!(size <= disk, "minute {number}: {size}");
            days = history.days().unwrap();
        }
    }
    assert_eq!(days.last(), Some(&(20_759 + 11)), "today stays");
    assert!(days.len() > 2 && days.len() < 12, "{days:?}");
    assert!(
        days.windows(2).all(|two| two[1] == two[0] + 1),
        "the oldest went: {days:?}"
    );
}

#[test]
fn days_are_thinned_at_their_age_and_then_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let retention = Retention {
        full_days: 2,
        ten_minute_days: 2,
        hour_days: 2,
        disk: Bytes::mib(64),
    };
    let mut history = open(folder.path(), retention);
    let mut rng = fastrand::Rng::with_seed(2);
    for day in 0..8 {
        for number in 0..1_440 {
            minute(&mut history, day * 1_440 + number, &mut rng);
        }
        history
            .save(START_NS + day * DAY_NS + 1_439 * MINUTE_NS)
            .unwrap();
    }
    let layers = |day: i64| {
        let records = history.day(20_759 + day).unwrap();
        records
            .iter()
            .filter(|record| matches!(record, Record::Layer(_)))
            .count()
    };
    let counts: Vec<usize> = (0..8).map(layers).collect();
    assert_eq!(
        counts,
        [0, 0, 4 * 24, 4 * 24, 4 * 144, 4 * 144, 4 * 1_440, 4 * 1_440]
    );
}

#[test]
fn what_a_killed_process_left_is_there_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut history = open(folder.path(), Retention::default());
    let at = |n: i64| START_NS + n * MINUTE_NS;
    for n in 0..10 {
        history.add(event(at(n)), at(n)).unwrap();
    }
    history.save(at(10)).unwrap();
    for n in 10..20 {
        history.add(event(at(n)), at(n)).unwrap();
    }
    // Killed: while it wrote a line, or between writing a run and putting it in its place.
    drop(history);
    let journal = folder.path().join("journal-2026-11-02.jsonl");
    let mut lines = fs::OpenOptions::new().append(true).open(&journal).unwrap();
    lines.write_all(b"{\"record\":\"event\",\"ki").unwrap();
    fs::create_dir(folder.path().join(".new-2026-11-02")).unwrap();
    // Of others, whatever they are called.
    let others = [".git", ".new-house", ".old-photos"];
    for name in others {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    fs::rename(
        folder.path().join("2026-11-02"),
        folder.path().join(".old-2026-11-02"),
    )
    .unwrap();
    let mut second = open(folder.path(), Retention::default());
    let starts = |of: &History| -> Vec<i64> {
        let records = of.day(20_759).unwrap();
        records
            .iter()
            .map(|record| (record.start_ns() - START_NS) / MINUTE_NS)
            .collect()
    };
    assert_eq!(starts(&second), (0..20).collect::<Vec<_>>());
    second.add(event(at(20)), at(20)).unwrap();
    second.save(at(20)).unwrap();
    assert_eq!(starts(&second), (0..21).collect::<Vec<_>>());
    // A journal whose records the run has already.
    drop(second);
    let again = serde_json::to_string(&event(at(20))).unwrap() + "\n";
    fs::write(&journal, again).unwrap();
    let third = open(folder.path(), Retention::default());
    assert_eq!(starts(&third), (0..21).collect::<Vec<_>>());
    let names: Vec<String> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with('.') && !others.contains(&&name[..]))
        .collect();
    assert!(others.iter().all(|name| folder.path().join(name).exists()));
    assert!(names.is_empty(), "{names:?}");
}

#[test]
fn a_clock_that_is_set_back_returns_to_its_day() {
    let folder = tempfile::tempdir().unwrap();
    let mut history = open(folder.path(), Retention::default());
    for now_ns in [
        START_NS,
        START_NS + DAY_NS,
        START_NS + 1,
        START_NS + DAY_NS + 1,
    ] {
        history.add(event(now_ns), now_ns).unwrap();
    }
    history.save(START_NS + DAY_NS + 2).unwrap();
    for day in [20_759, 20_760] {
        assert_eq!(history.day(day).unwrap().len(), 2);
    }
}

#[test]
fn a_folder_has_one_writer_and_enough_room() {
    let folder = tempfile::tempdir().unwrap();
    let history = open(folder.path(), Retention::default());
    let info = || RunInfo::new("unbloat monitor", "0", Vec::new());
    let second = History::open(folder.path(), Retention::default(), info());
    assert!(matches!(second, Err(HistoryError::Taken(_))));
    drop(history);
    let small = Retention {
        disk: Bytes::new(1_000),
        ..Retention::default()
    };
    assert!(matches!(
        History::open(folder.path(), small, info()),
        Err(HistoryError::Disk(_))
    ));
}
