//! Rates from runs.

use super::CommandError;
#[cfg(feature = "runs")]
use crate::confine::apart;
use std::path::Path;
use unbloat_responsiveness::LoadedDirection;
#[cfg(feature = "runs")]
use unbloat_run::{RunError, RunReader};
use unbloat_units::Both;
#[cfg(feature = "runs")]
use unbloat_units::Rate;

/// What a test says of each direction.
pub fn of_test(run: &Path) -> Result<Both<Option<LoadedDirection>>, CommandError> {
    let tested = crate::loadtest::read(run)?;
    if let Some(reason) = tested.verdict.fatal().next() {
        return Err(CommandError::Untrusted {
            run: run.display().to_string(),
            reason: reason.to_owned(),
        });
    }
    Ok(Both::of(|way| tested.verdict.of(way).cloned()))
}

/// The upper quartile of the bandwidth estimates of all flows, because small and competing flows underestimate the line.
#[cfg(feature = "runs")]
pub fn of_capture(run: &Path) -> Result<Both<Option<Rate>>, CommandError> {
    let columns = Both::new("bandwidth_down_bps", "bandwidth_up_bps");
    let quartile = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() * 3 / 4).copied()
    };
    let wants = "no flow allowed a bandwidth estimate; capture a long download and upload";
    rates(run, "flows", columns, quartile, wants)
}

#[cfg(feature = "runs")]
fn rates(
    run: &Path,
    table: &str,
    columns: Both<&str>,
    one: impl Fn(&mut Vec<f64>) -> Option<f64>,
    wants: &'static str,
) -> Result<Both<Option<Rate>>, CommandError> {
    let values = apart(run, || read(run, table, columns))?;
    let rates = values.map(|mut known| one(&mut known).map(Rate::from_bps_f64));
    match rates == Both::default() {
        true => Err(CommandError::NoRate {
            run: run.display().to_string(),
            wants,
        }),
        false => Ok(rates),
    }
}

#[cfg(feature = "runs")]
fn read(run: &Path, table: &str, columns: Both<&str>) -> Result<Both<Vec<f64>>, RunError> {
    let mut values = Both::<Vec<f64>>::default();
    for batch in RunReader::open(run)?.read_columns(table, &[columns.down, columns.up])? {
        let batch = batch?;
        for (column, known) in columns.zip(values.as_mut()) {
            let Some(stored) = batch.column(column) else {
                continue;
            };
            let all = (0..batch.len()).filter_map(|row| stored.as_f64(row));
            known.extend(all.filter(|bps| bps.is_finite() && *bps > 0.0));
        }
    }
    Ok(values)
}
