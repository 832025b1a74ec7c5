//! Random loss, each packet by itself.

use super::chance;
use crate::seam::{Element, Output};
use fastrand::Rng;
use unbloat_qdisc::{Backlog, Event, Packet, Reason};
use unbloat_units::Time;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Params {
    /// Probability that a packet is lost.
    pub loss: f64,
}

/// Loses packets; the others pass at once.
#[derive(Debug)]
pub struct Loss {
    params: Params,
    rng: Rng,
}

impl Loss {
    pub fn new(params: Params, rng: Rng) -> Loss {
        Loss { params, rng }
    }

    pub(crate) fn build(params: &Params, _start: Time, rng: &mut Rng) -> Loss {
        Loss::new(*params, rng.fork())
    }
}

impl Element for Loss {
    fn accept(&mut self, now: Time, packet: Packet, out: &mut impl Output) {
        if chance(self.params.loss, &mut self.rng) {
            let reason = Reason::Random;
            out.event(now, Event::Dropped { packet, reason });
        } else {
            out.deliver(now, packet);
        }
    }

    fn next_at(&self) -> Option<Time> {
        None
    }

    fn advance(&mut self, _now: Time, _out: &mut impl Output) {}

    fn backlog(&self) -> Backlog {
        Backlog::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Log, at_us, drive, packet};

    #[test]
    fn the_share_that_is_drawn_is_lost_and_all_are_accounted_for() {
        let arrivals: Vec<_> = (0..100_000)
            .map(|k| (at_us(i64::from(k)), packet(k, 40)))
            .collect();
        for (loss, lost) in [
            (0.0, 0..=0),
            (1.0, 100_000..=100_000),
            (0.02, 1_850..=2_150),
        ] {
            let mut log = Log::default();
            drive(
                &mut Loss::new(Params { loss }, Rng::with_seed(4)),
                &arrivals,
                &mut log,
            );
            // 2,000 with a standard deviation of 44.
            assert!(lost.contains(&log.drops().len()), "{}", log.drops().len());
            assert_eq!(log.accounted().0, 100_000);
            assert!(
                log.drops()
                    .iter()
                    .all(|(.., reason)| *reason == Reason::Random)
            );
        }
    }
}
