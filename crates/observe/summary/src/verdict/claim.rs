//! A delay that stood in the round trips of a leg, with its direction and with what explains it.

use super::row::{Carrying, Flow, Row};
use unbloat_units::Direction;

/// A packet or four are no queue: what an idle link holds of a burst.
const LEAST_QUEUE_BYTES: f64 = 6_000.0;
/// RFC 6928: ten segments.
const FIRST_WINDOW_BYTES: f64 = 14_600.0;
/// Seven first windows: no conversation keeps so much on its way.
const BULK_BYTES: f64 = 100_000.0;
/// No call, game or remote desktop sends more.
const CONVERSATION_BPS: f64 = 4e6;
/// Where only one leg's round trip is known.
const USUAL_FLOOR_MS: f64 = 40.0;
/// Fewer losses may be the path's own.
const LEAST_LOST: u64 = 10;
/// Windows of a full link carry alike; those of requests and answers do not.
const STEADY: f64 = 0.6;
/// Rank correlation of bytes in flight and delay.
const COUPLED: f64 = 0.6;
/// Windows without the delay in which the traffic went as fast.
const LEAST_ALIKE: u64 = 6;
/// Rates that differ by less are the same.
const ALIKE: f64 = 0.15;
/// Runs that began in one step, as those of a longer route do.
const STEPS: f64 = 0.5;

pub(super) struct Claim<'a> {
    pub(super) row: &'a Row,
    pub(super) direction: Direction,
    /// Of the row's delay, what lies in this direction; and of the median and the 95th percentile of the delay.
    pub(super) share: f64,
    pub(super) p50_ms: f64,
    pub(super) p95_ms: f64,
    /// The answering host's clock tells the direction, by this flow or one beside it.
    pub(super) is_direction_told: bool,
    /// The client's captured traffic fills the queue.
    pub(super) is_explained: bool,
}

impl<'a> Claim<'a> {
    /// What follows from a row whose delay stood, with a share on the way back that a clock tells: a queue in one direction, or in both.
    pub(super) fn of(row: &'a Row, back_share: Option<f64>, flow: Option<&Flow>) -> Vec<Claim<'a>> {
        let (out, back) = (row.leg, row.leg.reverse());
        let explains = |direction| {
            !acknowledges(row, direction) && explains(row.carrying(direction), row, direction, flow)
        };
        let explained = (explains(out), explains(back));
        let claim = |direction, share| {
            let is_explained = match direction == out {
                true => explained.0,
                false => explained.1,
            };
            // What the answering host may have held back is half taken off already. Behind a full link, the gap in which it may is
            // a packet's time on the link.
            let sent_ms = match is_explained {
                true => (sent_ms(row.carrying(direction)) - row.held_ms / 2.0).max(0.0),
                false => 0.0,
            };
            Claim {
                row,
                direction,
                share,
                p50_ms: (row.p50_ms * share - sent_ms).max(0.0),
                p95_ms: (row.p95_ms * share - sent_ms).max(0.0),
                is_direction_told: back_share.is_some(),
                is_explained,
            }
        };
        let by_load = || match explained {
            (true, false) => out,
            (false, true) => back,
            (both, _) => busier(row, both),
        };
        match back_share {
            // Both ways are loaded, and each has its own queue.
            Some(share) if explained == (true, true) => {
                vec![claim(out, 1.0 - share), claim(back, share)]
            }
            Some(share) if share > 0.5 => vec![claim(back, 1.0)],
            Some(_) => vec![claim(out, 1.0)],
            None => vec![claim(by_load(), 1.0)],
        }
    }

    pub(super) fn carrying(&self) -> &Carrying {
        self.row.carrying(self.direction)
    }

    /// Acknowledgments are all that was captured in this direction, and enough to fill a thin uplink; so is what was not captured.
    pub(super) fn may_be_of_acknowledgments(&self) -> bool {
        let (row, data) = (self.row, self.row.carrying(self.direction.reverse()));
        acknowledges(row, self.direction)
            && queue_bytes(self.carrying(), row) >= LEAST_QUEUE_BYTES
            && is_load(data, data.standing_bps, row)
    }

    /// The start of a flow fills a managed queue, too, until CoDel or PIE drain it. If no more stood in a load of so many times that length, it was
    /// only that.
    pub(super) fn is_brief(&self) -> bool {
        /// Windows of a quarter of a second: two seconds, from which the monitor counts an episode.
        const BRIEF: u64 = 8;
        /// Times as long.
        const REST: u64 = 8;
        let row = self.row;
        row.standing < BRIEF && REST * row.standing <= self.carrying().busy
    }

    /// How much it says: time that the delay stood.
    pub(super) fn weight(&self) -> u64 {
        self.row.standing
    }
}

/// The traffic can have made the queue: it is more than a few packets, and it goes at the pace of a full link, grows with the delay or keeps
/// much on its way. What went as fast before fills a queue only if it filled the link before, as a transfer does whose application always
/// has more to send, and if the queue grew, which a longer route does not.
fn explains(carrying: &Carrying, row: &Row, direction: Direction, flow: Option<&Flow>) -> bool {
    let is_paced = carrying.steadiness >= STEADY;
    let is_coupled = carrying.coupling.is_some_and(|rho| rho >= COUPLED);
    let is_bulk = in_flight_bytes(carrying.standing_bps, row) >= BULK_BYTES;
    let is_alike = carrying
        .before_bps
        .is_some_and(|before| (before / carrying.standing_bps - 1.0).abs() < ALIKE);
    let went_before = row.low_before >= LEAST_ALIKE && is_alike;
    let is_transfer = is_bulk || carrying.standing_bps >= CONVERSATION_BPS;
    let fills_link = is_transfer
        && row.step_share.is_none_or(|share| share < STEPS)
        && flow.is_some_and(|flow| !flow.is_application_limited(direction));
    queue_bytes(carrying, row) >= LEAST_QUEUE_BYTES
        && is_load(carrying, carrying.standing_bps, row)
        && (is_paced || is_coupled || is_bulk)
        && (!went_before || fills_link)
}

/// What stands in the queue, by the rate at which it leaves.
fn queue_bytes(carrying: &Carrying, row: &Row) -> f64 {
    carrying.standing_bps * row.p50_ms / 8e3
}

/// What a full link takes to send a full packet. It is in the packet's round trip but not in the floor, which the small packets of a handshake
/// made, and is no wait.
fn sent_ms(carrying: &Carrying) -> f64 {
    const FULL_PACKET_BYTES: f64 = 1_500.0;
    /// The link may be faster than the captured traffic, and is not known to be this slow.
    const MOST_MS: f64 = 16.0;
    (FULL_PACKET_BYTES * 8e3 / carrying.standing_bps).min(MOST_MS)
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

/// Whether a direction carries no more than the acknowledgments of the other: one of 66 bytes for each full segment.
fn acknowledges(row: &Row, direction: Direction) -> bool {
    const ACKNOWLEDGMENTS: f64 = 0.05;
    let [own, other] = [direction, direction.reverse()].map(|way| row.carrying(way).standing_bps);
    own < ACKNOWLEDGMENTS * other
}

/// The direction of a round trip that neither the far clock tells nor traffic of one direction alone explains: the one that goes more steadily,
/// as a full link does, or else carries more. Acknowledgments are as steady as their data, or steadier, and a small part of it.
fn busier(row: &Row, is_explained: bool) -> Direction {
    const STEADIER: f64 = 0.2;
    let [ahead, back] = [&row.ahead, &row.back];
    let rates = [ahead.standing_bps, back.standing_bps];
    let is_small = Direction::BOTH.iter().any(|way| acknowledges(row, *way));
    let by = match is_explained {
        true if !is_small && (ahead.steadiness - back.steadiness).abs() > STEADIER => {
            [ahead.steadiness, back.steadiness]
        }
        true => rates,
        // Medians of what comes now and then are zero.
        false => [ahead.peak_bps, back.peak_bps],
    };
    match by[1] > by[0] {
        true => row.leg.reverse(),
        false => row.leg,
    }
}
