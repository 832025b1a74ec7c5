//! Records as tables and back.

use unbloat_monitor::{Culprit, Delay, Event, EventKind, LayerDelay, NetworkDelay, Probe, Record};
use unbloat_run::{Batch, RunError, RunReader};
use unbloat_table::{Column, ColumnView, Order, RowWriter, Rows, Table};
use unbloat_units::Direction;

/// The tables of a day.
pub fn tables() -> [Table; 5] {
    let span = || {
        vec![
            Column::i64("start_ns", "start of the span, since 1970"),
            Column::u64(
                "span_ms",
                "time that was watched; a row of several spans has their sum",
            ),
        ]
    };
    let with = |more: Vec<Column>| [span(), more].concat();
    [
        Table {
            name: "monitor_delays",
            doc: "one row per span and direction (unbloat monitor); of older days, of 10 minutes or an hour",
            columns: with(vec![
                Column::text("direction", "down or up, seen from the client"),
                Column::text(
                    "verdict",
                    "bloated, slight, clean, other_delay, not_tested or cannot_tell; of several spans the worst",
                ),
                Column::f64("standing_s", "time for which a queue stood"),
                Column::f64("loaded_s", "time in which traffic loaded the direction"),
                Column::f64(
                    "sustained_ms",
                    "largest delay above the floor that a flow's delay stayed above for 1.5 s; flows with timestamps in both directions",
                ),
                Column::f64("standing_p50_ms", "median delay while a queue stood"),
                Column::f64(
                    "standing_p95_ms",
                    "95th percentile of it; of several spans the largest",
                ),
                Column::f64("peak_bps", "rate of the client's traffic in busy windows"),
                Column::u64(
                    "flows",
                    "flows whose delay was measured; of several spans the most",
                ),
            ]),
        },
        Table {
            name: "monitor_networks",
            doc: "one row per span, direction and network of peers (IPv4 /24, IPv6 /48), the 8 with most delay (unbloat monitor)",
            columns: with(vec![
                Column::text("direction", "down or up, seen from the client"),
                Column::text("network", "network of the servers, or other"),
                Column::u64("flows", "flows whose delay was measured"),
                Column::f64("measured_s", "time with samples, summed over flows"),
                Column::f64(
                    "standing_s",
                    "time for which the delay stood, summed over flows",
                ),
                Column::f64(
                    "sustained_ms",
                    "largest delay above the floor that a flow's delay stayed above for 1.5 s",
                ),
            ]),
        },
        Table {
            name: "monitor_layers",
            doc: "one row per span and layer of this host on the way out, as unbloat watch measures it (unbloat monitor)",
            columns: with(vec![
                Column::text(
                    "layer",
                    "socket, qdisc, driver or below; of socket and below the worst flow",
                ),
                Column::f64("mean_ms", "mean wait"),
                Column::f64(
                    "p95_ms",
                    "95th percentile of the worst sample of 10 s; of socket and below the largest mean",
                ),
                Column::bool("is_measured", "false for estimates from kernel statistics"),
            ]),
        },
        Table {
            name: "monitor_events",
            doc: "one row per event: episodes of bufferbloat, and what happened to the monitor (unbloat monitor)",
            columns: vec![
                Column::i64("start_ns", "its start, since 1970"),
                Column::i64("end_ns", "its end"),
                Column::text(
                    "kind",
                    "episode, started, stopped, interface_lost, interface_back or clock_step",
                ),
                Column::bool(
                    "is_over",
                    "false for an episode that went on when the monitor stopped",
                ),
                Column::text(
                    "direction",
                    "of an episode: down or up, seen from the client",
                ),
                Column::f64(
                    "standing_s",
                    "of an episode: time for which the queue stood",
                ),
                Column::f64("p50_ms", "of an episode: median delay while it stood"),
                Column::f64("p95_ms", "of an episode: largest 95th percentile of a span"),
                Column::text(
                    "place",
                    "of an episode: before_capture, after_capture or sending_host",
                ),
                Column::text(
                    "culprit",
                    "of an episode: who filled most of the queue; null if that traffic was not captured",
                ),
                Column::f64(
                    "culprit_share",
                    "its fraction of the captured bytes that waited",
                ),
                Column::text("culprits", "all of them, as JSON"),
                Column::text(
                    "waiting",
                    "networks whose flows waited, separated by spaces",
                ),
                Column::text(
                    "layer",
                    "layer of this host with the longest mean wait, with the wait",
                ),
                Column::text("text", "the event in words"),
            ],
        },
        Table {
            name: "monitor_tests",
            doc: "one row per active test (unbloat monitor --every)",
            columns: vec![
                Column::i64("start_ns", "its start, since 1970"),
                Column::text("server", "its server"),
                Column::text("error", "why it has no result"),
                Column::text("grade", "its grade"),
                Column::f64("added_down_ms", "added delay under download load"),
                Column::f64("added_up_ms", "added delay under upload load"),
                Column::f64("down_bps", "download throughput"),
                Column::f64("up_bps", "upload throughput"),
                Column::u64("bytes", "bytes that passed the interface meanwhile"),
            ],
        },
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
    for (number, record) in records.iter().enumerate() {
        let order = Order {
            written_at: number as u64,
            subject: 0,
        };
        match record {
            Record::Delay(one) => {
                let mut row = begin(&mut all[0], order, one.start_ns, one.span_ms);
                row.text(one.direction.name());
                row.text(verdict_name(one).as_str());
                row.f64(one.standing_s);
                row.f64(one.loaded_s);
                row.f64(one.sustained_ms);
                row.f64(one.standing_p50_ms);
                row.f64(one.standing_p95_ms);
                row.f64(one.peak_bps);
                row.u64(one.flows);
            }
            Record::Network(one) => {
                let mut row = begin(&mut all[1], order, one.start_ns, one.span_ms);
                row.text(one.direction.name());
                row.text(one.network.as_str());
                row.u64(one.flows);
                row.f64(one.measured_s);
                row.f64(one.standing_s);
                row.f64(one.sustained_ms);
            }
            Record::Layer(one) => {
                let mut row = begin(&mut all[2], order, one.start_ns, one.span_ms);
                row.text(one.layer.as_str());
                row.f64(one.mean_ms);
                row.f64(one.p95_ms);
                row.bool(one.is_measured);
            }
            Record::Event(one) => event_row(&mut all[3], order, one),
            Record::Probe(one) => {
                let mut row = all[4].row(order);
                row.i64(one.start_ns);
                row.text(one.server.as_str());
                row.text(one.error.as_deref());
                row.text(one.grade.as_deref());
                row.f64(one.added_down_ms);
                row.f64(one.added_up_ms);
                row.f64(one.down_bps);
                row.f64(one.up_bps);
                row.u64(one.bytes);
            }
        }
    }
    all
}

fn begin(rows: &mut Rows, order: Order, start_ns: i64, span_ms: u64) -> RowWriter<'_> {
    let mut row = rows.row(order);
    row.i64(start_ns);
    row.u64(span_ms);
    row
}

fn event_row(rows: &mut Rows, order: Order, one: &Event) {
    let mut row = rows.row(order);
    let first = one.culprits.first().zip(one.direction);
    let culprits = serde_json::to_string(&one.culprits).unwrap_or_default();
    row.i64(one.start_ns);
    row.i64(one.end_ns);
    row.text(one.kind.name());
    row.bool(one.is_over);
    row.text(one.direction.map(Direction::name));
    row.f64(one.standing_s);
    row.f64(one.p50_ms);
    row.f64(one.p95_ms);
    row.text(one.place.as_deref());
    row.text(first.map(|(first, way)| first.arrow(way)).as_deref());
    row.f64(first.map(|(first, _)| first.share));
    row.text(culprits.as_str());
    row.text(one.waiting.join(" ").as_str());
    row.text(one.layer.as_deref());
    row.text(one.text.as_str());
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
        match self.column("direction").text(self.at)? {
            "up" => Some(Direction::Up),
            "down" => Some(Direction::Down),
            _ => None,
        }
    }
}

/// `None` for a row that no version wrote.
fn row(table: &str, row: &Row<'_>) -> Option<Record> {
    let start_ns = row.i64("start_ns")?;
    let span_ms = row.u64("span_ms");
    Some(match table {
        "monitor_delays" => Record::Delay(Delay {
            start_ns,
            span_ms,
            direction: row.direction()?,
            verdict: serde_json::from_value(row.text("verdict")?.into()).ok()?,
            standing_s: row.f64("standing_s")?,
            loaded_s: row.f64("loaded_s")?,
            sustained_ms: row.f64("sustained_ms"),
            standing_p50_ms: row.f64("standing_p50_ms"),
            standing_p95_ms: row.f64("standing_p95_ms"),
            peak_bps: row.f64("peak_bps"),
            flows: row.u64("flows"),
        }),
        "monitor_networks" => Record::Network(NetworkDelay {
            start_ns,
            span_ms,
            direction: row.direction()?,
            network: row.text("network")?,
            flows: row.u64("flows"),
            measured_s: row.f64("measured_s")?,
            standing_s: row.f64("standing_s")?,
            sustained_ms: row.f64("sustained_ms"),
        }),
        "monitor_layers" => Record::Layer(LayerDelay {
            start_ns,
            span_ms,
            layer: row.text("layer")?,
            mean_ms: row.f64("mean_ms")?,
            p95_ms: row.f64("p95_ms"),
            is_measured: row.column("is_measured").is_true(row.at),
        }),
        "monitor_events" => Record::Event(Event {
            kind: serde_json::from_value::<EventKind>(row.text("kind")?.into()).ok()?,
            start_ns,
            end_ns: row.i64("end_ns")?,
            is_over: row.column("is_over").is_true(row.at),
            direction: row.direction(),
            standing_s: row.f64("standing_s"),
            p50_ms: row.f64("p50_ms"),
            p95_ms: row.f64("p95_ms"),
            place: row.text("place"),
            culprits: serde_json::from_str::<Vec<Culprit>>(&row.text("culprits")?).ok()?,
            waiting: row
                .text("waiting")?
                .split_whitespace()
                .map(str::to_owned)
                .collect(),
            layer: row.text("layer"),
            text: row.text("text")?,
        }),
        "monitor_tests" => Record::Probe(Probe {
            start_ns,
            server: row.text("server")?,
            error: row.text("error"),
            grade: row.text("grade"),
            added_down_ms: row.f64("added_down_ms"),
            added_up_ms: row.f64("added_up_ms"),
            down_bps: row.f64("down_bps"),
            up_bps: row.f64("up_bps"),
            bytes: row.u64("bytes"),
        }),
        _ => return None,
    })
}
