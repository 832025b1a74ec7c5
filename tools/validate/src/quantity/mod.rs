//! What is scored: one file and one line below for each.

mod bandwidth;
mod bytes;
mod gap_fills;
mod handshakes;
mod in_flight;
mod promotions;
mod retransmissions;
mod round_trips;
mod ticks;
mod timeouts;

use crate::bed::Bed;
use crate::score::Score;

/// A thing that the analyser measures.
pub struct Quantity {
    pub name: &'static str,
    /// The beds that make enough of it happen.
    pub beds: &'static [&'static str],
    /// What is compared with what, and how.
    pub definition: &'static str,
    score: fn(&Bed) -> Vec<Score>,
}

/// Every quantity.
pub const QUANTITIES: &[Quantity] = &[
    retransmissions::QUANTITY,
    gap_fills::QUANTITY,
    handshakes::QUANTITY,
    promotions::QUANTITY,
    round_trips::QUANTITY,
    in_flight::QUANTITY,
    bandwidth::QUANTITY,
    ticks::QUANTITY,
    timeouts::QUANTITY,
    bytes::QUANTITY,
];

impl Quantity {
    /// Scores the bed, if it is one for this.
    pub fn score(&self, bed: &Bed) -> Vec<Score> {
        if !self.beds.contains(&bed.name.as_str()) {
            return Vec::new();
        }
        let mut scores = (self.score)(bed);
        for score in &mut scores {
            score.quantity = self.name;
            score.bed.clone_from(&bed.name);
        }
        scores
    }
}

/// Whether packets of this tuple travel towards the client.
fn is_down(tuple: crate::tuple::Tuple) -> bool {
    crate::scenario::is_client(tuple.destination.0)
}
