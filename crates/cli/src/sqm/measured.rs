//! Rates from runs.

use super::CommandError;
use std::path::Path;
use unbloat_responsiveness::LoadedDirection;
use unbloat_run::RunReader;
use unbloat_units::{Direction, Rate};

/// The delivered rate of a test in each direction, and its recommended shaper rate.
pub fn of_test(run: &Path) -> Result<[Option<LoadedDirection>; 2], CommandError> {
    let tested = crate::loadtest::read(run)?;
    if let Some(reason) = tested.verdict.fatal().next() {
        return Err(CommandError::Untrusted {
            run: run.display().to_string(),
            reason: reason.to_owned(),
        });
    }
    Ok(Direction::BOTH.map(|way| tested.verdict.of(way).cloned()))
}

/// The upper quartile of the bandwidth estimates of all flows, because small and competing flows underestimate the line.
pub fn of_capture(run: &Path) -> Result<[Option<Rate>; 2], CommandError> {
    let columns = ["bandwidth_down_bps", "bandwidth_up_bps"];
    let quartile = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() * 3 / 4).copied()
    };
    let wants = "no flow allowed a bandwidth estimate; capture a long download and upload";
    rates(run, "flows", columns, quartile, wants)
}

fn rates(
    run: &Path,
    table: &str,
    columns: [&str; 2],
    one: impl Fn(&mut Vec<f64>) -> Option<f64>,
    wants: &'static str,
) -> Result<[Option<Rate>; 2], CommandError> {
    let mut values = [Vec::new(), Vec::new()];
    for batch in RunReader::open(run)?.read_columns(table, &columns)? {
        let batch = batch?;
        for (column, known) in columns.iter().zip(&mut values) {
            let Some(stored) = batch.column(column) else {
                continue;
            };
            let all = (0..stored.len()).filter_map(|row| stored.as_f64(row));
            known.extend(all.filter(|bps| bps.is_finite() && *bps > 0.0));
        }
    }
    let rates = values.map(|mut known| one(&mut known).map(Rate::from_bps_f64));
    match rates {
        [None, None] => Err(CommandError::NoRate {
            run: run.display().to_string(),
            wants,
        }),
        rates => Ok(rates),
    }
}
