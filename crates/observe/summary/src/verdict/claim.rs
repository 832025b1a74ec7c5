//! A delay that stood, with its direction and with what explains it.

use super::row::{Carrying, Row, Series};
use unbloat_units::Direction;

/// A packet or four are no queue: what an idle link holds of a burst.
const LEAST_QUEUE_BYTES: f64 = 6_000.0;
/// RFC 6928: ten segments.
const FIRST_WINDOW_BYTES: f64 = 14_600.0;
/// Seven first windows: no conversation keeps so much on its way.
const BULK_BYTES: f64 = 100_000.0;
/// Where only one direction was captured, no round trip is known.
const USUAL_FLOOR_MS: f64 = 40.0;
/// Fewer losses may be the path's own.
const LEAST_LOST: u64 = 10;
/// Windows of a full link carry alike; those of requests and answers do not.
const STEADY: f64 = 0.6;
/// Rank correlation of bytes in flight and delay.
const COUPLED: f64 = 0.6;

/// Windows without the delay in which the traffic went as fast: it is no faster because of the queue.
const LEAST_ALIKE: u64 = 6;
/// Rates that differ by less are the same.
const ALIKE: f64 = 0.05;

pub(super) struct Claim<'a> {
    pub(super) row: &'a Row,
    pub(super) direction: Direction,
    /// Timestamps tell the direction.
    pub(super) is_direction_told: bool,
    /// The client's captured traffic fills the queue.
    pub(super) is_explained: bool,
}

impl<'a> Claim<'a> {
    /// Of a row whose delay stood; `back_ms` is the part of a loop's delay that is known to be of the other
    /// direction.
    pub(super) fn of(row: &'a Row, back_ms: Option<f64>) -> Claim<'a> {
        let [ahead, back] = [&row.ahead, &row.back].map(|carrying| explains(carrying, row));
        let told = match (row.series, back_ms) {
            (Series::Path | Series::OneWay, _) => Some(row.direction),
            (Series::Loop, Some(back_ms)) if 2.0 * back_ms > row.p50_ms => {
                Some(row.direction.reverse())
            }
            (Series::Loop, Some(_)) => Some(row.direction),
            (Series::Loop, None) => None,
        };
        let direction = told.unwrap_or_else(|| match (ahead, back) {
            (true, false) => row.direction,
            (false, true) => row.direction.reverse(),
            _ => busier(row),
        });
        let carrying = match direction == row.direction {
            true => ahead,
            false => back,
        };
        Claim {
            row,
            direction,
            is_direction_told: told.is_some(),
            is_explained: carrying,
        }
    }

    pub(super) fn carrying(&self) -> &Carrying {
        match self.direction == self.row.direction {
            true => &self.row.ahead,
            false => &self.row.back,
        }
    }

    /// How much it says: time that the delay stood.
    pub(super) fn weight(&self) -> u64 {
        self.row.standing
    }
}

/// The traffic can have made the queue: it is more than a few packets, it goes at the pace of a full
/// link, grows with the delay or keeps much on its way, and it did not go at the same pace before.
fn explains(carrying: &Carrying, row: &Row) -> bool {
    let queue_bytes = carrying.standing_bps * row.p50_ms / 8e3;
    let is_paced = carrying.steadiness >= STEADY;
    let is_coupled = carrying.coupling.is_some_and(|rho| rho >= COUPLED);
    let is_bulk = in_flight_bytes(carrying.standing_bps, row) >= BULK_BYTES;
    let is_alike = carrying
        .before_bps
        .is_some_and(|before| (before / carrying.standing_bps - 1.0).abs() < ALIKE);
    let went_before = row.low_before >= LEAST_ALIKE && is_alike;
    queue_bytes >= LEAST_QUEUE_BYTES
        && is_load(carrying, carrying.standing_bps, row)
        && (is_paced || is_coupled || is_bulk)
        && !went_before
}

/// A sender that never has more on its way than a first window has not looked for the path's limit, unless
/// losses held it there.
pub(super) fn is_load(carrying: &Carrying, rate_bps: f64, row: &Row) -> bool {
    in_flight_bytes(rate_bps, row) >= FIRST_WINDOW_BYTES || carrying.lost >= LEAST_LOST
}

/// What is on its way at a rate, by the round trip; the capture point need not see it.
fn in_flight_bytes(rate_bps: f64, row: &Row) -> f64 {
    let round_trip_ms = row.rtt_floor_ms.unwrap_or(USUAL_FLOOR_MS) + row.p50_ms;
    rate_bps * round_trip_ms / 8e3
}

/// The direction of a loop that the load leaves open: where bytes in flight follow the delay more closely or,
/// if that is equal, where the rate is nearer to its peak. Where nothing is known to be in flight, as of QUIC, the one that
/// carries more of the flow: acknowledgments are as steady as their data.
fn busier(row: &Row) -> Direction {
    let is_coupled = row.ahead.coupling.is_some() || row.back.coupling.is_some();
    let score = |c: &Carrying| match is_coupled {
        true => (
            c.coupling.unwrap_or(0.0),
            c.standing_bps / c.peak_bps.max(1.0),
        ),
        false => (0.0, c.own_standing_bps),
    };
    match score(&row.back) > score(&row.ahead) {
        true => row.direction.reverse(),
        false => row.direction,
    }
}
