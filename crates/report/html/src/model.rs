//! Figure 4 of Jiang et al. (CellNet 2012), from the tables that `unbloat model` writes.

use crate::columns::{column_of, each_batch};
use crate::curve::Curve;
use std::collections::BTreeMap;
use unbloat_run::{RunError, RunReader};

/// Adds the figures of a model's run; none for other runs.
pub(crate) fn add_figures(
    run: &RunReader,
    figures: &mut BTreeMap<String, Vec<Curve>>,
) -> Result<(), RunError> {
    add_curves(run, figures)?;
    add_fit(run, figures)
}

/// Each model at each load, and the paper's equations at that load once.
fn add_curves(run: &RunReader, figures: &mut BTreeMap<String, Vec<Curve>>) -> Result<(), RunError> {
    const COLUMNS: &[&str] = &[
        "model",
        "load",
        "buffer_packets",
        "delay_mean_ms",
        "throughput_bps",
        "delay_published_ms",
        "throughput_published_bps",
    ];
    each_batch(run, "model", COLUMNS, |batch| {
        let [model, load, buffer, delay, throughput, eq4, eq5] =
            std::array::from_fn(|i| column_of(batch, COLUMNS[i]));
        for row in 0..batch.len() {
            let (Some(key), Some(load), Some(x)) =
                (model.text(row), load.f64(row), buffer.f64(row))
            else {
                continue;
            };
            let name = notation(key);
            let mut add = |figure: &str, series: &str, y: Option<f64>| {
                let curves = figures.entry(figure.to_owned()).or_default();
                if let Some(y) = y {
                    Curve::of(curves, &format!("{series}, load {load}")).push(x, y);
                }
            };
            add("model-delay", name, delay.f64(row));
            add("model-throughput", name, throughput.f64(row));
            if key == "mm1k" {
                add("model-delay", "Eq. 4", eq4.f64(row));
                add("model-throughput", "Eq. 5", eq5.f64(row));
            }
        }
    })
}

/// Delay against throughput, as measured and as fitted.
fn add_fit(run: &RunReader, figures: &mut BTreeMap<String, Vec<Curve>>) -> Result<(), RunError> {
    const SERIES: [(&str, [&str; 2]); 2] = [
        ("measured", ["measured_throughput_bps", "measured_delay_ms"]),
        ("fitted M/M/1/K", ["throughput_bps", "delay_mean_ms"]),
    ];
    for (name, columns) in SERIES {
        let mut points = Vec::new();
        each_batch(run, "model_fit", &columns, |batch| {
            let [x, y] = columns.map(|column| column_of(batch, column));
            points.extend((0..batch.len()).filter_map(|row| Some((x.f64(row)?, y.f64(row)?))));
        })?;
        if points.is_empty() {
            continue;
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let curves = figures.entry("model-fit".to_owned()).or_default();
        let curve = Curve::of(curves, name);
        points.into_iter().for_each(|(x, y)| curve.push(x, y));
    }
    Ok(())
}

/// As in the literature.
fn notation(model: &str) -> &str {
    match model {
        "mm1k" => "M/M/1/K",
        "md1k" => "M/D/1/K",
        "ipp_m1k" => "IPP/M/1/K",
        other => other,
    }
}
