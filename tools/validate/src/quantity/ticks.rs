//! The tick of the clients' timestamp clocks against the tick that the bed gave them.

use super::Quantity;
use crate::bed::Bed;
use crate::score::{Score, Unit};
use crate::statistics::share;

/// The paper's delta_G.
const WINDOW_MS: f64 = 3_000.0;
/// What the paper calls a large flow. A short transfer with few packets knows its tick only as well as it says.
const LARGE_BYTES: f64 = 1e6;

pub(super) const QUANTITY: Quantity = Quantity {
    name: "timestamp tick G",
    beds: &["ticks-1", "ticks-4", "ticks-10"],
    definition: "`tick_down_raw_ms` of each flow whose transfer lasted at least 3 s (delta_G), before rounding to a common tick, \
        compared with the tick of the bed's clients: the largest error of flows of more than 1 MB, and the percentage of all flows whose error is \
        within `tick_down_error`; and the percentage of users whose `tick_ms` is that tick.",
    score,
};

fn score(bed: &Bed) -> Vec<Score> {
    let truth = bed.plan.tick.as_ms();
    let off = |ms: f64| (ms / truth - 1.0).abs();
    let flows = bed.at_monitor.table("flows").rows();
    let long: Vec<_> = flows
        .filter(|f| f.number("transfer_ms") >= Some(WINDOW_MS))
        .filter_map(|f| Some((off(f.number("tick_down_raw_ms")?), f)))
        .collect();
    let large = long
        .iter()
        .filter(|(_, f)| f.number("payload_down_bytes") > Some(LARGE_BYTES));
    let large: Vec<f64> = large.map(|&(error, _)| error).collect();
    let within = long
        .iter()
        .filter(|(error, f)| Some(*error) <= f.number("tick_down_error"))
        .count();
    let users = bed.at_monitor.table("users").rows();
    let users: Vec<f64> = users.filter_map(|u| u.number("tick_ms")).collect();
    let right = users.iter().filter(|&&ms| off(ms) < 1e-9).count();
    let largest = large.iter().copied().reduce(f64::max);
    vec![
        Score::new("largest error", Unit::Share, large.len(), largest).at_most(0.001),
        Score::new(
            "within the stated error",
            Unit::Share,
            long.len(),
            share(within, long.len()),
        )
        .at_least(1.0),
        Score::new(
            "users given the right tick",
            Unit::Share,
            users.len(),
            share(right, users.len()),
        )
        .at_least(1.0),
    ]
}
