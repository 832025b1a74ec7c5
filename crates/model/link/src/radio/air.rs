//! Transport blocks on the air: HARQ, and what fails it.
//!
//! # References
//! 3GPP TS 36.321 sections 5.3.2 and 5.4.2 (HARQ), TS 36.213 sections 7.3 and 8 (timing, FDD).
//!
//! # Where we differ
//! 1. The downlink is as synchronous as the uplink: a block is sent again exactly 8 ms later (the
//!    standard lets the scheduler wait longer).
//! 2. A TTI that sends a block again sends nothing else, whatever the sizes.
//! 3. Answers (ACK and NACK) and grants are never lost.

use super::grid::{Grid, HARQ_ROUND};
use super::pop_if;
use super::rlc::Contents;
use crate::element::chance;
use fastrand::Rng;
use std::collections::VecDeque;
use unbloat_params::params;
use unbloat_params::range::SPAN;
use unbloat_units::{Delta, Time};

params! {
    /// How well blocks come through.
    ///
    /// 10 % of first transmissions fail, the usual target of link adaptation; four transmissions and a
    /// status after 50 ms (t-Reordering), up to 16 times, as configured by srsRAN.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Params: Settings {
        /// Probability that the first transmission of a block fails.
        pub bler: f64 = 0.1 => fraction;
        /// The same for each further one; less, because the receiver combines them.
        pub bler_again: f64 = 0.1 => fraction;
        /// Transmissions of a block in all (maxHARQ-Tx), at least 1; each 8 ms after the one before.
        pub transmissions: u32 = 4 => within(1..=28);
        /// From the failure of a block's last transmission until RLC may send its contents again.
        pub status: Delta = Delta::ms(50) => within(SPAN);
        /// How often RLC sends a PDU again before it is given up. With 0, a receiver in unacknowledged
        /// mode, which goes on after `status`.
        pub resends: u32 = 16 => within(0..=1_000);
    }
}

/// A transport block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block<R> {
    pub(crate) contents: Contents,
    /// What the MAC layer adds.
    pub(crate) report: R,
    sent: u32,
}

impl<R> Block<R> {
    pub(crate) fn new(contents: Contents, report: R) -> Block<R> {
        Block {
            contents,
            report,
            sent: 0,
        }
    }
}

/// What becomes known of a block.
pub(crate) enum Outcome<R> {
    Decoded(Block<R>),
    /// RLC knows that it is missing.
    Missing(Block<R>),
}

/// Blocks between the two ends. One is sent in a TTI, so all lists are in order of time.
#[derive(Debug)]
pub(crate) struct Air<R> {
    params: Params,
    grid: Grid,
    rng: Rng,
    again: VecDeque<(i64, Block<R>)>,
    decoded: VecDeque<(Time, Block<R>)>,
    missing: VecDeque<(Time, Block<R>)>,
}

impl<R> Air<R> {
    pub(crate) fn new(params: Params, grid: Grid, rng: Rng) -> Air<R> {
        Air {
            params,
            grid,
            rng,
            again: VecDeque::new(),
            decoded: VecDeque::new(),
            missing: VecDeque::new(),
        }
    }

    /// Sends a block in a TTI.
    pub(crate) fn send(&mut self, tti: i64, mut block: Block<R>) {
        let bler = match block.sent {
            0 => self.params.bler,
            _ => self.params.bler_again,
        };
        block.sent += 1;
        let known = self.grid.decoded(tti);
        if !chance(bler, &mut self.rng) {
            self.decoded.push_back((known, block));
        } else if block.sent < self.params.transmissions {
            self.again.push_back((tti + HARQ_ROUND, block));
        } else {
            self.missing.push_back((known + self.params.status, block));
        }
    }

    /// Whether a TTI belongs to a block that is sent again.
    pub(crate) fn is_taken(&self, tti: i64) -> bool {
        self.again.iter().any(|(due, _)| *due == tti)
    }

    /// The block to send again in a TTI.
    pub(crate) fn take_again(&mut self, tti: i64) -> Option<Block<R>> {
        let due = pop_if(&mut self.again, |(due, _)| *due == tti);
        due.map(|(_, block)| block)
    }

    /// The next TTI that belongs to a block that is sent again.
    pub(crate) fn next_again(&self) -> Option<i64> {
        self.again.front().map(|(tti, _)| *tti)
    }

    /// When the next block's fate is known.
    pub(crate) fn next_at(&self) -> Option<Time> {
        let decoded = self.decoded.front().map(|(at, _)| *at);
        let missing = self.missing.front().map(|(at, _)| *at);
        decoded.into_iter().chain(missing).min()
    }

    /// The next block whose fate is known by `now`.
    pub(crate) fn outcome(&mut self, now: Time) -> Option<Outcome<R>> {
        if let Some((_, block)) = pop_if(&mut self.decoded, |(at, _)| *at <= now) {
            return Some(Outcome::Decoded(block));
        }
        let missing = pop_if(&mut self.missing, |(at, _)| *at <= now);
        missing.map(|(_, block)| Outcome::Missing(block))
    }
}
