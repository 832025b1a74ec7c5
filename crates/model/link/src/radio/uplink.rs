//! LTE uplink: a phone that must ask before it may send.
//!
//! # References
//! 3GPP TS 36.321 sections 5.4.4 (scheduling request), 5.4.5 and 6.1.3.1 (buffer status), 5.4.3
//! (what goes into a block); TS 36.213 sections 8 and 10.1.5 (timing, FDD). Y. Guo et al., IMC 2016
//! (the firmware buffer and what the scheduler sees of it).
//!
//! # What we follow
//! A packet for an empty buffer triggers a report; a phone without a grant for the TTI asks for one
//! at its next request opportunity. Request in TTI n, grant in n + 4, block in n + 8; a report in a
//! block of n counts for grants from n + 4 on. A report rides in a block when it is triggered, when
//! the periodic timer has run out, or when there is padding for it.
//!
//! # Where we differ
//! 1. One user with one logical channel group; what others leave to it is its rate over time.
//! 2. Requests and grants are never lost, so there is no random access.
//! 3. A phone asks at each opportunity until it has a block (sr-ProhibitTimer 0).
//! 4. The scheduler is ours, the standard leaves it open: as much as was reported and the TTI
//!    carries, plus the headers; 150,000 bytes for the top level. After a last block that is full and
//!    has no report it grants as for a request: packets that came since the report filled it, and the
//!    phone would not ask before retxBSR-Timer runs out.

use super::air::{self, Air, Block, Outcome};
use super::block::{REPORT, Report};
use super::capacity::{Capacity, Rates};
use super::grid::{ANSWER, Grid, PROCESSING, TTI};
use super::pop_if;
use super::rlc::Rlc;
use super::scheduler::{Grant, Scheduler};
use super::station::Station;
use crate::seam::{Element, Output, Place};
use fastrand::Rng;
use std::collections::VecDeque;
use unbloat_params::defaults;
use unbloat_qdisc::discipline::droptail::{self, DropTail};
use unbloat_qdisc::{Backlog, Context, Packet, Queue};
use unbloat_units::{Bytes, Delta, Time};
use unbloat_uplink::Bsr;

defaults! {
    /// 400 kB of firmware buffer at 10 Mbit/s, requests each 10 ms, reports each 5 ms, again after
    /// 320 ms; a first grant of 125 bytes is ours.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Params {
        /// The firmware buffer.
        pub buffer: Bytes = Bytes::new(400_000);
        pub rates: Rates = Rates::Constant(crate::service::constant::Params { rate: unbloat_units::Rate::mbps(10), });
        pub air: air::Params = air::Params::default();
        /// Between opportunities to ask for a grant: 1, 2, 5, 10, 20, 40 or 80 ms. The first is in the
        /// first TTI.
        pub request_period: Delta = Delta::ms(10);
        /// What a request is granted at first, headers included.
        pub first_grant: Bytes = Bytes::new(125);
        /// periodicBSR-Timer: after which a block carries a report again.
        pub report_period: Delta = Delta::ms(5);
        /// retxBSR-Timer: after which a phone that has something to send and got no grant asks anew.
        pub report_again: Delta = Delta::ms(320);
    }
}

/// What a modem's diagnostics would show, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub requests: u64,
    pub reports: u64,
    /// Bytes of grants for new blocks, and how many of them were filled with nothing.
    pub granted: Bytes,
    pub padding: Bytes,
}

/// The phone, the air, and the base station's scheduler and receiver.
pub struct Uplink {
    buffer: DropTail,
    limit: Bytes,
    rng: Rng,
    grid: Grid,
    air: Air<Option<Report>>,
    rlc: Rlc,
    scheduler: Scheduler,
    grants: VecDeque<Grant>,
    timers: Timers,
    stats: Stats,
    done: i64,
    next: Option<i64>,
}

/// When the phone reports.
#[derive(Debug)]
struct Timers {
    request_period: i64,
    report_period: Delta,
    report_again: Delta,
    /// A regular report waits for a block, so grants are asked for.
    is_regular: bool,
    periodic_at: Time,
    again_at: Time,
}

impl Uplink {
    pub fn build(params: &Params, start: Time, rng: &mut Rng) -> Uplink {
        let grid = Grid::new(start);
        let capacity = Capacity::new(&params.rates, grid, start, rng);
        let request_ms = params.request_period.as_ns() / TTI.as_ns();
        Uplink {
            buffer: DropTail::new(droptail::Params {
                limit_bytes: Some(params.buffer),
                limit_packets: None,
            }),
            limit: params.buffer,
            rng: rng.fork(),
            grid,
            air: Air::new(params.air, grid, rng.fork()),
            rlc: Rlc::new(params.air.resends, Place::Firmware),
            scheduler: Scheduler::new(capacity, params.first_grant),
            grants: VecDeque::new(),
            timers: Timers {
                request_period: request_ms.max(1),
                report_period: params.report_period,
                report_again: params.report_again,
                is_regular: false,
                periodic_at: Time::MAX,
                again_at: Time::MAX,
            },
            stats: Stats::default(),
            done: -1,
            next: None,
        }
    }

    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Bytes that wait for a grant: what the phone reports.
    pub fn buffered(&self) -> Bytes {
        self.buffer.backlog().bytes + Bytes::new(self.rlc.unsent())
    }

    /// Bytes in the firmware buffer, without the packet that is being cut.
    pub fn waiting(&self) -> Bytes {
        self.buffer.backlog().bytes
    }

    /// The most that the firmware buffer holds.
    pub fn limit(&self) -> Bytes {
        self.limit
    }

    fn plan(&mut self, earliest: i64) {
        let from = |tti: i64| tti.max(earliest);
        let waits = self.buffered() > Bytes::ZERO;
        let request = self.timers.is_regular && waits;
        let candidates = [
            self.grants.front().map(|grant| grant.tti),
            self.air.next_again(),
            self.scheduler.next(earliest),
            request.then(|| self.timers.request_from(earliest)),
            (waits && !request && self.timers.again_at < Time::MAX)
                .then(|| from(self.grid.from(self.timers.again_at))),
        ];
        self.next = candidates.into_iter().flatten().min();
    }

    /// Fills a grant: a report that is due, then data, then a report if there is room left.
    fn send(&mut self, now: Time, grant: Grant, out: &mut impl Output) {
        let is_due = self.timers.is_regular || self.timers.periodic_at <= now;
        let reserved = if is_due { REPORT.min(grant.bytes) } else { 0 };
        let (buffer, rng) = (&mut self.buffer, &mut self.rng);
        let contents = self.rlc.fill(now, grant.bytes - reserved, out, |observer| {
            buffer.dequeue(now, &mut Context { rng, observer })
        });
        let left = grant.bytes - reserved - contents.bytes;
        let reports = reserved == REPORT || left >= REPORT;
        let report = reports.then(|| Report {
            tti: grant.tti,
            level: Bsr::of(self.buffered()),
        });
        self.timers.sent(now, reports);
        let used = contents.bytes + if reports { REPORT } else { 0 };
        self.stats.reports += u64::from(reports);
        self.stats.granted += Bytes::new(grant.bytes);
        self.stats.padding += Bytes::new(grant.bytes - used);
        self.air.send(grant.tti, Block::new(contents, report));
    }
}

impl Timers {
    /// The first opportunity for a request in this TTI or later.
    fn request_from(&self, tti: i64) -> i64 {
        let period = self.request_period;
        (tti + period - 1).div_euclid(period) * period
    }

    /// A block of new data was sent.
    fn sent(&mut self, now: Time, reports: bool) {
        self.again_at = now + self.report_again;
        if reports {
            self.is_regular = false;
            self.periodic_at = now + self.report_period;
        }
    }
}

impl Station for Uplink {
    type Report = Option<Report>;

    fn grid(&self) -> Grid {
        self.grid
    }

    fn air(&self) -> &Air<Option<Report>> {
        &self.air
    }

    fn air_mut(&mut self) -> &mut Air<Option<Report>> {
        &mut self.air
    }

    fn next_tti(&self) -> Option<i64> {
        self.next
    }

    fn tti(&mut self, tti: i64, out: &mut impl Output) {
        let now = self.grid.time(tti);
        if self.buffered() > Bytes::ZERO && self.timers.again_at <= now {
            self.timers.is_regular = true;
        }
        let is_taken = self.air.is_taken(tti + ANSWER);
        if let Some(grant) = self.scheduler.grant(tti, is_taken) {
            self.grants.push_back(grant);
        }
        if let Some(block) = self.air.take_again(tti) {
            self.air.send(tti, block);
        } else if let Some(grant) = pop_if(&mut self.grants, |grant| grant.tti == tti) {
            self.send(now, grant, out);
        } else if self.timers.is_regular && self.timers.request_from(tti) == tti {
            self.stats.requests += 1;
            self.scheduler.request(tti);
        }
        self.done = tti;
        self.plan(tti + 1);
    }

    fn outcome(&mut self, now: Time, outcome: Outcome<Option<Report>>, out: &mut impl Output) {
        match outcome {
            Outcome::Decoded(block) => {
                self.rlc.received(now, block.contents, out);
                match block.report {
                    Some(report) => self.scheduler.report(report),
                    None if self.grants.is_empty() => self.scheduler.ask(),
                    None => {}
                }
            }
            Outcome::Missing(block) => {
                let was_empty = self.buffered() == Bytes::ZERO;
                self.rlc.missing(now, block.contents, out);
                self.timers.is_regular |= was_empty && self.buffered() > Bytes::ZERO;
            }
        }
        self.plan(self.grid.from(now).max(self.done + 1));
    }
}

impl Element for Uplink {
    fn accept(&mut self, now: Time, packet: Packet, out: &mut impl Output) {
        self.advance(now, out);
        let was_empty = self.buffered() == Bytes::ZERO;
        let rng = &mut self.rng;
        let observer = out;
        self.buffer
            .enqueue(now, packet, &mut Context { rng, observer });
        self.timers.is_regular |= was_empty && self.buffered() > Bytes::ZERO;
        self.plan(self.grid.after(now));
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
        let (waiting, inside) = (self.buffer.backlog(), self.rlc.inside());
        Backlog {
            packets: waiting.packets + inside.packets,
            bytes: waiting.bytes + inside.bytes,
        }
    }

    fn each_layer(&self, tell: &mut dyn FnMut(Place, Backlog)) {
        tell(Place::Firmware, self.buffer.backlog());
        tell(Place::Radio, self.rlc.inside());
    }
}

#[cfg(test)]
mod tests {
    use super::super::block::OVERHEAD;
    use super::*;
    use crate::service::constant;
    use crate::testing::{Log, at_ms, at_us, drive, packet, run_until};
    use unbloat_qdisc::Reason;
    use unbloat_units::Rate;

    /// A TTI carries 1000 bytes of data, a header and a report; a first grant 120.
    fn params(request_ms: i64, report_ms: i64, air: air::Params) -> Params {
        Params {
            buffer: Bytes::new(10_000_000),
            rates: Rates::Constant(constant::Params {
                rate: Rate::bps((1_000 + OVERHEAD) * 8_000),
            }),
            air,
            request_period: Delta::ms(request_ms),
            first_grant: Bytes::new(120 + OVERHEAD),
            report_period: Delta::ms(report_ms),
            ..Params::default()
        }
    }

    const CLEAN: air::Params = air::Params {
        bler: 0.0,
        bler_again: 0.0,
        transmissions: 4,
        status: Delta::ms(50),
        resends: 16,
    };

    fn run(params: &Params, arrivals: &[(i64, u32)]) -> (Uplink, Log) {
        let mut link = Uplink::build(params, at_ms(0), &mut Rng::with_seed(5));
        let arrivals: Vec<_> = (0..)
            .zip(arrivals)
            .map(|(k, (us, len))| (at_us(*us), packet(k, *len)))
            .collect();
        let mut log = Log::default();
        drive(&mut link, &arrivals, &mut log);
        run_until(&mut link, Time::MAX, &mut log);
        assert_eq!(link.backlog(), Backlog::default());
        (link, log)
    }

    #[test]
    fn the_first_packet_takes_request_grant_block_and_decoding() {
        // Comes at 2.5 ms, asks in TTI 10, is granted in 14, sends in 18, is decoded at 22 ms:
        // 12 ms after the request began, as in 3GPP TR 36.881 (1 + 3 + 1 + 3 + 1 + 3).
        let (link, log) = run(&params(10, 5, CLEAN), &[(2_500, 100)]);
        assert_eq!(log.departures(), [(at_ms(22), 0)]);
        assert_eq!(log.waits_at(Place::Firmware), [(0, Delta::us(15_500))]);
        assert_eq!(log.waits_at(Place::Radio), [(0, Delta::ms(4))]);
        let expected = Stats {
            requests: 1,
            reports: 1,
            granted: Bytes::new(125),
            padding: Bytes::new(20),
        };
        assert_eq!(link.stats(), expected);
    }

    #[test]
    fn what_is_beyond_the_first_grant_is_reported_in_steps_and_granted_with_padding() {
        // 120 bytes in TTI 18 with a report of 1380, which is level 33: up to 1552. Decoded at 22,
        // granted in 22 and 23: 1000 in TTI 26, 552 for the other 380 in 27, decoded at 31 ms.
        let (link, log) = run(&params(10, 5, CLEAN), &[(2_500, 1_500)]);
        assert_eq!(log.departures(), [(at_ms(31), 0)]);
        let expected = Stats {
            requests: 1,
            // Due in 18 and 26, on padding in 27.
            reports: 3,
            granted: Bytes::new(125 + 1_005 + 557),
            padding: Bytes::new(172),
        };
        assert_eq!(link.stats(), expected);
    }

    #[test]
    fn a_packet_for_a_phone_with_grants_does_not_ask_anew() {
        let (link, log) = run(&params(10, 5, CLEAN), &[(2_500, 1_500), (17_500, 500)]);
        // Both are reported in TTI 18: 1880, level 35, up to 2127: 1000, 1000, 127 from TTI 26 on.
        assert_eq!(log.departures(), [(at_ms(31), 0), (at_ms(31), 1)]);
        assert_eq!(link.stats().requests, 1);
    }

    #[test]
    fn a_last_block_without_a_report_is_followed_by_a_grant() {
        // Packets that come after a report fill the padding of the last block; none is due in it,
        // and the rest would wait for 320 ms.
        for period_us in (1_000..20_000).step_by(300) {
            let light: Vec<(i64, u32)> = (0..300).map(|k| (2_500 + period_us * k, 700)).collect();
            let (_, log) = run(&params(10, 5, CLEAN), &light);
            let waits = log.waits_at(Place::Firmware);
            let longest = waits.iter().map(|(_, wait)| *wait).max().unwrap();
            assert!(longest < Delta::ms(100), "{period_us} us: {longest}");
        }
    }

    #[test]
    fn a_backlog_beyond_the_top_level_keeps_every_tti_busy() {
        let arrivals = [(500, 1_000); 400];
        let (link, log) = run(&params(1, 0, CLEAN), &arrivals);
        // Asks in TTI 1, sends 120 bytes in 9, then 1000 in each from 17 on.
        let expected = (0..400).map(|k| (at_ms(17 + i64::from(k) + 4), k));
        assert_eq!(log.departures(), expected.collect::<Vec<_>>());
        // In each TTI from 1 on until it has its first block; they are granted once.
        assert_eq!(link.stats().requests, 8);
    }

    #[test]
    fn harq_comes_again_after_eight_milliseconds() {
        let air = air::Params { bler: 1.0, ..CLEAN };
        let (_, log) = run(&params(1, 5, air), &[(500, 100)]);
        // Sent in TTI 9 and 17.
        assert_eq!(log.departures(), [(at_ms(21), 0)]);
    }

    #[test]
    fn what_harq_gives_up_is_asked_for_and_sent_again_by_rlc() {
        let air = air::Params {
            bler: 1.0,
            transmissions: 1,
            resends: 1,
            ..CLEAN
        };
        // Sent in TTI 9, known missing at 13 + 50; asks in 63, sends in 71, missing at 75 + 50.
        let (link, log) = run(&params(1, 5, air), &[(500, 100)]);
        assert_eq!(log.drops(), [(at_ms(125), 0, Reason::Radio)]);
        assert_eq!(link.stats().requests, 2 * 8);
    }

    #[test]
    fn a_phone_whose_report_was_lost_asks_again_when_the_timer_runs_out() {
        // The first block fails for good, with its report of what is left; no other does.
        let air = air::Params {
            bler: 1.0,
            transmissions: 1,
            ..CLEAN
        };
        let mut link = Uplink::build(&params(1, 5, air), at_ms(0), &mut Rng::with_seed(0));
        let mut log = Log::default();
        link.accept(at_us(500), packet(0, 600), &mut log);
        run_until(&mut link, at_ms(9), &mut log);
        link.air = Air::new(CLEAN, link.grid, Rng::with_seed(0));
        run_until(&mut link, at_ms(328), &mut log);
        assert_eq!(link.stats().requests, 8);
        run_until(&mut link, at_ms(329), &mut log);
        assert_eq!(link.stats().requests, 9, "320 ms after TTI 9");
    }

    #[test]
    fn the_buffer_drops_what_does_not_fit() {
        let small = Params {
            buffer: Bytes::new(2_500),
            ..params(10, 5, CLEAN)
        };
        let (link, log) = run(&small, &[(100, 1_500), (100, 1_500), (100, 1_000)]);
        assert_eq!(log.drops(), [(at_us(100), 1, Reason::Overflow)]);
        assert_eq!((log.delivered.len(), link.waiting()), (2, Bytes::ZERO));
    }
}
