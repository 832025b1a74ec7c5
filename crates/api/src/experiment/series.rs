//! The tables of time series: a row says to which run it belongs.

use super::rows::order;
use unbloat_experiment::outcome::{Layer, Outcomes};
use unbloat_table::{Column, Rows, Table};
use unbloat_units::{Both, Bytes, Direction, Time};

/// The series that runs of the simulator and the lab have.
pub fn tables() -> [Table; 5] {
    [
        queue_table(),
        window_table(),
        goodput_table(),
        app_times_table(),
        layer_table(),
    ]
}

/// Whether a table is a time series, which is kept only if somebody wants it.
pub fn is_series(name: &str) -> bool {
    tables().iter().any(|table| table.name == name)
}

/// The series of one run.
pub fn of_run(outcomes: &Outcomes, run: usize) -> Vec<(Table, Rows)> {
    let [queue, window, goodput, app_times, layer] = tables();
    let rows = [
        queue_rows(&queue, outcomes, run),
        window_rows(&window, outcomes, run),
        goodput_rows(&goodput, outcomes, run),
        app_times_rows(&app_times, outcomes, run),
        layer_rows(&layer, outcomes, run),
    ];
    [queue, window, goodput, app_times, layer]
        .into_iter()
        .zip(rows)
        .collect()
}

fn run_column() -> Column {
    Column::u64("run", "number of the run, from 0")
}

/// Table `queue_series`.
pub fn queue_table() -> Table {
    Table {
        name: "queue_series",
        doc: "one row per run, sample, direction and place: what was there (of a single run, or with --series)",
        columns: vec![
            run_column(),
            Column::i64("time_ns", "time of the sample since the run began"),
            Column::text("direction", "down or up"),
            Column::u64(
                "hop",
                "number of the hop, from 1 in the order in which packets meet them; null for the path as a whole",
            ),
            Column::text(
                "place",
                "queue, qdisc, driver, firmware, radio or sleep; path: queued and in flight, all places together",
            ),
            Column::u64("backlog_bytes", "what was there"),
            Column::u64("backlog_packets", "the same in packets"),
        ],
    }
}

fn window_table() -> Table {
    Table {
        name: "window_series",
        doc: "one row per run, sample and connection: the state of its sender (of a single run, or with --series)",
        columns: vec![
            run_column(),
            Column::i64("time_ns", "time of the sample since the run began"),
            Column::text("flow", "name of the flow"),
            Column::u64("connection", "number of the connection in the run"),
            Column::u64("acked_segments", "acknowledged so far, in full segments"),
            Column::u64("cwnd_bytes", "congestion window"),
            Column::u64("in_flight_bytes", "sent and not acknowledged"),
            Column::f64("srtt_ms", "smoothed round-trip time"),
        ],
    }
}

fn goodput_table() -> Table {
    Table {
        name: "flow_goodput_series",
        doc: "one row per run, flow, direction and interval of [scenario] interval: what applications read (of a single run, or with --series)",
        columns: vec![
            run_column(),
            Column::i64("time_ns", "start of the interval since the run began"),
            Column::text("flow", "name of the flow"),
            Column::text("direction", "direction of the data: down or up"),
            Column::f64(
                "goodput_bps",
                "payload that the application read in the interval; none before the first",
            ),
        ],
    }
}

fn app_times_table() -> Table {
    Table {
        name: "app_times",
        doc: "one row per run and wait of an application, warm-up excluded (of a single run, or with --series)",
        columns: vec![
            run_column(),
            Column::i64("time_ns", "when the wait was over, since the run began"),
            Column::text("flow", "name of the flow"),
            Column::text(
                "what",
                "what it waited for: load, page_load, completion, fetch, rtt, delay, lag_down or lag_up; of loads also the parts setup, request and response",
            ),
            Column::f64("took_ms", "how long it waited"),
        ],
    }
}

fn layer_table() -> Table {
    Table {
        name: "layer_series",
        doc: "one row per run, flow, direction, layer of the sending device and interval of [scenario] interval: what passed the layer (with [scenario] flow_layers; sim only; of a single run, or with --series)",
        columns: vec![
            run_column(),
            Column::i64("time_ns", "start of the interval since the run began"),
            Column::text("flow", "name of the flow"),
            Column::text("direction", "direction of the packets: down or up"),
            Column::text(
                "layer",
                "socket: payload that the application wrote; tcp: IP bytes sent to the queue discipline; qdisc, driver, firmware: IP bytes that left these",
            ),
            Column::u64("bytes", "bytes in the interval; none before the first"),
        ],
    }
}

/// A direction, the number of a hop if not of all, and the name of a place.
type Part<'a> = (Direction, Option<u64>, &'a str);

/// The backlog of the path, in both directions.
pub fn queue_rows(table: &Table, outcomes: &Outcomes, run: usize) -> Rows {
    let mut rows = Rows::new(table);
    let mut layers = outcomes.layers.iter().peekable();
    let mut add =
        |number, at: Time, (direction, hop, place): Part<'_>, bytes: Bytes, packets: u32| {
            let mut row = rows.row(order(number));
            row.u64(run as u64);
            row.i64(at.as_ns());
            row.text(direction.name());
            row.u64(hop);
            row.text(place);
            row.u64(bytes.as_u64());
            row.u64(u64::from(packets));
        };
    for (sample, number) in outcomes.samples.iter().zip(0..) {
        for direction in Direction::BOTH {
            let (bytes, packets) = (
                sample.queue_bytes[direction],
                sample.queue_packets[direction],
            );
            add(number, sample.at, (direction, None, "path"), bytes, packets);
        }
        while let Some(layer) = layers.next_if(|layer| layer.at == sample.at) {
            let part = (
                layer.direction,
                Some(u64::from(layer.hop)),
                layer.place.name(),
            );
            add(number, layer.at, part, layer.bytes, layer.packets);
        }
    }
    rows
}

fn window_rows(table: &Table, outcomes: &Outcomes, run: usize) -> Rows {
    let mut rows = Rows::new(table);
    for (sample, number) in outcomes.windows.iter().zip(0..) {
        let mut row = rows.row(order(number));
        row.u64(run as u64);
        row.i64(sample.at.as_ns());
        row.text(outcomes.flows[sample.flow as usize].name.as_str());
        row.u64(u64::from(sample.conn));
        row.u64(sample.acked_segments);
        row.u64(sample.cwnd_bytes.as_u64());
        row.u64(sample.in_flight_bytes.as_u64());
        row.f64(sample.srtt.as_ms());
    }
    rows
}

fn goodput_rows(table: &Table, outcomes: &Outcomes, run: usize) -> Rows {
    let mut rows = Rows::new(table);
    let mut number = 0;
    for flow in &outcomes.flows {
        for (direction, read) in Both::entries(&flow.record.read) {
            for (at, rate) in read.series(flow.end) {
                let mut row = rows.row(order(number));
                row.u64(run as u64);
                row.i64(at.as_ns());
                row.text(flow.name.as_str());
                row.text(direction.name());
                row.f64(rate.as_bps_f64());
                number += 1;
            }
        }
    }
    rows
}

fn layer_rows(table: &Table, outcomes: &Outcomes, run: usize) -> Rows {
    let mut rows = Rows::new(table);
    let mut number = 0;
    for flow in &outcomes.flows {
        let known = flow.layers.entries();
        let known = known.filter_map(|(direction, layers)| Some((direction, layers.as_ref()?)));
        for (direction, layers) in known {
            for layer in Layer::ALL {
                for (at, bytes) in layers.bytes(layer).intervals(flow.end) {
                    let mut row = rows.row(order(number));
                    row.u64(run as u64);
                    row.i64(at.as_ns());
                    row.text(flow.name.as_str());
                    row.text(direction.name());
                    row.text(layer.name());
                    row.u64(bytes.as_u64());
                    number += 1;
                }
            }
        }
    }
    rows
}

fn app_times_rows(table: &Table, outcomes: &Outcomes, run: usize) -> Rows {
    let mut rows = Rows::new(table);
    let times = outcomes
        .flows
        .iter()
        .flat_map(|flow| flow.times.iter().map(move |time| (flow, time)));
    for ((flow, time), number) in times.zip(0..) {
        let mut row = rows.row(order(number));
        row.u64(run as u64);
        row.i64(time.at.as_ns());
        row.text(flow.name.as_str());
        row.text(time.what);
        row.f64(time.took.as_ms());
    }
    rows
}
