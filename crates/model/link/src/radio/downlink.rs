//! LTE downlink: a queue per user in the base station, a transport block each millisecond.
//!
//! # References
//! 3GPP TS 36.321, 36.322; J. Huang et al., SIGCOMM 2013 (queues at the base station).
//! See `air` and `rlc` for where each differs.
//!
//! # Where we differ
//! 1. One user: what others leave to it is its rate over time.
//! 2. A packet is taken from the queue when its first byte goes into a block, so the discipline
//!    decides then; a packet that comes at the very start of a TTI waits for the next.

use super::air::{self, Air, Block, Outcome};
use super::capacity::{Capacity, Rates};
use super::grid::{Grid, PROCESSING, TTI};
use super::rlc::Rlc;
use super::station::Station;
use crate::seam::{Element, Output, Place};
use fastrand::Rng;
use unbloat_qdisc::{AnyQueue, Backlog, Context, Packet, Queue};
use unbloat_units::{Delta, Time};

#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    pub queue: unbloat_qdisc::Config,
    pub rates: Rates,
    pub air: air::Params,
}

/// The base station, the air and the phone's receiver.
pub struct Downlink {
    queue: AnyQueue,
    queue_rng: Rng,
    grid: Grid,
    capacity: Capacity,
    air: Air<()>,
    rlc: Rlc,
    /// The last TTI that was looked at, and the next one with something to do.
    done: i64,
    next: Option<i64>,
}

impl Downlink {
    pub fn build(params: &Params, start: Time, rng: &mut Rng) -> Downlink {
        let grid = Grid::new(start);
        Downlink {
            queue: params.queue.build(),
            queue_rng: rng.fork(),
            grid,
            capacity: Capacity::new(&params.rates, grid, start, rng),
            air: Air::new(params.air, grid, rng.fork()),
            rlc: Rlc::new(params.air.resends, Place::Queue),
            done: -1,
            next: None,
        }
    }

    /// Finds the next TTI with something to do, from `earliest` on.
    fn plan(&mut self, now: Time, earliest: i64) {
        let queued = self.queue.ready_at(now);
        let queued = queued.map(|at| earliest.max(self.grid.from(at)));
        let begun = (self.rlc.unsent() > 0).then_some(earliest);
        let candidates = [queued, begun, self.air.next_again()];
        self.next = candidates.into_iter().flatten().min();
    }
}

impl Station for Downlink {
    type Report = ();

    fn grid(&self) -> Grid {
        self.grid
    }

    fn air(&self) -> &Air<()> {
        &self.air
    }

    fn air_mut(&mut self) -> &mut Air<()> {
        &mut self.air
    }

    fn next_tti(&self) -> Option<i64> {
        self.next
    }

    fn tti(&mut self, tti: i64, out: &mut impl Output) {
        let now = self.grid.time(tti);
        let room = self.capacity.bytes(tti);
        let block = self.air.take_again(tti).or_else(|| {
            let (queue, rng) = (&mut self.queue, &mut self.queue_rng);
            let contents = self.rlc.fill(now, room, out, |observer| {
                queue.dequeue(now, &mut Context { rng, observer })
            });
            (contents.bytes > 0).then(|| Block::new(contents, ()))
        });
        if let Some(block) = block {
            self.air.send(tti, block);
        }
        self.done = tti;
        self.plan(now, tti + 1);
    }

    fn outcome(&mut self, now: Time, outcome: Outcome<()>, out: &mut impl Output) {
        match outcome {
            Outcome::Decoded(block) => self.rlc.received(now, block.contents, out),
            Outcome::Missing(block) => {
                self.rlc.missing(now, block.contents, out);
                self.plan(now, self.grid.from(now).max(self.done + 1));
            }
        }
    }
}

impl Element for Downlink {
    fn accept(&mut self, now: Time, packet: Packet, out: &mut impl Output) {
        self.advance(now, out);
        let rng = &mut self.queue_rng;
        let observer = out;
        self.queue
            .enqueue(now, packet, &mut Context { rng, observer });
        self.plan(now, self.grid.after(now));
    }

    fn next_at(&self) -> Option<Time> {
        self.due()
    }

    fn advance(&mut self, now: Time, out: &mut impl Output) {
        self.catch_up(now, out);
    }

    fn latency(&self) -> Delta {
        TTI * (1 + PROCESSING)
    }

    fn backlog(&self) -> Backlog {
        let (queued, inside) = (self.queue.backlog(), self.rlc.inside());
        Backlog {
            packets: queued.packets + inside.packets,
            bytes: queued.bytes + inside.bytes,
        }
    }

    fn each_layer(&self, tell: &mut dyn FnMut(Place, Backlog)) {
        tell(Place::Queue, self.queue.backlog());
        tell(Place::Radio, self.rlc.inside());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::constant;
    use crate::testing::{Log, at_ms, at_us, drive, packet, run_until};
    use std::collections::BTreeMap;
    use unbloat_qdisc::Reason;
    use unbloat_units::Rate;

    /// A TTI carries a packet of 1000 bytes and the header.
    fn params(air: air::Params) -> Params {
        Params {
            queue: unbloat_qdisc::Config::named("droptail").unwrap(),
            rates: Rates::Constant(constant::Params {
                rate: Rate::bps(1_003 * 8_000),
            }),
            air,
        }
    }

    fn clean() -> air::Params {
        air::Params {
            bler: 0.0,
            ..air::Params::default()
        }
    }

    fn run(air: air::Params, packets: u32) -> Log {
        let mut link = Downlink::build(&params(air), at_ms(0), &mut Rng::with_seed(5));
        let arrivals: Vec<_> = (0..packets)
            .map(|k| (at_us(500), packet(k, 1000)))
            .collect();
        let mut log = Log::default();
        drive(&mut link, &arrivals, &mut log);
        run_until(&mut link, Time::MAX, &mut log);
        assert_eq!(link.backlog(), Backlog::default());
        log
    }

    #[test]
    fn a_packet_waits_for_the_next_tti_and_is_there_four_later() {
        let left = run(clean(), 3).departures();
        assert_eq!(left, [(at_ms(5), 0), (at_ms(6), 1), (at_ms(7), 2)]);
        let mut log = Log::default();
        let mut link = Downlink::build(&params(clean()), at_ms(0), &mut Rng::with_seed(0));
        // At the very start of a TTI it is too late for that one; two share the next.
        drive(
            &mut link,
            &[(at_ms(7), packet(0, 400)), (at_ms(7), packet(1, 400))],
            &mut log,
        );
        run_until(&mut link, Time::MAX, &mut log);
        assert_eq!(log.departures(), [(at_ms(12), 0), (at_ms(12), 1)]);
        assert_eq!(
            log.waits_at(Place::Queue),
            [(0, Delta::ms(1)), (1, Delta::ms(1))]
        );
        assert_eq!(
            log.waits_at(Place::Radio),
            [(0, Delta::ms(4)), (1, Delta::ms(4))]
        );
    }

    #[test]
    fn each_round_of_harq_takes_eight_milliseconds() {
        let air = air::Params {
            bler: 1.0,
            bler_again: 0.0,
            ..air::Params::default()
        };
        // Blocks of TTI 1 to 8 fail and come again in 9 to 16; then those of 17 to 24.
        let expected = (0..16).map(|k| (at_ms(i64::from(13 + k + (k / 8) * 8)), k));
        assert_eq!(run(air, 16).departures(), expected.collect::<Vec<_>>());
    }

    /// When packets of one block each leave, by a model of its own: TTI for TTI, with the same draws.
    fn model(air: air::Params, packets: usize) -> Vec<(Time, u32)> {
        let mut rng = Rng::with_seed(5);
        let _for_the_queue = rng.fork();
        let mut draws = rng.fork();
        let mut harq: BTreeMap<i64, (usize, u32)> = BTreeMap::new();
        let mut again: BTreeMap<i64, usize> = BTreeMap::new();
        let (mut fresh, mut came) = (0, vec![None; packets]);
        let mut tti = 1;
        while came.contains(&None) {
            let ready = again
                .first_key_value()
                .map(|(at, _)| *at)
                .filter(|at| *at <= tti);
            let sent = harq.remove(&tti).or_else(|| match ready {
                Some(at) => again.remove(&at).map(|k| (k, 0)),
                None if fresh < packets => {
                    fresh += 1;
                    Some((fresh - 1, 0))
                }
                None => None,
            });
            if let Some((k, round)) = sent {
                let bler = if round == 0 { air.bler } else { air.bler_again };
                if draws.f64() >= bler {
                    came[k] = Some(tti + 4);
                } else if round + 1 < air.transmissions {
                    harq.insert(tti + 8, (k, round + 1));
                } else {
                    again.insert(tti + 4 + 50, k);
                }
            }
            tti += 1;
        }
        let in_order = came.into_iter().flatten().scan(0, |latest, at| {
            *latest = at.max(*latest);
            Some(at_ms(*latest))
        });
        in_order.zip(0..).collect()
    }

    #[test]
    fn packets_behind_a_block_that_fails_wait_for_it() {
        let air = air::Params {
            bler: 0.3,
            bler_again: 0.4,
            transmissions: 2,
            ..air::Params::default()
        };
        let left = run(air, 900).departures();
        assert_eq!(left, model(air, 900));
        let spread = left
            .windows(2)
            .filter(|pair| pair[0].0 == pair[1].0)
            .count();
        assert!(spread > 200, "many leave together: {spread}");
    }

    #[test]
    fn in_unacknowledged_mode_what_harq_gives_up_is_lost_after_the_status_time() {
        let air = air::Params {
            bler: 1.0,
            transmissions: 1,
            resends: 0,
            ..air::Params::default()
        };
        let log = run(air, 2);
        let lost = |ms, k| (at_ms(ms), k, Reason::Radio);
        assert_eq!(log.drops(), [lost(55, 0), lost(56, 1)]);
    }
}
