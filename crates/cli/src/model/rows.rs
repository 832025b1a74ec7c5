//! The tables of a model's run.

use super::findings::Findings;
use super::question::Question;
use unbloat_queueing::{Capacity, FittedPoint, Kind, Load, ModelError, Route, published};
use unbloat_summary::{summary_rows, summary_table};
use unbloat_table::{Column, Order, Rows, Table};

/// The tables that only a model's run has.
pub fn tables() -> [Table; 2] {
    [model_table(), fit_table()]
}

fn model_table() -> Table {
    Table {
        name: "model",
        doc: "one row per model, load and buffer (unbloat model; equations of Jiang et al., CellNet 2012)",
        columns: vec![
            Column::text(
                "model",
                "mm1k (M/M/1/K, the paper's), md1k (M/D/1/K: packets of equal size) or ipp_m1k (IPP/M/1/K: an on-off source)",
            ),
            Column::f64("load", "offered rate divided by the bottleneck rate"),
            Column::u64(
                "buffer_packets",
                "maximum packets at the bottleneck, including the one in transmission (K)",
            ),
            Column::u64(
                "buffer_bytes",
                "the same in bytes, for packets of the mean size",
            ),
            Column::f64("throughput_bps", "delivered rate"),
            Column::f64("loss", "fraction of packets that find the buffer full"),
            Column::f64(
                "queue_mean_packets",
                "mean packets at the bottleneck, including the one in transmission",
            ),
            Column::f64(
                "delay_mean_ms",
                "waiting and transmission time of accepted packets, mean",
            ),
            Column::f64("delay_p50_ms", "the same, median"),
            Column::f64("delay_p95_ms", "the same, 95th percentile"),
            Column::f64("delay_p99_ms", "the same, 99th percentile"),
            Column::f64("wait_mean_ms", "waiting time before transmission, mean"),
            Column::f64(
                "wait_p95_ms",
                "waiting time before transmission, 95th percentile",
            ),
            Column::f64(
                "delay_published_ms",
                "Eq. 4: as for a Poisson source of the same mean, and with the offered rate in Little's law",
            ),
            Column::f64(
                "throughput_published_bps",
                "Eq. 5: as for a Poisson source of the same mean",
            ),
            Column::f64(
                "rtt_mean_ms",
                "delay of all hops, counted once, plus twice the propagation delay; null for md1k and ipp_m1k behind other hops",
            ),
            Column::f64(
                "rtt_published_ms",
                "Eq. 1: delay of all hops, counted twice, without propagation delay",
            ),
        ],
    }
}

fn fit_table() -> Table {
    Table {
        name: "model_fit",
        doc: "one row per point of a measured curve, and the fitted M/M/1/K closest to it (unbloat model --measured)",
        columns: vec![
            Column::f64("measured_delay_ms", "as measured"),
            Column::f64("measured_throughput_bps", "as measured"),
            Column::f64("load", "load at which the model is closest to the point"),
            Column::f64("delay_mean_ms", "the model's delay there"),
            Column::f64("throughput_bps", "the model's throughput there"),
            Column::f64(
                "delay_error",
                "residual: delay_mean_ms / measured_delay_ms - 1",
            ),
            Column::f64(
                "throughput_error",
                "residual: throughput_bps / measured_throughput_bps - 1",
            ),
        ],
    }
}

/// All tables of the run with their rows.
pub fn all(question: &Question, findings: &Findings) -> Result<Vec<(Table, Rows)>, ModelError> {
    let [model, model_fit] = tables();
    let mut model_rows = Rows::new(&model);
    for (kind, (load, route)) in question.cases() {
        for &capacity in &question.capacities {
            model_row(&mut model_rows, question, (kind, *load, route), capacity)?;
        }
    }
    let mut fit_rows = Rows::new(&model_fit);
    let points = question.fit.iter().flat_map(|fit| &fit.points);
    points.for_each(|point| fit_row(&mut fit_rows, point));
    let metrics = summary_rows(&findings.metrics(question));
    Ok(vec![
        (model, model_rows),
        (model_fit, fit_rows),
        (summary_table(), metrics),
    ])
}

fn next(rows: &Rows) -> Order {
    Order {
        written_at: rows.len() as u64,
        subject: 0,
    }
}

fn model_row(
    rows: &mut Rows,
    question: &Question,
    (kind, load, route): (Kind, Load, &Route),
    capacity: Capacity,
) -> Result<(), ModelError> {
    let link = &question.link;
    let ms = |transmissions: f64| transmissions * link.transmission_secs() * 1e3;
    let bps = |utilisation: f64| utilisation * link.rate().as_bps_f64();
    let model = kind.solve(load, capacity)?;
    // What comes before the bottleneck is known for Poisson arrivals and M/M/1 hops only.
    let alone = ms(model.mean_delay()) + 2.0 * question.propagation.as_ms();
    let rtt = match kind {
        Kind::Mm1k => Some(route.mean_rtt(capacity).as_ms()),
        _ => (!question.has_hops).then_some(alone),
    };
    let order = next(rows);
    let mut row = rows.row(order);
    row.text(kind.name());
    row.f64(load.get());
    row.u64(u64::from(capacity.get()));
    row.u64(u64::from(capacity.get()) * link.packet().as_u64());
    row.f64(bps(model.utilisation()));
    row.f64(model.loss());
    row.f64(model.mean_number());
    row.f64(ms(model.mean_delay()));
    for q in [0.5, 0.95, 0.99] {
        row.f64(ms(model.delay_quantile(q)));
    }
    row.f64(ms(model.mean_wait()));
    row.f64(ms(model.wait_quantile(0.95)));
    row.f64(ms(published::mean_delay(load, capacity)));
    row.f64(bps(published::utilisation(load, capacity)));
    row.f64(rtt);
    row.f64(route.published_rtt(capacity).as_ms());
    Ok(())
}

fn fit_row(rows: &mut Rows, point: &FittedPoint) {
    let order = next(rows);
    let mut row = rows.row(order);
    row.f64(point.measured.delay.as_ms());
    row.f64(point.measured.throughput.as_bps_f64());
    row.f64(point.load.get());
    row.f64(point.delay.as_ms());
    row.f64(point.throughput.as_bps_f64());
    row.f64(point.delay_error);
    row.f64(point.throughput_error);
}
