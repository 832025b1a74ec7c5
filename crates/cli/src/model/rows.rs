//! The tables of a model's run.

use super::findings::Findings;
use super::question::Question;
use unbloat_queueing::{Capacity, FittedPoint, Kind, Load, ModelError, Route, published};
use unbloat_summary::summary_rows;
use unbloat_table::{Row, Rows, Table, columns};

columns! {
    pub struct ModelRow<'a>: model = "one row per model, load and buffer (unbloat model; equations of Jiang et al., CellNet 2012)" {
        model: &'a str = "mm1k (M/M/1/K, the paper's), md1k (M/D/1/K: packets of equal size) or ipp_m1k (IPP/M/1/K: an on-off source)",
        load: f64 = "offered rate divided by the bottleneck rate",
        buffer_packets: u32 = "maximum packets at the bottleneck, including the one in transmission (K)",
        buffer_bytes: u64 = "the same in bytes, for packets of the mean size",
        throughput_bps: f64 = "delivered rate",
        loss: f64 = "fraction of packets that find the buffer full",
        queue_mean_packets: f64 = "mean packets at the bottleneck, including the one in transmission",
        delay_mean_ms: f64 = "waiting and transmission time of accepted packets, mean",
        delay_p50_ms: f64 = "the same, median",
        delay_p95_ms: f64 = "the same, 95th percentile",
        delay_p99_ms: f64 = "the same, 99th percentile",
        wait_mean_ms: f64 = "waiting time before transmission, mean",
        wait_p95_ms: f64 = "waiting time before transmission, 95th percentile",
        delay_published_ms: f64 = "Eq. 4: as for a Poisson source of the same mean, and with the offered rate in Little's law",
        throughput_published_bps: f64 = "Eq. 5: as for a Poisson source of the same mean",
        rtt_mean_ms: Option<f64> = "delay of all hops, counted once, plus twice the propagation delay; null for md1k and ipp_m1k behind other hops",
        rtt_published_ms: f64 = "Eq. 1: delay of all hops, counted twice, without propagation delay",
    }

    pub struct FitRow: model_fit = "one row per point of a measured curve, and the fitted M/M/1/K closest to it (unbloat model --measured)" {
        measured_delay_ms: f64 = "as measured",
        measured_throughput_bps: f64 = "as measured",
        load: f64 = "load at which the model is closest to the point",
        delay_mean_ms: f64 = "the model's delay there",
        throughput_bps: f64 = "the model's throughput there",
        delay_error: f64 = "residual: delay_mean_ms / measured_delay_ms - 1",
        throughput_error: f64 = "residual: throughput_bps / measured_throughput_bps - 1",
    }
}

/// The tables that only a model's run has.
pub fn tables() -> [Table; 2] {
    [ModelRow::table(), FitRow::table()]
}

/// All tables of the run with their rows.
pub fn all(question: &Question, findings: &Findings) -> Result<Vec<(Table, Rows)>, ModelError> {
    let mut rows = Vec::new();
    for (kind, (load, route)) in question.cases() {
        for &capacity in &question.capacities {
            rows.push(model_row(question, (kind, *load, route), capacity)?);
        }
    }
    let points = question.fit.iter().flat_map(|fit| &fit.points);
    Ok(vec![
        ModelRow::filled(rows),
        FitRow::filled(points.map(fit_row)),
        summary_rows(&findings.metrics(question)),
    ])
}

fn model_row(
    question: &Question,
    (kind, load, route): (Kind, Load, &Route),
    capacity: Capacity,
) -> Result<ModelRow<'static>, ModelError> {
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
    Ok(ModelRow {
        model: kind.name(),
        load: load.get(),
        buffer_packets: capacity.get(),
        buffer_bytes: u64::from(capacity.get()) * link.packet().as_u64(),
        throughput_bps: bps(model.utilisation()),
        loss: model.loss(),
        queue_mean_packets: model.mean_number(),
        delay_mean_ms: ms(model.mean_delay()),
        delay_p50_ms: ms(model.delay_quantile(0.5)),
        delay_p95_ms: ms(model.delay_quantile(0.95)),
        delay_p99_ms: ms(model.delay_quantile(0.99)),
        wait_mean_ms: ms(model.mean_wait()),
        wait_p95_ms: ms(model.wait_quantile(0.95)),
        delay_published_ms: ms(published::mean_delay(load, capacity)),
        throughput_published_bps: bps(published::utilisation(load, capacity)),
        rtt_mean_ms: rtt,
        rtt_published_ms: route.published_rtt(capacity).as_ms(),
    })
}

fn fit_row(point: &FittedPoint) -> FitRow {
    FitRow {
        measured_delay_ms: point.measured.delay.as_ms(),
        measured_throughput_bps: point.measured.throughput.as_bps_f64(),
        load: point.load.get(),
        delay_mean_ms: point.delay.as_ms(),
        throughput_bps: point.throughput.as_bps_f64(),
        delay_error: point.delay_error,
        throughput_error: point.throughput_error,
    }
}
