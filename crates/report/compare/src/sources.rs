//! What is taken of each table. A function each; the meaning of tables and columns stands in docs/schema.md.

use crate::CompareError;
use crate::collect::{Collector, Piece, short};
use crate::course::Course;
use crate::estimate::{Estimate, is_number};
use crate::run::{Name, StageSpan};
use std::collections::BTreeMap;
use unbloat_table::ColumnData;
use unbloat_units::{Both, Direction};

/// A flow's delays count when it has so many round trips, and its rates, losses and windows when it carries so much.
const FEWEST_RTTS: f64 = 20.0;
const FEWEST_BYTES: f64 = 100_000.0;
/// A test has some ten stages.
const MOST_STAGES: usize = 1_000;
/// Of the time without load so much is drawn: in two tests the load begins at the same place.
const LEAD_NS: i64 = 2_500_000_000;

pub(crate) const POINTS: [&str; 3] = ["point", "key", "value"];
pub(crate) const RESULTS: [&str; 5] = ["point", "seed", "subject", "metric", "value"];
pub(crate) const MODEL: [&str; 6] = [
    "model",
    "load",
    "buffer_packets",
    "throughput_bps",
    "wait_mean_ms",
    "wait_p95_ms",
];
pub(crate) const QUEUE: [&str; 6] = [
    "time_ns",
    "direction",
    "hop",
    "place",
    "backlog_bytes",
    "backlog_packets",
];
pub(crate) const WINDOW: [&str; 5] = [
    "time_ns",
    "flow",
    "cwnd_bytes",
    "in_flight_bytes",
    "srtt_ms",
];
pub(crate) const USERS: [&str; 4] = [
    "added_down_p50_ms",
    "added_down_p95_ms",
    "added_down_p99_ms",
    "added_down_samples",
];
pub(crate) const RTT: [&str; 4] = ["side", "time_ns", "rtt_ms", "samples"];
pub(crate) const BANDWIDTH: [&str; 3] = ["side", "time_ns", "bandwidth_bps"];
pub(crate) const STAGES: [&str; 5] = ["stage", "load", "begin_ns", "judged_from_ns", "end_ns"];
pub(crate) const ECHOES: [&str; 5] = ["time_ns", "stage", "fate", "added_down_ms", "added_up_ms"];
pub(crate) const GOODPUT: [&str; 4] = ["time_ns", "stage", "direction", "delivered_bps"];
pub(crate) const MONITOR: [&str; 5] = [
    "start_ns",
    "direction",
    "standing_s",
    "loaded_s",
    "standing_p50_ms",
];
pub(crate) const DNS: [&str; 1] = ["latency_ms"];
pub(crate) const HTTP: [&str; 2] = ["first_byte_ms", "duration_ms"];
pub(crate) const SUMMARY: [&str; 5] = ["group", "metric", "value", "unit", "samples"];

/// What a flow needs for a column of its to be counted.
#[derive(Clone, Copy)]
enum Needs {
    Nothing,
    /// [`FEWEST_RTTS`] in this column.
    Rtts(&'static str),
    /// [`FEWEST_BYTES`] in this column.
    Bytes(&'static str),
}

macro_rules! of_flows {
    ($($name:literal $needs:expr;)*) => {
        const OF_FLOWS: &[(&str, Needs)] = &[$(($name, $needs)),*];
        pub(crate) const FLOWS: &[&str] = &[
            $($name,)* "start_ns", "end_ns", "payload_down_bytes", "payload_up_bytes", "packets_down", "packets_up",
            "retransmitted_down_packets", "retransmitted_up_packets", "rtt_down_samples", "rtt_up_samples", "limit_down", "limit_up",
        ];
    };
}

of_flows! {
    "handshake_up_ms" Needs::Nothing;
    "handshake_down_ms" Needs::Nothing;
    "rtt_down_min_ms" Needs::Rtts("rtt_down_samples");
    "rtt_down_p50_ms" Needs::Rtts("rtt_down_samples");
    "rtt_down_p95_ms" Needs::Rtts("rtt_down_samples");
    "added_down_p50_ms" Needs::Rtts("rtt_down_samples");
    "added_down_p95_ms" Needs::Rtts("rtt_down_samples");
    "added_down_p99_ms" Needs::Rtts("rtt_down_samples");
    "rtt_up_min_ms" Needs::Rtts("rtt_up_samples");
    "rtt_up_p50_ms" Needs::Rtts("rtt_up_samples");
    "rtt_up_p95_ms" Needs::Rtts("rtt_up_samples");
    "added_up_p50_ms" Needs::Rtts("rtt_up_samples");
    "added_up_p95_ms" Needs::Rtts("rtt_up_samples");
    "added_up_p99_ms" Needs::Rtts("rtt_up_samples");
    "rate_down_bps" Needs::Bytes("payload_down_bytes");
    "rate_up_bps" Needs::Bytes("payload_up_bytes");
    "bandwidth_down_bps" Needs::Nothing;
    "bandwidth_up_bps" Needs::Nothing;
    "retransmission_rate_down" Needs::Bytes("payload_down_bytes");
    "retransmission_rate_up" Needs::Bytes("payload_up_bytes");
    "rtos_down" Needs::Bytes("payload_down_bytes");
    "rtos_up" Needs::Bytes("payload_up_bytes");
    "in_flight_down_max_bytes" Needs::Bytes("payload_down_bytes");
    "in_flight_up_max_bytes" Needs::Bytes("payload_up_bytes");
    "full_window_down_share" Needs::Bytes("payload_down_bytes");
    "full_window_up_share" Needs::Bytes("payload_up_bytes");
}

/// Sums over all flows.
#[derive(Default)]
pub(crate) struct Totals {
    span: Option<(i64, i64)>,
    payload: Both<f64>,
    packets: Both<f64>,
    retransmitted: Both<f64>,
    /// By what limited them.
    limits: Both<BTreeMap<String, u64>>,
    /// The kinds of model that there are; only the first is compared.
    models: BTreeMap<String, u64>,
    /// Points of the model, by load and buffer.
    model_points: BTreeMap<(u64, u64), u64>,
    /// Stages of a test, by number.
    stages: BTreeMap<u64, Stage>,
}

struct Stage {
    load: String,
    begin_ns: i64,
    /// From the end of its ramp to its own end.
    judged_ns: (i64, i64),
    /// Datagrams of the echo, and those that were lost on the way.
    echoes: u64,
    lost: Both<u64>,
}

pub(crate) fn points(to: &mut Collector, piece: &Piece) -> Result<(), CompareError> {
    let (point, key, value) = (
        piece.whole("point")?,
        piece.text("key")?,
        piece.text("value")?,
    );
    for row in piece.rows() {
        if let (Some(point), Some(key), Some(value)) =
            (point.get(row), key.as_text(row), value.as_text(row))
        {
            let of_point = to.run.points.entry(point).or_default();
            of_point.insert(short(key), short(value));
        }
    }
    Ok(())
}

pub(crate) fn results(to: &mut Collector, piece: &Piece) -> Result<(), CompareError> {
    let (point, seed) = (piece.whole("point")?, piece.whole("seed")?);
    let (subjects, metrics) = (piece.text("subject")?, piece.text("metric")?);
    let value = piece.number("value")?;
    for row in piece.rows() {
        let names = subjects.as_text(row).zip(metrics.as_text(row));
        if let (Some(point), Some((subject, metric)), Some(value)) =
            (point.get(row), names, value.as_f64(row))
        {
            let name = Name::new(short(subject), short(metric));
            to.result(piece.table, point, name, seed.get(row).unwrap_or(0), value);
        }
    }
    Ok(())
}

/// A model's queue stands for that of the downlink. Each load and buffer is a point, as of a sweep over both.
pub(crate) fn model(to: &mut Collector, piece: &Piece) -> Result<(), CompareError> {
    let (kind, load, buffer) = (
        piece.text("model")?,
        piece.number("load")?,
        piece.whole("buffer_packets")?,
    );
    let values = [
        ("throughput_bps", piece.number("throughput_bps")?),
        ("queue_delay_mean_ms", piece.number("wait_mean_ms")?),
        ("queue_delay_p95_ms", piece.number("wait_p95_ms")?),
    ];
    for row in piece.rows() {
        let (Some(kind), Some(load), Some(buffer)) =
            (kind.as_text(row), load.as_f64(row), buffer.get(row))
        else {
            continue;
        };
        *to.totals.models.entry(short(kind)).or_default() += 1;
        if kind != "mm1k" {
            continue;
        }
        let known = to.totals.model_points.len() as u64;
        let point = *to
            .totals
            .model_points
            .entry((load.to_bits(), buffer))
            .or_insert(known);
        let set = [
            ("load", load.to_string()),
            ("buffer_packets", buffer.to_string()),
        ];
        to.run.points.insert(
            point,
            set.map(|(key, value)| (key.to_owned(), value)).into(),
        );
        for (metric, column) in values {
            if let Some(value) = column.as_f64(row) {
                to.result(piece.table, point, Name::new("down", metric), 0, value);
            }
        }
    }
    Ok(())
}

/// The path as a whole, and each place on it by its hop.
pub(crate) fn queue(to: &mut Collector, piece: &Piece) -> Result<(), CompareError> {
    let (time, hop) = (piece.time("time_ns")?, piece.whole("hop")?);
    let (directions, places) = (piece.text("direction")?, piece.text("place")?);
    for (column, unit) in [("backlog_bytes", "bytes"), ("backlog_packets", "packets")] {
        let values = piece.number(column)?;
        for row in piece.rows() {
            let names = directions.as_text(row).zip(places.as_text(row));
            if let (Some(at), Some((side, place)), Some(value)) =
                (time.get(row), names, values.as_f64(row))
            {
                let metric = match hop.get(row) {
                    None => format!("{}_{unit}", short(place)),
                    Some(hop) => format!("{}_{hop}_backlog_{unit}", short(place)),
                };
                to.course(piece.table, Name::new(short(side), metric), at, value, 1);
            }
        }
    }
    Ok(())
}

/// All connections of a flow together: each sample of each counts.
pub(crate) fn window(to: &mut Collector, piece: &Piece) -> Result<(), CompareError> {
    let columns = ["cwnd_bytes", "in_flight_bytes", "srtt_ms"];
    courses(to, piece, piece.text("flow")?, &columns)
}

pub(crate) fn bandwidth(to: &mut Collector, piece: &Piece) -> Result<(), CompareError> {
    courses(to, piece, piece.text("side")?, &["bandwidth_bps"])
}

fn courses(
    to: &mut Collector,
    piece: &Piece,
    subject: &ColumnData,
    columns: &[&'static str],
) -> Result<(), CompareError> {
    let time = piece.time("time_ns")?;
    for metric in columns {
        let values = piece.number(metric)?;
        for row in piece.rows() {
            if let (Some(at), Some(subject), Some(value)) =
                (time.get(row), subject.as_text(row), values.as_f64(row))
            {
                to.course(
                    piece.table,
                    Name::new(short(subject), *metric),
                    at,
                    value,
                    1,
                );
            }
        }
    }
    Ok(())
}

pub(crate) fn rtt(to: &mut Collector, piece: &Piece) -> Result<(), CompareError> {
    let (side, time) = (piece.text("side")?, piece.time("time_ns")?);
    let (rtt, samples) = (piece.number("rtt_ms")?, piece.whole("samples")?);
    for row in piece.rows() {
        if let (Some(side), Some(at), Some(rtt)) =
            (side.as_text(row), time.get(row), rtt.as_f64(row))
        {
            let times = samples.get(row).unwrap_or(1);
            to.course(
                piece.table,
                Name::new(short(side), "rtt_ms"),
                at,
                rtt,
                times,
            );
        }
    }
    Ok(())
}

/// A test's stages, each by what it loads: a second round of the same load goes on where the first began.
pub(crate) fn stages(to: &mut Collector, piece: &Piece) -> Result<(), CompareError> {
    let (number, load) = (piece.whole("stage")?, piece.text("load")?);
    let [begin, judged_from, end] = [
        piece.time("begin_ns")?,
        piece.time("judged_from_ns")?,
        piece.time("end_ns")?,
    ];
    for row in piece.rows() {
        let (Some(number), Some(load)) = (number.get(row), load.as_text(row)) else {
            continue;
        };
        let (Some(begin), Some(end)) = (begin.get(row), end.get(row)) else {
            continue;
        };
        if to.totals.stages.len() < MOST_STAGES {
            let stage = Stage {
                load: short(load),
                begin_ns: begin,
                judged_ns: (judged_from.get(row).unwrap_or(begin), end),
                echoes: 0,
                lost: Both::default(),
            };
            to.totals.stages.insert(number, stage);
        }
    }
    let second = |ns: i64| ns as f64 / 1e9;
    let zero = to.totals.picture_from_ns();
    to.run.stages = to
        .totals
        .stages
        .values()
        .map(|stage| StageSpan {
            load: stage.load.clone(),
            begin_s: second(stage.begin_ns.saturating_sub(zero)).max(0.0),
            end_s: second(stage.judged_ns.1.saturating_sub(zero)),
        })
        .collect();
    Ok(())
}

impl Totals {
    /// The time of a test that is 0 in its picture.
    fn picture_from_ns(&self) -> i64 {
        let loaded = self.stages.values().filter(|stage| stage.load != "idle");
        let first = loaded.map(|stage| stage.begin_ns).min();
        first.map_or(0, |begin| begin.saturating_sub(LEAD_NS))
    }
}

/// Values of a test over the time of all its stages; of several at one time the largest is drawn.
fn draw(
    to: &mut Collector,
    piece: &Piece,
    column: &'static str,
    metric: &'static str,
) -> Result<(), CompareError> {
    let (time, values) = (piece.time("time_ns")?, piece.number(column)?);
    let zero = to.totals.picture_from_ns();
    let whole = to.run.whole.entry(metric).or_insert_with(Course::new);
    for row in piece.rows() {
        let value = values.as_f64(row).filter(|value| is_number(*value));
        if let Some((at, value)) = time.get(row).zip(value) {
            whole.push(at.saturating_sub(zero), value, 1, 0);
        }
    }
    Ok(())
}

/// What each direction adds to the delay while a stage loads the path, and what it loses.
pub(crate) fn echoes(to: &mut Collector, piece: &Piece) -> Result<(), CompareError> {
    let (number, fate) = (piece.whole("stage")?, piece.text("fate")?);
    for row in piece.rows() {
        let stage = number.get(row);
        let stage = stage.and_then(|it| to.totals.stages.get_mut(&it));
        let (Some(stage), Some(fate)) = (stage, fate.as_text(row)) else {
            continue;
        };
        stage.echoes += 1;
        match fate {
            "lost_down" => stage.lost.down += 1,
            "lost_up" => stage.lost.up += 1,
            _ => {}
        }
    }
    for metric in ["added_down_ms", "added_up_ms"] {
        of_stages(to, piece, metric, |_| Some(metric))?;
        draw(to, piece, metric, "added_delay_ms")?;
    }
    Ok(())
}

pub(crate) fn goodput(to: &mut Collector, piece: &Piece) -> Result<(), CompareError> {
    let directions = piece.text("direction")?;
    draw(to, piece, "delivered_bps", "delivered_bps")?;
    of_stages(to, piece, "delivered_bps", |row| {
        match directions.as_text(row)? {
            "down" => Some("delivered_down_bps"),
            "up" => Some("delivered_up_bps"),
            _ => None,
        }
    })
}

/// A day of the monitor, hour beside the same hour: how much of the loaded time a queue stood, and how deep it was.
pub(crate) fn monitor(to: &mut Collector, piece: &Piece) -> Result<(), CompareError> {
    const DAY_NS: i64 = 86_400_000_000_000;
    let (start, directions) = (piece.time("start_ns")?, piece.text("direction")?);
    let [standing, loaded, delay] =
        ["standing_s", "loaded_s", "standing_p50_ms"].map(|column| piece.number(column));
    let (standing, loaded, delay) = (standing?, loaded?, delay?);
    for row in piece.rows() {
        let (Some(at), Some(direction)) = (start.get(row), directions.as_text(row)) else {
            continue;
        };
        let both = standing.as_f64(row).zip(loaded.as_f64(row));
        let share = both.filter(|(_, whole)| *whole > 0.0);
        let share = share.map(|(part, whole)| (part / whole).min(1.0));
        let values = [
            ("standing_share", share),
            ("standing_delay_ms", delay.as_f64(row)),
        ];
        for (metric, value) in values {
            if let Some(value) = value {
                let name = Name::new(short(direction), metric);
                to.course(piece.table, name, at.rem_euclid(DAY_NS), value, 1);
            }
        }
    }
    Ok(())
}

/// A column over the time of each stage, its ramp left out.
fn of_stages(
    to: &mut Collector,
    piece: &Piece,
    column: &'static str,
    metric: impl Fn(usize) -> Option<&'static str>,
) -> Result<(), CompareError> {
    let (time, number) = (piece.time("time_ns")?, piece.whole("stage")?);
    let values = piece.number(column)?;
    for row in piece.rows() {
        let stage = number.get(row).and_then(|it| to.totals.stages.get(&it));
        let (Some(stage), Some(at), Some(value)) = (stage, time.get(row), values.as_f64(row))
        else {
            continue;
        };
        let (from, until) = stage.judged_ns;
        if let Some(metric) = metric(row).filter(|_| from <= at && at < until) {
            let name = Name::new(stage.load.clone(), metric);
            to.course(piece.table, name, at.saturating_sub(from), value, 1);
        }
    }
    Ok(())
}

pub(crate) fn flows(to: &mut Collector, piece: &Piece) -> Result<(), CompareError> {
    for (metric, needs) in OF_FLOWS {
        let Some(values) = piece.maybe(metric)? else {
            continue;
        };
        let (column, fewest) = match needs {
            Needs::Nothing => (None, 0.0),
            Needs::Rtts(column) => (Some(piece.number(column)?), FEWEST_RTTS),
            Needs::Bytes(column) => (Some(piece.number(column)?), FEWEST_BYTES),
        };
        let counts =
            |row| column.is_none_or(|column| column.as_f64(row).is_some_and(|has| has >= fewest));
        for row in piece.rows().filter(|row| counts(*row)) {
            if let Some(value) = values.as_f64(row) {
                to.spread(piece.table, Name::new("flows", *metric), value);
            }
        }
    }
    totals(&mut to.totals, piece)
}

fn totals(totals: &mut Totals, piece: &Piece) -> Result<(), CompareError> {
    let (start, end) = (piece.time("start_ns")?, piece.time("end_ns")?);
    for row in piece.rows() {
        if let (Some(start), Some(end)) = (start.get(row), end.get(row)) {
            let (first, last) = totals.span.unwrap_or((start, end));
            totals.span = Some((first.min(start), last.max(end)));
        }
    }
    let names = Both::new(
        [
            "payload_down_bytes",
            "packets_down",
            "retransmitted_down_packets",
            "limit_down",
        ],
        [
            "payload_up_bytes",
            "packets_up",
            "retransmitted_up_packets",
            "limit_up",
        ],
    );
    for (side, [payload, packets, retransmitted, limit]) in names.entries() {
        let sum = |column| -> Result<f64, CompareError> {
            let values = piece.maybe(column)?;
            let of_rows = piece.rows().filter_map(|row| values?.as_f64(row));
            Ok(of_rows.sum())
        };
        totals.payload[side] += sum(payload)?;
        totals.packets[side] += sum(packets)?;
        totals.retransmitted[side] += sum(retransmitted)?;
        let limits = piece.text(limit)?;
        for what in piece.rows().filter_map(|row| limits.as_text(row)) {
            *totals.limits[side].entry(short(what)).or_default() += 1;
        }
    }
    Ok(())
}

pub(crate) fn users(to: &mut Collector, piece: &Piece) -> Result<(), CompareError> {
    let samples = piece.number("added_down_samples")?;
    let is_judged = |row: &usize| samples.as_f64(*row).is_some_and(|n| n >= FEWEST_RTTS);
    for metric in &USERS[..3] {
        let values = piece.number(metric)?;
        for value in piece
            .rows()
            .filter(is_judged)
            .filter_map(|row| values.as_f64(row))
        {
            to.spread(piece.table, Name::new("users", *metric), value);
        }
    }
    Ok(())
}

pub(crate) fn look_ups(to: &mut Collector, piece: &Piece) -> Result<(), CompareError> {
    spreads(to, piece, [("latency_ms", "dns_latency_ms")])
}

pub(crate) fn requests(to: &mut Collector, piece: &Piece) -> Result<(), CompareError> {
    spreads(
        to,
        piece,
        [
            ("first_byte_ms", "first_byte_ms"),
            ("duration_ms", "fetch_ms"),
        ],
    )
}

fn spreads<const N: usize>(
    to: &mut Collector,
    piece: &Piece,
    columns: [(&'static str, &str); N],
) -> Result<(), CompareError> {
    for (column, metric) in columns {
        let values = piece.number(column)?;
        for value in piece.rows().filter_map(|row| values.as_f64(row)) {
            to.spread(piece.table, Name::new("users", metric), value);
        }
    }
    Ok(())
}

/// Headline numbers of a capture, each by itself.
pub(crate) fn summary(to: &mut Collector, piece: &Piece) -> Result<(), CompareError> {
    let (group, metric, unit) = (
        piece.text("group")?,
        piece.text("metric")?,
        piece.text("unit")?,
    );
    let (value, samples) = (piece.number("value")?, piece.whole("samples")?);
    for row in piece.rows() {
        if let (Some(group), Some(metric), Some(value)) =
            (group.as_text(row), metric.as_text(row), value.as_f64(row))
        {
            let unit = unit.as_text(row).unwrap_or_default();
            let metric = match unit {
                "" => short(metric),
                unit => short(&format!("{metric} [{unit}]")),
            };
            let count = samples.get(row).unwrap_or(1);
            to.value(
                piece.table,
                Name::new(short(group), metric),
                Estimate::single(value, count),
            );
        }
    }
    Ok(())
}

/// What follows from all flows together, and from the run's own verdict.
pub(crate) fn finish(to: &mut Collector) {
    let totals = std::mem::take(&mut to.totals);
    let seconds = totals
        .span
        .map_or(0.0, |(first, last)| last.saturating_sub(first) as f64 / 1e9);
    for side in Direction::BOTH {
        let name = side.name();
        if seconds > 0.0 && totals.payload[side] > 0.0 {
            let rate = Estimate::single(totals.payload[side] * 8.0 / seconds, 1);
            to.value("flows", Name::new(name, "goodput_bps"), rate);
        }
        if totals.packets[side] > 0.0 {
            let share = Estimate::single(totals.retransmitted[side] / totals.packets[side], 1);
            to.value("flows", Name::new(name, "retransmitted_share"), share);
        }
        let judged: u64 = totals.limits[side].values().sum();
        for (limit, count) in &totals.limits[side] {
            let share = Estimate::of_share(*count, judged);
            to.value(
                "flows",
                Name::new("flows", format!("limit_{name}_{limit}_share")),
                share,
            );
        }
    }
    losses(to, totals.stages.into_values());
    for (side, delay_ms) in to.run.facts.standing_ms.clone() {
        let delay = Estimate::single(delay_ms, 1);
        to.value("flows", Name::new(side, "standing_delay_ms"), delay);
    }
    let others: Vec<_> = totals
        .models
        .keys()
        .filter(|kind| *kind != "mm1k")
        .cloned()
        .collect();
    if !others.is_empty() {
        let others = others.join(", ");
        to.run.left_out.push(format!(
            "The model M/M/1/K is compared as the downlink's queue; other models are skipped: {others}."
        ));
    }
}

/// Of datagrams of the echo, by what loads the path.
fn losses(to: &mut Collector, stages: impl Iterator<Item = Stage>) {
    let mut by_load: BTreeMap<String, (u64, Both<u64>)> = BTreeMap::new();
    for stage in stages.filter(|stage| stage.echoes > 0) {
        let (echoes, lost) = by_load.entry(stage.load).or_default();
        *echoes += stage.echoes;
        lost.down += stage.lost.down;
        lost.up += stage.lost.up;
    }
    for (load, (echoes, losses)) in by_load {
        for (side, &lost) in losses.entries() {
            let name = Name::new(load.clone(), format!("loss_{}_share", side.name()));
            to.value("echoes", name, Estimate::of_share(lost, echoes));
        }
    }
}
