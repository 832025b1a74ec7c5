//! The time lines of the chosen flows, thinned to a budget.
//!
//! A flow's life is cut into equal spans; of the rows of one span one point remains, with the
//! extremes of what it stands for and the time of its last row. A flow with fewer rows than spans
//! keeps every row. Rows of one table come in the order in which they were written, which is not always that of
//! their times: points are put where they belong.

use crate::columns::{column_of, each_batch_of};
use crate::flows::FlowRow;
use crate::numbers::five_digits;
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;
use unbloat_run::{RunError, RunReader};

/// No flow gets more spans than this on one side.
const MOST_SPANS: u64 = 2000;
/// Events kept of one flow.
const MOST_EVENTS: usize = 400;

/// What is drawn of one flow; `down` is data towards the client.
#[derive(Default, Serialize)]
pub(crate) struct FlowSeries {
    down: SideSeries,
    up: SideSeries,
    events: Vec<Event>,
    events_total: u64,
    #[serde(skip)]
    spans: i64,
}

#[derive(Default, Serialize)]
struct SideSeries {
    rtt: Lines<3>,
    in_flight: Lines<4>,
    bandwidth: Lines<2>,
}

/// Several values over one axis of time, in microseconds since the flow began.
#[derive(Serialize)]
struct Lines<const N: usize> {
    t: Vec<i64>,
    #[serde(serialize_with = "shortest")]
    v: [Vec<Option<f64>>; N],
    /// The span that each point stands for, ascending.
    #[serde(skip)]
    spans: Vec<i64>,
}

/// Whole numbers without a fraction: the file would be a fifth larger with them.
fn shortest<S: Serializer, const N: usize>(
    lines: &[Vec<Option<f64>>; N],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let short = |value: &Option<f64>| match *value {
        Some(x) if x.fract() == 0.0 && x.abs() < 9e15 => Value::from(x as i64),
        other => Value::from(other),
    };
    let line = |values: &Vec<Option<f64>>| values.iter().map(short).collect::<Vec<Value>>();
    serializer.collect_seq(lines.iter().map(line))
}

impl<const N: usize> Default for Lines<N> {
    fn default() -> Lines<N> {
        Lines {
            t: Vec::new(),
            v: std::array::from_fn(|_| Vec::new()),
            spans: Vec::new(),
        }
    }
}

#[derive(Serialize)]
struct Event {
    t: i64,
    side: String,
    kind: String,
    seq: Option<f64>,
    value: Option<f64>,
}

/// How a later row of the same span changes the point.
#[derive(Clone, Copy)]
enum Merge {
    Last,
    Min,
    Max,
}

impl Merge {
    fn apply(self, old: Option<f64>, new: Option<f64>) -> Option<f64> {
        match (self, old, new) {
            (_, old, None) => old,
            (_, None, new) | (Merge::Last, _, new) => new,
            (Merge::Min, Some(a), Some(b)) => Some(a.min(b)),
            (Merge::Max, Some(a), Some(b)) => Some(a.max(b)),
        }
    }
}

impl<const N: usize> Lines<N> {
    fn add(&mut self, span: i64, t_us: i64, values: [Option<f64>; N], merges: [Merge; N]) {
        let values = values.map(|v| v.map(five_or_whole));
        let at = self.spans.partition_point(|&before| before < span);
        if self.spans.get(at) == Some(&span) {
            self.t[at] = self.t[at].max(t_us);
            for ((line, value), merge) in self.v.iter_mut().zip(values).zip(merges) {
                line[at] = merge.apply(line[at], value);
            }
            return;
        }
        self.spans.insert(at, span);
        self.t.insert(at, t_us);
        for (line, value) in self.v.iter_mut().zip(values) {
            line.insert(at, value);
        }
    }

    fn halve(&mut self) {
        every_second(&mut self.spans);
        every_second(&mut self.t);
        self.v.iter_mut().for_each(every_second);
    }
}

impl FlowSeries {
    /// Drops every second point and the second half of the events.
    pub(crate) fn halve(&mut self) {
        for side in [&mut self.down, &mut self.up] {
            side.rtt.halve();
            side.in_flight.halve();
            side.bandwidth.halve();
        }
        self.events.truncate(self.events.len() / 2);
    }
}

/// Byte numbers are whole and stay exact; measured values need no more than five digits.
fn five_or_whole(x: f64) -> f64 {
    if x.fract() == 0.0 { x } else { five_digits(x) }
}

fn every_second<T>(points: &mut Vec<T>) {
    let mut keep = false;
    points.retain(|_| {
        keep = !keep;
        keep
    });
}

/// Series of all `flows`, of about `budget` points for each table.
pub(crate) fn flow_series(
    run: &RunReader,
    flows: &BTreeMap<u64, FlowRow>,
    budget: u64,
) -> Result<BTreeMap<u64, FlowSeries>, RunError> {
    let most = spans_for(flows.values().map(|f| f.packets), budget);
    let spans = |flow: &FlowRow| flow.packets.clamp(1, most) as i64;
    let empty = flows.iter().map(|(&id, flow)| {
        let series = FlowSeries {
            spans: spans(flow),
            ..FlowSeries::default()
        };
        (id, series)
    });
    let mut all: BTreeMap<u64, FlowSeries> = empty.collect();
    if all.is_empty() {
        return Ok(all);
    }
    const MIN_MID_MAX: [Merge; 3] = [Merge::Min, Merge::Last, Merge::Max];
    let rtt = ["rtt_min_ms", "rtt_ms", "rtt_max_ms"];
    lines(run, flows, &mut all, "rtt", rtt, |side, span, t, values| {
        side.rtt.add(span, t, values, MIN_MID_MAX);
    })?;
    let in_flight = [
        "seq_bytes",
        "ack_bytes",
        "window_edge_bytes",
        "in_flight_bytes",
    ];
    const LATEST_AND_MOST: [Merge; 4] = [Merge::Max, Merge::Max, Merge::Last, Merge::Max];
    lines(
        run,
        flows,
        &mut all,
        "in_flight",
        in_flight,
        |side, span, t, values| {
            side.in_flight.add(span, t, values, LATEST_AND_MOST);
        },
    )?;
    let bandwidth = ["bandwidth_bps", "sending_bps"];
    lines(
        run,
        flows,
        &mut all,
        "bandwidth",
        bandwidth,
        |side, span, t, values| {
            side.bandwidth.add(span, t, values, [Merge::Last; 2]);
        },
    )?;
    events(run, flows, &mut all)?;
    for series in all.values_mut() {
        series.events.sort_by_key(|event| event.t);
    }
    Ok(all)
}

/// The largest number of spans that, if no flow gets more, keeps all flows within `budget`.
fn spans_for(packets: impl Iterator<Item = u64> + Clone, budget: u64) -> u64 {
    let needed = |most: u64| packets.clone().map(|n| n.min(most)).sum::<u64>();
    let (mut fits, mut exceeds) = (20, MOST_SPANS + 1);
    while exceeds - fits > 1 {
        let middle = (fits + exceeds) / 2;
        if needed(middle) <= budget {
            fits = middle;
        } else {
            exceeds = middle;
        }
    }
    fits
}

fn lines<const N: usize>(
    run: &RunReader,
    flows: &BTreeMap<u64, FlowRow>,
    all: &mut BTreeMap<u64, FlowSeries>,
    table: &str,
    columns: [&str; N],
    mut add: impl FnMut(&mut SideSeries, i64, i64, [Option<f64>; N]),
) -> Result<(), RunError> {
    let wanted: Vec<&str> = ["flow_id", "side", "time_ns"]
        .into_iter()
        .chain(columns)
        .collect();
    let ids = flows.keys().copied().collect();
    each_batch_of(run, &ids, table, &wanted, |batch| {
        let (id, side) = (column_of(batch, "flow_id"), column_of(batch, "side"));
        let time = column_of(batch, "time_ns");
        let values = columns.map(|name| column_of(batch, name));
        for row in 0..batch.len() {
            let Some(id) = id.u64(row) else { continue };
            let (Some(flow), Some(series)) = (flows.get(&id), all.get_mut(&id)) else {
                continue;
            };
            let since = time.i64(row).unwrap_or(0).saturating_sub(flow.start_ns);
            let life = flow.end_ns.saturating_sub(flow.start_ns).max(1);
            let span = (i128::from(since) * i128::from(series.spans) / i128::from(life)) as i64;
            let side = match side.text(row) {
                Some("up") => &mut series.up,
                _ => &mut series.down,
            };
            add(side, span, since / 1000, values.map(|v| v.f64(row)));
        }
    })
}

fn events(
    run: &RunReader,
    flows: &BTreeMap<u64, FlowRow>,
    all: &mut BTreeMap<u64, FlowSeries>,
) -> Result<(), RunError> {
    const COLUMNS: &[&str] = &["flow_id", "side", "time_ns", "kind", "seq_bytes", "value"];
    let ids = flows.keys().copied().collect();
    each_batch_of(run, &ids, "events", COLUMNS, |batch| {
        let [id, side, time, kind, seq, value] =
            std::array::from_fn(|i| column_of(batch, COLUMNS[i]));
        for row in 0..batch.len() {
            let Some(id) = id.u64(row) else { continue };
            let (Some(flow), Some(series)) = (flows.get(&id), all.get_mut(&id)) else {
                continue;
            };
            series.events_total += 1;
            if series.events.len() < MOST_EVENTS {
                series.events.push(Event {
                    t: time.i64(row).unwrap_or(0).saturating_sub(flow.start_ns) / 1000,
                    side: side.text(row).unwrap_or("down").to_owned(),
                    kind: kind.text(row).unwrap_or("?").to_owned(),
                    seq: seq.f64(row),
                    value: value.f64(row).map(five_digits),
                });
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_fill_the_budget_and_small_flows_leave_theirs_to_large_ones() {
        let flows = [10, 10, 10, 1_000_000];
        assert_eq!(spans_for(flows.into_iter(), 1030), 1000);
        assert_eq!(spans_for(flows.into_iter(), 1_000_000), MOST_SPANS);
        assert_eq!(spans_for(std::iter::repeat_n(5000, 100), 50_000), 500);
    }

    #[test]
    fn rows_out_of_time_order_are_put_where_they_belong() {
        let mut lines = Lines::<1>::default();
        for (span, t, value) in [
            (2, 25, 1.0),
            (5, 50, 2.0),
            (1, 10, 3.0),
            (2, 21, 4.0),
            (4, 44, 5.0),
        ] {
            lines.add(span, t, [Some(value)], [Merge::Max]);
        }
        assert_eq!(lines.t, [10, 25, 44, 50]);
        assert_eq!(lines.v[0], [3.0, 4.0, 5.0, 2.0].map(Some));
    }

    #[test]
    fn one_span_keeps_its_extremes() {
        let mut lines = Lines::<3>::default();
        let merge = [Merge::Min, Merge::Last, Merge::Max];
        lines.add(0, 10, [Some(5.0), Some(5.0), Some(5.0)], merge);
        lines.add(0, 20, [Some(9.0), Some(9.0), Some(9.0)], merge);
        lines.add(3, 40, [Some(1.0), None, Some(1.0)], merge);
        assert_eq!(lines.t, [20, 40]);
        assert_eq!(lines.v[0], [Some(5.0), Some(1.0)]);
        assert_eq!(lines.v[1], [Some(9.0), None]);
        assert_eq!(lines.v[2], [Some(9.0), Some(1.0)]);
        lines.halve();
        assert_eq!((lines.t, lines.v[2].len()), (vec![20], 1));
    }
}
