//! Small made-up runs of the commands that have a report.

use crate::synthetic::{HOSTILE, Value, push, table};
use Value::{N, T};
use std::path::{Path, PathBuf};
use unbloat_responsiveness::{Doubt, LoadedDirection, verdict};
use unbloat_run::{Clock, RunInfo, RunWriter, TraceStart};
use unbloat_table::Rows;
use unbloat_units::{Delta, Direction, Rate, Time};

type Row = Vec<(&'static str, Value)>;
type Filled = (&'static str, &'static str, Vec<Row>);

fn write(folder: PathBuf, mut info: RunInfo, filled: Vec<Filled>) -> PathBuf {
    info.clock = Clock::Virtual;
    let tables: Vec<_> = filled
        .iter()
        .map(|(name, columns, _)| table(name, columns))
        .collect();
    let mut writer = RunWriter::create(&folder, &info, &tables).expect("a fresh folder");
    for (at, (_, _, lines)) in filled.iter().enumerate() {
        let mut rows = Rows::new(&tables[at]);
        lines
            .iter()
            .for_each(|line| push(&tables[at], &mut rows, line));
        writer.append(at, &rows).expect("rows of that table");
    }
    writer.finish(&info).expect("a whole run")
}

fn info(program: &str) -> RunInfo {
    RunInfo::new(
        program,
        "0.1.0",
        vec![program.to_owned(), HOSTILE.to_owned()],
    )
}

const AVERAGES: &str = "u:point t:subject t:metric f:mean f:ci95";

fn average(point: f64, subject: &str, metric: &str, mean: f64) -> Row {
    vec![
        ("point", N(point)),
        ("subject", T(subject.to_owned())),
        ("metric", T(metric.to_owned())),
        ("mean", N(mean)),
        ("ci95", N(mean / 10.0)),
    ]
}

/// Seconds at which the flow of [`simulation`] is measured: nothing between 10 and 20.
fn measured_s() -> impl Iterator<Item = f64> {
    let tenths = (0..100).chain(200..300);
    tenths.map(|tenth| f64::from(tenth) / 10.0)
}

/// One run whose flow is silent for a third of the time.
pub fn simulation(dir: &Path) -> PathBuf {
    let windows = measured_s().map(|second| {
        vec![
            ("run", N(0.0)),
            ("time_ns", N(second * 1e9)),
            ("flow", T("download".to_owned())),
            ("cwnd_bytes", N(50_000.0 + 1_000.0 * second)),
            ("srtt_ms", N(40.0 + second)),
        ]
    });
    let backlog = |direction: &str, second: f64, bytes: f64| {
        vec![
            ("run", N(0.0)),
            ("time_ns", N(second * 1e9)),
            ("direction", T(direction.to_owned())),
            ("hop", N(0.0)),
            ("place", T("path".to_owned())),
            ("backlog_bytes", N(bytes)),
        ]
    };
    let down =
        (0..300).map(|tenth| backlog("down", f64::from(tenth) / 10.0, f64::from(tenth % 70) * 1e4));
    // At times of its own, with the flow's silence.
    let up = measured_s().map(|second| backlog("up", second + 0.03, 4e5));
    write(
        dir.join("simulation"),
        info("unbloat sim"),
        vec![
            (
                "averages",
                AVERAGES,
                vec![
                    average(0.0, "all", "goodput_bps", 19.4e6),
                    average(0.0, "down", "queue_delay_mean_ms", 338.0),
                    average(0.0, "down", "queue_delay_p95_ms", 398.0),
                    average(0.0, HOSTILE, "mos", 1.2),
                ],
            ),
            (
                "window_series",
                "u:run i:time_ns t:flow f:cwnd_bytes f:srtt_ms",
                windows.collect(),
            ),
            (
                "queue_series",
                "u:run i:time_ns t:direction u:hop t:place f:backlog_bytes",
                down.chain(up).collect(),
            ),
        ],
    )
}

/// Three queues, one of them without end.
pub fn sweep(dir: &Path) -> PathBuf {
    let queues = [
        ("droptail", 406.0, 19.4e6),
        ("fq_codel", 6.0, 19.2e6),
        (HOSTILE, 3.0, 18.9e6),
    ];
    let (mut points, mut averages) = (Vec::new(), Vec::new());
    for (at, (queue, ms, bps)) in queues.into_iter().enumerate() {
        let point = at as f64;
        points.push(vec![
            ("point", N(point)),
            ("key", T("link.down.queue.kind".to_owned())),
            ("value", T(queue.to_owned())),
        ]);
        averages.push(average(point, "all", "goodput_bps", bps));
        averages.push(average(point, "down", "queue_delay_mean_ms", ms));
        averages.push(average(point, "down", "queue_delay_p95_ms", ms * 1.5));
        averages.push(average(point, "up", "queue_delay_mean_ms", 0.002));
        averages.push(average(point, "all", "jain_index", 1.0));
    }
    write(
        dir.join("sweep"),
        info("unbloat sim"),
        vec![
            ("points", "u:point t:key t:value", points),
            ("averages", AVERAGES, averages),
        ],
    )
}

/// A live test of a line whose uploads bloat.
pub fn test(dir: &Path) -> PathBuf {
    let loaded = |direction, mbps, added_ms| LoadedDirection {
        direction,
        delivered: Rate::mbps(mbps),
        line: Rate::mbps(mbps),
        is_steady: true,
        added: Delta::ms(added_ms),
        added_p95: Delta::ms(added_ms + 20),
        idle_rtt: Delta::ms(20),
        unsent: None,
        is_starved: false,
        located: None,
    };
    let doubt = Doubt {
        is_fatal: false,
        reason: format!("the server calls itself {HOSTILE}"),
    };
    let both = vec![
        loaded(Direction::Down, 20, 12),
        loaded(Direction::Up, 5, 478),
    ];
    let mut info = info("unbloat test");
    info.trace_start = Some(TraceStart(Time::from_ns(1_700_000_000_000_000_000)));
    let findings = serde_json::json!({ "verdict": verdict(both, vec![doubt]) });
    info.options.insert("findings".to_owned(), findings);
    for (option, value) in [
        ("target", "https://box:4043/.well-known/nq"),
        ("host", "laptop"),
    ] {
        info.options.insert(option.to_owned(), value.into());
    }
    let stages = [
        ("idle", 0, 5),
        ("down", 5, 15),
        ("up", 15, 25),
        ("both", 25, 35),
    ];
    let mut number = 0.0;
    let marks = stages.map(|(load, begin, end)| {
        number += 1.0;
        vec![
            ("stage", N(number - 1.0)),
            ("load", T(load.to_owned())),
            ("stack", T("network_only".to_owned())),
            ("begin_ns", N(f64::from(begin) * 1e9)),
            ("end_ns", N(f64::from(end) * 1e9)),
            ("rtt_p50_ms", N(20.0)),
            ("loss_up", N(0.1)),
        ]
    });
    // In the third second of the upload a third is lost.
    let echoes = (0..350).map(|tenth| {
        let is_lost = (170..180).contains(&tenth) && tenth % 3 == 0;
        let stage = [50, 150, 250].iter().filter(|end| tenth >= **end).count();
        vec![
            ("run", N(0.0)),
            ("stage", N(stage as f64)),
            (
                "fate",
                T(if is_lost { "lost_up" } else { "back" }.to_owned()),
            ),
            (
                "rtt_ms",
                N([20.0, 32.0, 498.0, 510.0][stage] + f64::from(tenth % 7)),
            ),
            ("time_ns", N(f64::from(tenth) * 1e8)),
            ("added_down_ms", N(if tenth < 50 { 0.5 } else { 12.0 })),
            ("added_up_ms", N(if tenth < 150 { 0.5 } else { 478.0 })),
        ]
    });
    let goodput = (0..350).filter_map(|tenth| {
        let direction = match tenth {
            50..150 => "down",
            150..250 => "up",
            _ => return None,
        };
        Some(vec![
            ("run", N(0.0)),
            ("time_ns", N(f64::from(tenth) * 1e8)),
            ("direction", T(direction.to_owned())),
            ("delivered_bps", N(5e6)),
        ])
    });
    let in_flight = [6.0, 7.0, 8.0].map(|second| {
        vec![
            ("run", N(0.0)),
            ("time_ns", N(second * 1e9)),
            ("direction", T("down".to_owned())),
            ("in_flight_bytes", N(1e5 * second)),
        ]
    });
    write(
        dir.join("test"),
        info,
        vec![
            (
                "stages",
                "u:stage t:load t:stack i:begin_ns i:end_ns f:rtt_p50_ms f:loss_up",
                marks.to_vec(),
            ),
            (
                "echoes",
                "u:run i:time_ns u:stage t:fate f:rtt_ms f:added_down_ms f:added_up_ms",
                echoes.collect(),
            ),
            (
                "goodput_series",
                "u:run i:time_ns t:direction f:delivered_bps",
                goodput.collect(),
            ),
            (
                "in_flight_series",
                "u:run i:time_ns t:direction f:in_flight_bytes",
                in_flight.to_vec(),
            ),
        ],
    )
}

/// Two settings, tested three times each.
pub fn campaign(dir: &Path) -> PathBuf {
    let shown = ["down.delivered_bps", "down.added_p95_ms", "up.added_p95_ms"];
    let mut info = info("unbloat campaign");
    info.options
        .insert("shown".to_owned(), serde_json::json!(shown));
    let mut medians = Vec::new();
    for (point, title, ms) in [(0.0, "queue=as is", 239.0), (1.0, "queue=cake", 5.0)] {
        for (load, subject, metric, median) in [
            ("down", "all", "added_mean_ms", ms / 2.0),
            ("up", "all", "added_mean_ms", ms),
            ("down", "down", "delivered_bps", 20e6),
            ("down", "down", "added_p95_ms", ms),
            ("up", "up", "added_p95_ms", ms * 1.5),
        ] {
            medians.push(vec![
                ("point", N(point)),
                ("title", T(title.to_owned())),
                ("load", T(load.to_owned())),
                ("subject", T(subject.to_owned())),
                ("metric", T(metric.to_owned())),
                ("runs", N(3.0)),
                ("median", N(median)),
                ("min", N(median * 0.9)),
                ("max", N(median * 1.2)),
            ]);
        }
    }
    let columns = "u:point t:title t:load t:subject t:metric u:runs f:median f:min f:max";
    write(
        dir.join("campaign"),
        info,
        vec![("campaign", columns, medians)],
    )
}

/// A path of three hops, whose last has the queue.
pub fn location(dir: &Path) -> PathBuf {
    let hops = [(0.0, 1.0, 1.5), (1.0, 1.0, 1.25), (3.0, 9.0, 89.0)].map(|(hop, idle, loaded)| {
        vec![
            ("load", T("up".to_owned())),
            ("hop", N(hop)),
            ("address", T(format!("10.0.0.{hop}"))),
            ("kind", T("plain".to_owned())),
            ("is_far_end", Value::B(hop == 3.0)),
            ("idle_p50_ms", N(idle)),
            ("loaded_p50_ms", N(loaded)),
            ("persisting_ms", N(loaded - idle)),
        ]
    });
    let found = vec![
        ("finding", T("queue".to_owned())),
        (
            "text",
            T(format!(
                "During upload: the queue is at {HOSTILE}\n  confidence high"
            )),
        ),
    ];
    write(
        dir.join("location"),
        info("unbloat locate"),
        vec![
            (
                "hops",
                "t:load u:hop t:address t:kind b:is_far_end f:idle_p50_ms f:loaded_p50_ms f:persisting_ms",
                hops.to_vec(),
            ),
            ("locations", "t:finding t:text", vec![found]),
        ],
    )
}
