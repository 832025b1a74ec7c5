//! The tables of a scenario's run.

use super::averages::averages;
use super::campaign::Campaign;
use super::input::Plan;
use unbloat_experiment::outcome::Outcomes;
use unbloat_table::{Column, Order, Rows, Table};
use unbloat_units::{Bytes, Direction, Time};

/// The tables that every run of a scenario has.
pub fn tables() -> [Table; 5] {
    [
        averages_table(),
        results_table(),
        points_table(),
        queue_table(),
        window_table(),
    ]
}

fn averages_table() -> Table {
    Table {
        name: "averages",
        doc: "one row per point of a sweep and result, over its repeats",
        columns: vec![
            Column::u64(
                "point",
                "number of the point, from 0; what it is stands in `points`",
            ),
            Column::text(
                "subject",
                "a flow by its name, a direction (down, up) or one of several hops (down.hop2), or the whole run (all)",
            ),
            Column::text("metric", "name of the result, with its unit"),
            Column::u64("runs", "repeats that have the result"),
            Column::f64("mean", "mean over them"),
            Column::f64(
                "ci95",
                "half width of the 95 % confidence interval of the mean (Student's t); null for a single run",
            ),
            Column::f64("min", "minimum"),
            Column::f64("max", "maximum"),
        ],
    }
}

fn results_table() -> Table {
    Table {
        name: "results",
        doc: "one row per run and result",
        columns: vec![
            Column::u64("run", "number of the run, from 0"),
            Column::u64("point", "number of the point of the sweep"),
            Column::u64("repeat", "number of the repeat of the point"),
            Column::u64("seed", "seed of the run"),
            Column::text(
                "subject",
                "a flow by its name, a direction (down, up) or one of several hops (down.hop2), or the whole run (all)",
            ),
            Column::text("metric", "name of the result, with its unit"),
            Column::f64("value", "the result"),
        ],
    }
}

fn points_table() -> Table {
    Table {
        name: "points",
        doc: "one row per point of a sweep and key that it sets",
        columns: vec![
            Column::u64("point", "number of the point, from 0"),
            Column::text("key", "path of the key in the scenario"),
            Column::text("value", "value that it has at this point"),
        ],
    }
}

fn queue_table() -> Table {
    Table {
        name: "queue_series",
        doc: "one row per sample, direction and place: what was there (a single run only)",
        columns: vec![
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
        doc: "one row per sample and connection: the state of its sender (a single run only)",
        columns: vec![
            Column::i64("time_ns", "time of the sample since the run began"),
            Column::text("flow", "name of the flow"),
            Column::u64("connection", "number of the connection in the run"),
            Column::u64("cwnd_bytes", "congestion window"),
            Column::u64("in_flight_bytes", "sent and not acknowledged"),
            Column::f64("srtt_ms", "smoothed round-trip time"),
        ],
    }
}

/// All tables with their rows.
pub fn all(plan: &Plan, campaign: &Campaign) -> Vec<(Table, Rows)> {
    let [averages, results, points, queue, window] = tables();
    let rows = [
        averages_rows(&averages, campaign),
        results_rows(&results, campaign),
        points_rows(&points, plan),
    ];
    let mut all: Vec<_> = [averages, results, points].into_iter().zip(rows).collect();
    match &campaign.came {
        Some(came) => all.extend(came.tables.iter().cloned()),
        None => all.extend([queue, window].map(|table| {
            let none = Rows::new(&table);
            (table, none)
        })),
    }
    all
}

/// The series of a single run.
pub fn series(outcomes: &Outcomes) -> Vec<(Table, Rows)> {
    let (queue, window) = (queue_table(), window_table());
    let rows = [queue_rows(&queue, outcomes), window_rows(&window, outcomes)];
    [queue, window].into_iter().zip(rows).collect()
}

fn averages_rows(table: &Table, campaign: &Campaign) -> Rows {
    let mut rows = Rows::new(table);
    for (average, number) in averages(campaign).iter().zip(0..) {
        let mut row = rows.row(order(number));
        row.u64(average.point as u64);
        row.text(average.subject.as_str());
        row.text(average.metric.as_str());
        row.u64(average.runs);
        row.f64(average.mean);
        row.f64(average.ci95);
        row.f64(average.least);
        row.f64(average.most);
    }
    rows
}

fn results_rows(table: &Table, campaign: &Campaign) -> Rows {
    let mut rows = Rows::new(table);
    let results = campaign
        .runs
        .iter()
        .flat_map(|run| run.results.iter().map(move |result| (run, result)));
    for ((run, result), number) in results.zip(0..) {
        let mut row = rows.row(order(number));
        row.u64(run.index as u64);
        row.u64(run.point as u64);
        row.u64(run.repeat);
        row.u64(run.seed);
        row.text(result.subject.as_str());
        row.text(result.metric.as_str());
        row.f64(result.value);
    }
    rows
}

fn points_rows(table: &Table, plan: &Plan) -> Rows {
    let mut rows = Rows::new(table);
    let points = (0..plan.sweep.points()).map(|index| plan.sweep.point(index));
    for point in points {
        for (key, value) in &point.values {
            let mut row = rows.row(order(point.index as u64));
            row.u64(point.index as u64);
            row.text(key.as_str());
            row.text(value.to_string().as_str());
        }
    }
    rows
}

/// A direction, the number of a hop if not of all, and the name of a place.
type Part<'a> = (Direction, Option<u64>, &'a str);

/// The backlog of the path, in both directions.
pub fn queue_rows(table: &Table, outcomes: &Outcomes) -> Rows {
    let mut rows = Rows::new(table);
    let mut layers = outcomes.layers.iter().peekable();
    let mut add =
        |number, at: Time, (direction, hop, place): Part<'_>, bytes: Bytes, packets: u32| {
            let mut row = rows.row(order(number));
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

fn window_rows(table: &Table, outcomes: &Outcomes) -> Rows {
    let mut rows = Rows::new(table);
    for (sample, number) in outcomes.windows.iter().zip(0..) {
        let mut row = rows.row(order(number));
        row.i64(sample.at.as_ns());
        row.text(outcomes.flows[sample.flow as usize].name.as_str());
        row.u64(u64::from(sample.conn));
        row.u64(sample.cwnd_bytes.as_u64());
        row.u64(sample.in_flight_bytes.as_u64());
        row.f64(sample.srtt.as_ms());
    }
    rows
}

/// Sort key of rows that keep the order in which they are written.
pub fn order(number: u64) -> Order {
    Order {
        written_at: number,
        subject: 0,
    }
}
