//! The tables of time series: a row says to which run it belongs.

use unbloat_experiment::outcome::{Layer, Outcomes};
use unbloat_table::{Row, Rows, Table, columns};
use unbloat_units::{Both, Direction};

columns! {
    pub struct QueueRow: queue_series = "one row per run, sample, direction and place: what was there (of a single run, or with --series)" {
        run: usize = "number of the run, from 0",
        time_ns: i64 = "time of the sample since the run began",
        direction: Direction = "down or up",
        hop: Option<u8> = "number of the hop, from 1 in the order in which packets meet them; null for the path as a whole",
        place: &'static str = "queue, qdisc, driver, firmware, radio or sleep; path: queued and in flight, all places together",
        backlog_bytes: u64 = "what was there",
        backlog_packets: u32 = "the same in packets",
    }

    pub struct WindowRow<'a>: window_series = "one row per run, sample and connection: the state of its sender (of a single run, or with --series)" {
        run: usize = "number of the run, from 0",
        time_ns: i64 = "time of the sample since the run began",
        flow: &'a str = "name of the flow",
        connection: u32 = "number of the connection in the run",
        acked_segments: u64 = "acknowledged so far, in full segments",
        cwnd_bytes: u64 = "congestion window",
        in_flight_bytes: u64 = "sent and not acknowledged",
        srtt_ms: f64 = "smoothed round-trip time",
    }

    pub struct FlowGoodputRow<'a>: flow_goodput_series = "one row per run, flow, direction and interval of [scenario] interval: what applications read (of a single run, or with --series)" {
        run: usize = "number of the run, from 0",
        time_ns: i64 = "start of the interval since the run began",
        flow: &'a str = "name of the flow",
        direction: Direction = "direction of the data: down or up",
        goodput_bps: f64 = "payload that the application read in the interval; none before the first",
    }

    pub struct AppTimeRow<'a>: app_times = "one row per run and wait of an application, warm-up excluded (of a single run, or with --series)" {
        run: usize = "number of the run, from 0",
        time_ns: i64 = "when the wait was over, since the run began",
        flow: &'a str = "name of the flow",
        what: &'a str = "what it waited for: load, page_load, completion, fetch, rtt, delay, lag_down or lag_up; of loads also the parts setup, request and response",
        took_ms: f64 = "how long it waited",
    }

    pub struct LayerRow<'a>: layer_series = "one row per run, flow, direction, layer of the sending device and interval of [scenario] interval: what passed the layer (with [scenario] flow_layers; sim only; of a single run, or with --series)" {
        run: usize = "number of the run, from 0",
        time_ns: i64 = "start of the interval since the run began",
        flow: &'a str = "name of the flow",
        direction: Direction = "direction of the packets: down or up",
        layer: &'a str = "socket: payload that the application wrote; tcp: IP bytes sent to the queue discipline; qdisc, driver, firmware: IP bytes that left these",
        bytes: u64 = "bytes in the interval; none before the first",
    }
}

/// The series that runs of the simulator and the lab have.
pub fn tables() -> [Table; 5] {
    [
        QueueRow::table(),
        WindowRow::table(),
        FlowGoodputRow::table(),
        AppTimeRow::table(),
        LayerRow::table(),
    ]
}

/// Whether a table is a time series, which is kept only if somebody wants it.
pub fn is_series(name: &str) -> bool {
    tables().iter().any(|table| table.name == name)
}

/// The series of one run.
pub fn of_run(outcomes: &Outcomes, run: usize) -> Vec<(Table, Rows)> {
    vec![
        QueueRow::filled(queue_rows(outcomes, run)),
        WindowRow::filled(window_rows(outcomes, run)),
        FlowGoodputRow::filled(goodput_rows(outcomes, run)),
        AppTimeRow::filled(app_time_rows(outcomes, run)),
        LayerRow::filled(layer_rows(outcomes, run)),
    ]
}

/// The backlog of the path, in both directions.
pub fn queue_rows(outcomes: &Outcomes, run: usize) -> Vec<QueueRow> {
    let mut rows = Vec::new();
    let mut layers = outcomes.layers.iter().peekable();
    for sample in &outcomes.samples {
        rows.extend(Direction::BOTH.map(|direction| QueueRow {
            run,
            time_ns: sample.at.as_ns(),
            direction,
            hop: None,
            place: "path",
            backlog_bytes: sample.queue_bytes[direction].as_u64(),
            backlog_packets: sample.queue_packets[direction],
        }));
        while let Some(layer) = layers.next_if(|layer| layer.at == sample.at) {
            rows.push(QueueRow {
                run,
                time_ns: layer.at.as_ns(),
                direction: layer.direction,
                hop: Some(layer.hop),
                place: layer.place.name(),
                backlog_bytes: layer.bytes.as_u64(),
                backlog_packets: layer.packets,
            });
        }
    }
    rows
}

fn window_rows(outcomes: &Outcomes, run: usize) -> impl Iterator<Item = WindowRow<'_>> {
    outcomes.windows.iter().map(move |sample| WindowRow {
        run,
        time_ns: sample.at.as_ns(),
        flow: &outcomes.flows[sample.flow as usize].name,
        connection: sample.conn,
        acked_segments: sample.acked_segments,
        cwnd_bytes: sample.cwnd_bytes.as_u64(),
        in_flight_bytes: sample.in_flight_bytes.as_u64(),
        srtt_ms: sample.srtt.as_ms(),
    })
}

fn goodput_rows(outcomes: &Outcomes, run: usize) -> Vec<FlowGoodputRow<'_>> {
    let mut rows = Vec::new();
    for flow in &outcomes.flows {
        for (direction, read) in Both::entries(&flow.record.read) {
            let series = read.series(flow.end);
            rows.extend(series.map(|(at, rate)| FlowGoodputRow {
                run,
                time_ns: at.as_ns(),
                flow: &flow.name,
                direction,
                goodput_bps: rate.as_bps_f64(),
            }));
        }
    }
    rows
}

fn layer_rows(outcomes: &Outcomes, run: usize) -> Vec<LayerRow<'_>> {
    let mut rows = Vec::new();
    for flow in &outcomes.flows {
        let known = flow.layers.entries();
        let known = known.filter_map(|(direction, layers)| Some((direction, layers.as_ref()?)));
        for (direction, layers) in known {
            for layer in Layer::ALL {
                let intervals = layers.bytes(layer).intervals(flow.end);
                rows.extend(intervals.map(|(at, bytes)| LayerRow {
                    run,
                    time_ns: at.as_ns(),
                    flow: &flow.name,
                    direction,
                    layer: layer.name(),
                    bytes: bytes.as_u64(),
                }));
            }
        }
    }
    rows
}

fn app_time_rows(outcomes: &Outcomes, run: usize) -> impl Iterator<Item = AppTimeRow<'_>> {
    outcomes.flows.iter().flat_map(move |flow| {
        flow.times.iter().map(move |time| AppTimeRow {
            run,
            time_ns: time.at.as_ns(),
            flow: &flow.name,
            what: time.what,
            took_ms: time.took.as_ms(),
        })
    })
}
