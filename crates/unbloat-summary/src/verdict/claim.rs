//! A delay that stood, with its direction and with what explains it.

use super::Direction;
use super::row::{Carrying, Flow, Row, Series};

/// A packet or four are no queue: what an idle link holds of a burst.
const LEAST_QUEUE_BYTES: f64 = 6_000.0;
/// Windows of a full link carry alike; those of requests and answers do not.
const STEADY: f64 = 0.6;
/// Rank correlation of bytes in flight and delay.
const COUPLED: f64 = 0.6;

pub(super) struct Claim<'a> {
    pub(super) row: &'a Row,
    pub(super) direction: Direction,
    /// The client's captured traffic fills the queue.
    pub(super) is_explained: bool,
}

impl<'a> Claim<'a> {
    /// Of a row whose delay stood; `flow` is what is known of the flow.
    pub(super) fn of(row: &'a Row, flow: Option<&Flow>) -> Claim<'a> {
        let explains = |carrying: &Carrying| explains(carrying, row.p50_ms);
        let (ahead, back) = (explains(&row.ahead), explains(&row.back));
        let is_idle = |direction: Direction| flow.is_some_and(|f| f.is_application_limited(direction));
        let direction = match row.series {
            Series::Path | Series::OneWay => row.direction,
            Series::Loop => match (ahead, back) {
                (true, false) => row.direction,
                (false, true) => row.direction.other(),
                _ => busier(row),
            },
        };
        let carrying = match direction == row.direction {
            true => ahead,
            false => back,
        };
        Claim {
            row,
            direction,
            is_explained: carrying && !is_idle(direction),
        }
    }

    pub(super) fn carrying(&self) -> &Carrying {
        match self.direction == self.row.direction {
            true => &self.row.ahead,
            false => &self.row.back,
        }
    }

    /// Whether timestamps tell the direction.
    pub(super) fn is_direction_told(&self) -> bool {
        self.row.series != Series::Loop
    }

    /// How much it says: time that the delay stood.
    pub(super) fn weight(&self) -> u64 {
        self.row.standing
    }
}

/// The traffic can have made the queue: it is more than a few packets, and it goes at the pace of a
/// full link or grows with the delay.
fn explains(carrying: &Carrying, p50_ms: f64) -> bool {
    let queue_bytes = carrying.standing_bps * p50_ms / 8e3;
    let is_paced = carrying.steadiness >= STEADY;
    let is_coupled = carrying.coupling.is_some_and(|rho| rho >= COUPLED);
    queue_bytes >= LEAST_QUEUE_BYTES && (is_paced || is_coupled)
}

/// Of a loop whose direction the load leaves open: the one that goes more steadily; if both do, or
/// neither, the one with more of its bytes coupled to the delay.
fn busier(row: &Row) -> Direction {
    let score = |c: &Carrying| (c.coupling.unwrap_or(0.0), c.standing_bps / c.peak_bps.max(1.0));
    match score(&row.back) > score(&row.ahead) {
        true => row.direction.other(),
        false => row.direction,
    }
}
