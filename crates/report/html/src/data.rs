//! What the page's script gets.

use crate::ReportError;
use crate::chosen::Chosen;
use crate::columns::{column_of, each_batch, each_batch_of};
use crate::curve::Curve;
use crate::flows::FlowRow;
use crate::html::script_json;
use crate::series::FlowSeries;
use crate::sim::{self, SweepFigure};
use crate::tested::{Mark, Stage};
use crate::{location, model, tested};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use unbloat_run::{RunError, RunReader};
use unbloat_summary::{Metric, Verdict};
use unbloat_table::ColumnView;

#[derive(Serialize)]
pub(crate) struct PageData {
    /// Figure to its curves, in the order of the table.
    pub(crate) figures: BTreeMap<String, Vec<Curve>>,
    /// What the figures are that the page does not know beforehand: of a simulation's sweep, of a path's hops.
    pub(crate) sweep: Vec<SweepFigure>,
    /// What a test did when, or when a queue stood.
    pub(crate) stages: Vec<Mark>,
    /// Name and meaning of the columns of table flows.
    pub(crate) columns: Vec<(String, String)>,
    pub(crate) flows: Vec<PageFlow>,
    pub(crate) flows_total: u64,
    pub(crate) threshold_ms: Option<f64>,
    /// Absolute time of 0 in milliseconds since 1970, if there is one.
    pub(crate) start_ms: Option<f64>,
}

#[derive(Serialize)]
pub(crate) struct PageFlow {
    id: u64,
    values: Vec<serde_json::Value>,
    #[serde(flatten)]
    series: FlowSeries,
}

impl PageData {
    pub(crate) fn new(
        run: &RunReader,
        verdict: Option<&Verdict>,
        stages: &[Stage],
        chosen: &Chosen,
        flows: BTreeMap<u64, FlowRow>,
        mut series: BTreeMap<u64, FlowSeries>,
    ) -> Result<PageData, ReportError> {
        let columns = run.table("flows").map(|t| t.schema.columns.as_slice());
        let columns = columns.unwrap_or_default().iter();
        let page_flow = |(id, flow): (u64, FlowRow)| PageFlow {
            id,
            values: flow.values,
            series: series.remove(&id).unwrap_or_default(),
        };
        let mut figures = figures(run)?;
        tested::add_figures(run, stages, &mut figures)?;
        let mut sweep = sim::add_sweep(run, &mut figures)?;
        sweep.extend(location::add_figures(run, &mut figures)?);
        Ok(PageData {
            figures,
            sweep,
            stages: match verdict {
                Some(verdict) => standing(run, verdict)?,
                None => tested::marks(stages),
            },
            columns: columns.map(|c| (c.name.clone(), c.doc.clone())).collect(),
            flows: flows.into_iter().map(page_flow).collect(),
            flows_total: chosen.of,
            threshold_ms: verdict.map(|v| v.threshold_ms),
            start_ms: run
                .info()
                .trace_start
                .map(|start| start.0.as_ns() as f64 / 1e6),
        })
    }
}

impl PageData {
    /// As JSON of at most `limit` bytes if time lines can be thinned so far.
    pub(crate) fn script_json(&mut self, limit: usize) -> serde_json::Result<String> {
        let mut json = script_json(self)?;
        let mut halvings = 0;
        while json.len() > limit && halvings < 8 {
            self.flows.iter_mut().for_each(|f| f.series.halve());
            json = script_json(self)?;
            halvings += 1;
        }
        Ok(json)
    }
}

/// When a queue stood for a flow that the verdict names; what overlaps is one.
fn standing(run: &RunReader, verdict: &Verdict) -> Result<Vec<Mark>, RunError> {
    const COLUMNS: [&str; 3] = ["standing_start_ns", "standing_end_ns", "flow_id"];
    let named: BTreeSet<u64> = verdict.named_flows().collect();
    let mut all: Vec<(i64, i64)> = Vec::new();
    each_batch_of(run, &named, "standing", &COLUMNS, |batch| {
        let [start, end, _] = COLUMNS.map(|column| column_of(batch, column));
        all.extend((0..batch.len()).filter_map(|row| start.i64(row).zip(end.i64(row))));
    })?;
    all.sort_unstable();
    let mut marks: Vec<Mark> = Vec::new();
    for (start, end) in all {
        let [begin_s, end_s] = [start, end].map(|ns| ns as f64 / 1e9);
        match marks.last_mut() {
            Some(last) if begin_s <= last.end_s => last.end_s = last.end_s.max(end_s),
            _ => marks.push(Mark {
                begin_s,
                end_s,
                name: "a queue stands".to_owned(),
            }),
        }
    }
    Ok(marks)
}

/// The rows of table `summary`.
pub(crate) fn metrics(run: &RunReader) -> Result<Vec<Metric>, RunError> {
    const COLUMNS: &[&str] = &[
        "group", "metric", "value", "unit", "paper", "samples", "doc",
    ];
    let mut metrics = Vec::new();
    each_batch(run, "summary", COLUMNS, |batch| {
        let [group, metric, value, unit, paper, samples, doc] =
            std::array::from_fn(|i| column_of(batch, COLUMNS[i]));
        let text = |column: &ColumnView, row| column.text(row).unwrap_or_default().to_owned();
        metrics.extend((0..batch.len()).map(|row| Metric {
            group: text(&group, row),
            metric: text(&metric, row),
            value: value.f64(row),
            unit: text(&unit, row),
            paper: paper.f64(row),
            samples: samples.u64(row).unwrap_or(0),
            doc: text(&doc, row),
        }));
    })?;
    Ok(metrics)
}

fn figures(run: &RunReader) -> Result<BTreeMap<String, Vec<Curve>>, RunError> {
    const COLUMNS: &[&str] = &["figure", "series", "x", "y", "weight"];
    let mut figures: BTreeMap<String, Vec<Curve>> = BTreeMap::new();
    each_batch(run, "figures", COLUMNS, |batch| {
        let [figure, series, x, y, weight] = std::array::from_fn(|i| column_of(batch, COLUMNS[i]));
        for row in 0..batch.len() {
            let (Some(figure), Some(series), Some(x), Some(y)) =
                (figure.text(row), series.text(row), x.f64(row), y.f64(row))
            else {
                continue;
            };
            let curves = figures.entry(figure.to_owned()).or_default();
            let curve = Curve::of(curves, series);
            curve.push(x, y);
            curve.weight.extend(weight.f64(row));
        }
    })?;
    model::add_figures(run, &mut figures)?;
    sim::add_courses(run, &mut figures)?;
    Ok(figures)
}
