//! Records as tables and back.

use unbloat_monitor::{Culprit, Delay, Event, EventKind, LayerDelay, NetworkDelay, Probe, Record};
use unbloat_run::{Batch, RunError, RunReader};
use unbloat_table::{ColumnView, Order, Row as _, Rows, Table, columns};
use unbloat_units::Direction;

columns! {
    /// What most tables begin with.
    #[derive(Clone, Copy)]
    pub struct SpanColumns {
        start_ns: i64 = "start of the span, since 1970",
        span_ms: u64 = "time that was watched; a row of several spans has their sum",
    }

    pub struct DelayRow: monitor_delays = "one row per span and direction (unbloat monitor); of older days, of 10 minutes or an hour" {
        span: SpanColumns,
        direction: Direction = "down or up, seen from the client",
        verdict: String = "bloated, slight, clean, other_delay, not_tested or cannot_tell; of several spans the worst",
        standing_s: f64 = "time for which a queue stood",
        loaded_s: f64 = "time in which traffic loaded the direction",
        sustained_ms: Option<f64> = "largest delay above the floor that a flow's delay stayed above for 1.5 s; flows with timestamps in both directions",
        standing_p50_ms: Option<f64> = "median delay while a queue stood",
        standing_p95_ms: Option<f64> = "95th percentile of it; of several spans the largest",
        peak_bps: Option<f64> = "rate of the client's traffic in busy windows",
        flows: u64 = "flows whose delay was measured; of several spans the most",
    }

    pub struct NetworkRow<'a>: monitor_networks = "one row per span, direction and network of peers (IPv4 /24, IPv6 /48), the 8 with most delay (unbloat monitor)" {
        span: SpanColumns,
        direction: Direction = "down or up, seen from the client",
        network: &'a str = "network of the servers, or other",
        flows: u64 = "flows whose delay was measured",
        measured_s: f64 = "time with samples, summed over flows",
        standing_s: f64 = "time for which the delay stood, summed over flows",
        sustained_ms: Option<f64> = "largest delay above the floor that a flow's delay stayed above for 1.5 s",
    }

    pub struct LayerRow<'a>: monitor_layers = "one row per span and layer of this host on the way out, as unbloat watch measures it (unbloat monitor)" {
        span: SpanColumns,
        layer: &'a str = "socket, qdisc, driver or below; of socket and below the worst flow",
        mean_ms: f64 = "mean wait",
        p95_ms: Option<f64> = "95th percentile of the worst sample of 10 s; of socket and below the largest mean",
        is_measured: bool = "false for estimates from kernel statistics",
    }

    pub struct EventRow<'a>: monitor_events = "one row per event: episodes of bufferbloat, and what happened to the monitor (unbloat monitor)" {
        start_ns: i64 = "its start, since 1970",
        end_ns: i64 = "its end",
        kind: &'a str = "episode, started, stopped, interface_lost, interface_back or clock_step",
        is_over: bool = "false for an episode that went on when the monitor stopped",
        direction: Option<Direction> = "of an episode: down or up, seen from the client",
        standing_s: Option<f64> = "of an episode: time for which the queue stood",
        p50_ms: Option<f64> = "of an episode: median delay while it stood",
        p95_ms: Option<f64> = "of an episode: largest 95th percentile of a span",
        place: Option<&'a str> = "of an episode: before_capture, after_capture or sending_host",
        culprit: Option<String> = "of an episode: who filled most of the queue; null if that traffic was not captured",
        culprit_share: Option<f64> = "its fraction of the captured bytes that waited",
        culprits: String = "all of them, as JSON",
        waiting: String = "networks whose flows waited, separated by spaces",
        layer: Option<&'a str> = "layer of this host with the longest mean wait, with the wait",
        text: &'a str = "the event in words",
    }

    pub struct ProbeRow<'a>: monitor_tests = "one row per active test (unbloat monitor --every)" {
        start_ns: i64 = "its start, since 1970",
        server: &'a str = "its server",
        error: Option<&'a str> = "why it has no result",
        grade: Option<&'a str> = "its grade",
        added_down_ms: Option<f64> = "added delay under download load",
        added_up_ms: Option<f64> = "added delay under upload load",
        down_bps: Option<f64> = "download throughput",
        up_bps: Option<f64> = "upload throughput",
        bytes: u64 = "bytes that passed the interface meanwhile",
    }
}

/// The tables of a day.
pub fn tables() -> [Table; 5] {
    [
        DelayRow::table(),
        NetworkRow::table(),
        LayerRow::table(),
        EventRow::table(),
        ProbeRow::table(),
    ]
}

/// A verdict's name, as in JSON.
fn verdict_name(delay: &Delay) -> String {
    let value = serde_json::to_value(delay.verdict).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// The rows of records, in the order of [`tables`].
pub(crate) fn rows(records: &[Record]) -> [Rows; 5] {
    let mut all = tables().map(|table| Rows::new(&table));
    let [delays, networks, layers, events, probes] = &mut all;
    for (number, record) in records.iter().enumerate() {
        let order = Order::nth(number);
        match record {
            Record::Delay(one) => delays.push(
                order,
                DelayRow {
                    span: span(one.start_ns, one.span_ms),
                    direction: one.direction,
                    verdict: verdict_name(one),
                    standing_s: one.standing_s,
                    loaded_s: one.loaded_s,
                    sustained_ms: one.sustained_ms,
                    standing_p50_ms: one.standing_p50_ms,
                    standing_p95_ms: one.standing_p95_ms,
                    peak_bps: one.peak_bps,
                    flows: one.flows,
                },
            ),
            Record::Network(one) => networks.push(
                order,
                NetworkRow {
                    span: span(one.start_ns, one.span_ms),
                    direction: one.direction,
                    network: &one.network,
                    flows: one.flows,
                    measured_s: one.measured_s,
                    standing_s: one.standing_s,
                    sustained_ms: one.sustained_ms,
                },
            ),
            Record::Layer(one) => layers.push(
                order,
                LayerRow {
                    span: span(one.start_ns, one.span_ms),
                    layer: &one.layer,
                    mean_ms: one.mean_ms,
                    p95_ms: one.p95_ms,
                    is_measured: one.is_measured,
                },
            ),
            Record::Event(one) => events.push(order, event_row(one)),
            Record::Probe(one) => probes.push(
                order,
                ProbeRow {
                    start_ns: one.start_ns,
                    server: &one.server,
                    error: one.error.as_deref(),
                    grade: one.grade.as_deref(),
                    added_down_ms: one.added_down_ms,
                    added_up_ms: one.added_up_ms,
                    down_bps: one.down_bps,
                    up_bps: one.up_bps,
                    bytes: one.bytes,
                },
            ),
        }
    }
    all
}

fn span(start_ns: i64, span_ms: u64) -> SpanColumns {
    SpanColumns { start_ns, span_ms }
}

fn event_row(one: &Event) -> EventRow<'_> {
    let first = one.culprits.first().zip(one.direction);
    EventRow {
        start_ns: one.start_ns,
        end_ns: one.end_ns,
        kind: one.kind.name(),
        is_over: one.is_over,
        direction: one.direction,
        standing_s: one.standing_s,
        p50_ms: one.p50_ms,
        p95_ms: one.p95_ms,
        place: one.place.as_deref(),
        culprit: first.map(|(first, way)| first.arrow(way)),
        culprit_share: first.map(|(first, _)| first.share),
        culprits: serde_json::to_string(&one.culprits).unwrap_or_default(),
        waiting: one.waiting.join(" "),
        layer: one.layer.as_deref(),
        text: &one.text,
    }
}

/// The records of a day's run.
pub(crate) fn read(run: &RunReader) -> Result<Vec<Record>, RunError> {
    let mut records = Vec::new();
    for table in tables() {
        // A run of another version may have fewer.
        if run.table(table.name).is_err() {
            continue;
        }
        for batch in run.read(table.name)? {
            let batch = batch?;
            let row = |at| row(table.name, &Row { batch: &batch, at });
            records.extend((0..batch.len()).filter_map(row));
        }
    }
    records.sort_by_key(Record::start_ns);
    Ok(records)
}

struct Row<'a> {
    batch: &'a Batch,
    at: usize,
}

impl Row<'_> {
    fn column(&self, name: &str) -> ColumnView<'_> {
        ColumnView::of(self.batch.column(name))
    }

    fn f64(&self, name: &str) -> Option<f64> {
        self.column(name).f64(self.at)
    }

    fn u64(&self, name: &str) -> u64 {
        self.column(name).u64(self.at).unwrap_or(0)
    }

    fn i64(&self, name: &str) -> Option<i64> {
        self.column(name).i64(self.at)
    }

    fn text(&self, name: &str) -> Option<String> {
        self.column(name).text(self.at).map(str::to_owned)
    }

    fn direction(&self) -> Option<Direction> {
        match self.column(DelayRow::direction).text(self.at)? {
            "up" => Some(Direction::Up),
            "down" => Some(Direction::Down),
            _ => None,
        }
    }
}

/// `None` for a row that no version wrote.
fn row(table: &str, row: &Row<'_>) -> Option<Record> {
    let start_ns = row.i64(SpanColumns::start_ns)?;
    let span_ms = row.u64(SpanColumns::span_ms);
    Some(match table {
        DelayRow::NAME => Record::Delay(Delay {
            start_ns,
            span_ms,
            direction: row.direction()?,
            verdict: serde_json::from_value(row.text(DelayRow::verdict)?.into()).ok()?,
            standing_s: row.f64(DelayRow::standing_s)?,
            loaded_s: row.f64(DelayRow::loaded_s)?,
            sustained_ms: row.f64(DelayRow::sustained_ms),
            standing_p50_ms: row.f64(DelayRow::standing_p50_ms),
            standing_p95_ms: row.f64(DelayRow::standing_p95_ms),
            peak_bps: row.f64(DelayRow::peak_bps),
            flows: row.u64(DelayRow::flows),
        }),
        NetworkRow::NAME => Record::Network(NetworkDelay {
            start_ns,
            span_ms,
            direction: row.direction()?,
            network: row.text(NetworkRow::network)?,
            flows: row.u64(NetworkRow::flows),
            measured_s: row.f64(NetworkRow::measured_s)?,
            standing_s: row.f64(NetworkRow::standing_s)?,
            sustained_ms: row.f64(NetworkRow::sustained_ms),
        }),
        LayerRow::NAME => Record::Layer(LayerDelay {
            start_ns,
            span_ms,
            layer: row.text(LayerRow::layer)?,
            mean_ms: row.f64(LayerRow::mean_ms)?,
            p95_ms: row.f64(LayerRow::p95_ms),
            is_measured: row.column(LayerRow::is_measured).is_true(row.at),
        }),
        EventRow::NAME => Record::Event(Event {
            kind: serde_json::from_value::<EventKind>(row.text(EventRow::kind)?.into()).ok()?,
            start_ns,
            end_ns: row.i64(EventRow::end_ns)?,
            is_over: row.column(EventRow::is_over).is_true(row.at),
            direction: row.direction(),
            standing_s: row.f64(EventRow::standing_s),
            p50_ms: row.f64(EventRow::p50_ms),
            p95_ms: row.f64(EventRow::p95_ms),
            place: row.text(EventRow::place),
            culprits: serde_json::from_str::<Vec<Culprit>>(&row.text(EventRow::culprits)?).ok()?,
            waiting: row
                .text(EventRow::waiting)?
                .split_whitespace()
                .map(str::to_owned)
                .collect(),
            layer: row.text(EventRow::layer),
            text: row.text(EventRow::text)?,
        }),
        ProbeRow::NAME => Record::Probe(Probe {
            start_ns,
            server: row.text(ProbeRow::server)?,
            error: row.text(ProbeRow::error),
            grade: row.text(ProbeRow::grade),
            added_down_ms: row.f64(ProbeRow::added_down_ms),
            added_up_ms: row.f64(ProbeRow::added_up_ms),
            down_bps: row.f64(ProbeRow::down_bps),
            up_bps: row.f64(ProbeRow::up_bps),
            bytes: row.u64(ProbeRow::bytes),
        }),
        _ => return None,
    })
}
