//! CAKE: a shaper, traffic classes, fairness among flows and hosts, and COBALT, in one discipline.
//!
//! # References
//!
//! - Høiland-Jørgensen, Täht, Morton, "Piece of CAKE: A Comprehensive Queue Management Solution for
//!   Home Gateways", LANMAN 2018 (arXiv 1804.07617).
//! - Linux 6.12 `net/sched/sch_cake.c`; the manual tc-cake(8).
//!
//! The law of each queue is [`crate::law::cobalt`]; the parts are in the files beside this one:
//! `tin.rs` (classes and their rates), `hosts.rs` (which queue for which flow), `ack_filter.rs`,
//! `overflow.rs` (whom to cut when memory runs out).
//!
//! # Where we differ
//!
//! | # | theirs | ours | why |
//! |---|---|---|---|
//! | 1 | Linux hashes addresses and ports | `flow`, `source` and `destination` of the packet, mixed with `salt` | the driver knows who they are |
//! | 2 | the ACK filter reads TCP headers; any segment with ACK triggers it | [`crate::PureAck`], so only ACKs without data trigger, and what is special is never dropped | queues see no headers |
//! | 3 | SACK blocks are compared one by one | by the bytes they cover | the same for a receiver that forgets nothing |
//! | 4 | memory is charged by the buffers' true size | by the rule of [`crate::Device::memory`] | |
//! | 5 | autorate-ingress, NAT lookup, firewall marks, the `precedence` classes | left out | nothing here needs them |
//! | 6 | aggregates are split into segments | packets come one by one | |
//!
//! Kept although it surprises: the last packet of a queue is delivered even when the law dropped it,
//! and a decision of the law counts all the same; with `ingress`, dropped packets use up the shaper.

mod ack_filter;
mod flow;
mod hosts;
mod overflow;
mod params;
mod tin;

pub use params::{AckFilter, Diffserv, Isolation, Params};
pub use tin::TinStats;

use crate::event::Reason;
use crate::law::cobalt::Verdict;
use crate::packet::{Dscp, Packet};
use crate::queue::{Backlog, Context, Queue};
use crate::slab::Slab;
use flow::{QUEUES, Set};
use hosts::Keys;
use overflow::Backlogs;
use tin::{DECAYING, NEW, OLD, Pace, Tin};
use unbloat_units::{Bytes, Delta, Rate, Time};

/// A CAKE queue.
#[derive(Clone, Debug)]
pub struct Cake {
    params: Params,
    slab: Slab,
    tins: Vec<Tin>,
    tin_of_dscp: &'static [u8; 64],
    backlogs: Backlogs,
    /// Of the whole shaper; each tin has its own.
    pace: Pace,
    time_next: Time,
    /// Allows a packet now and then although dropped packets have used up the link (`ingress`).
    failsafe_next: Time,
    current: usize,
    packets: u32,
    bytes: u64,
    memory: u64,
    memory_limit: u64,
}

/// A queue: tin and flow.
#[derive(Clone, Copy, Debug)]
struct At {
    tin: usize,
    flow: u16,
}

impl At {
    fn number(self) -> usize {
        self.tin * QUEUES + usize::from(self.flow)
    }
}

/// What became of a queue whose turn it was.
enum Turn {
    Sent(Packet),
    /// Another queue of the same tin.
    Next,
    /// Begin again with the shaper.
    Over,
}

impl Cake {
    pub fn new(params: Params) -> Cake {
        let (tins, tin_of_dscp) = tin::build(&params);
        Cake {
            slab: Slab::new(),
            pace: tins[0].pace,
            tins,
            tin_of_dscp,
            backlogs: Backlogs::new(),
            time_next: Time::from_ns(0),
            failsafe_next: Time::from_ns(0),
            current: 0,
            packets: 0,
            bytes: 0,
            memory: 0,
            memory_limit: tin::memory_limit(&params),
            params,
        }
    }

    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Shapes to another rate from the next packet on, as `tc qdisc change` does: queues, laws and counts stay.
    pub fn set_rate(&mut self, rate: Option<Rate>) {
        self.params.rate = rate;
        tin::retune(&mut self.tins, &self.params);
        self.pace = self.tins[0].pace;
        self.memory_limit = tin::memory_limit(&self.params);
    }

    /// Of each tin, in the order of `Diffserv`'s tables.
    pub fn stats(&self) -> impl Iterator<Item = TinStats> {
        self.tins.iter().map(|tin| tin.stats)
    }

    /// Until when the shaper holds packets back, if it does.
    #[inline]
    fn held_until(&self, now: Time) -> Option<Time> {
        let next = self.time_next.min(self.failsafe_next);
        (next > now).then_some(next)
    }

    /// Keeps an idle shaper from saving up time.
    #[inline]
    fn wake_shaper(&mut self, tin: usize, now: Time) {
        let state = &mut self.tins[tin];
        if state.backlog > 0 {
            return;
        }
        state.time_next = state.time_next.max(now);
        if self.packets == 0 && self.time_next < now {
            self.time_next = now;
            self.failsafe_next = now;
        }
    }

    /// Charges the packet to the shaper and to its tin; the bytes charged.
    #[inline]
    fn charge(&mut self, tin: usize, packet: &Packet, now: Time, is_dropped: bool) -> u32 {
        let len = self.params.link_len(packet);
        if self.pace.is_limited() {
            let state = &mut self.tins[tin];
            let tin_time = state.pace.time_of(len);
            state.time_next = if state.time_next < now {
                state.time_next + tin_time
            } else {
                state.time_next.max(now + tin_time)
            };
            let time = self.pace.time_of(len);
            self.time_next += time;
            if !is_dropped {
                self.failsafe_next += time + Delta::ns(time.as_ns() >> 1);
            }
        }
        len
    }

    /// Takes the packet out of all counts.
    #[inline]
    fn leave(&mut self, at: At, packet: &Packet) {
        let frame = self.params.device.frame(packet);
        self.backlogs.shrink(at.number(), frame);
        self.tins[at.tin].backlog -= u64::from(frame);
        self.packets -= 1;
        self.bytes -= u64::from(packet.len.as_u32());
        self.memory -= u64::from(self.params.device.memory(packet));
    }

    #[inline]
    fn take(&mut self, at: At) -> Option<Packet> {
        let flow = &mut self.tins[at.tin].flows[usize::from(at.flow)];
        let packet = self.slab.pop(&mut flow.packets)?;
        self.leave(at, &packet);
        self.backlogs.sunk(at.number());
        Some(packet)
    }

    /// Drops from the head of the longest queue of all.
    fn cut_longest(&mut self, now: Time, cx: &mut Context<'_>) {
        let number = self.backlogs.largest();
        let at = At {
            tin: number / QUEUES,
            flow: (number % QUEUES) as u16,
        };
        let Some(packet) = self.take(at) else {
            return self.backlogs.rebuild_next_time();
        };
        let tin = &mut self.tins[at.tin];
        let flow = &mut tin.flows[usize::from(at.flow)];
        flow.law.overflowed(&tin.law, now);
        tin.stats.overflow_drops += 1;
        if self.params.ingress {
            self.charge(at.tin, &packet, now, true);
        }
        cx.dropped(now, packet, Reason::Overflow);
    }

    fn filter_acks(&mut self, at: At, now: Time, cx: &mut Context<'_>) {
        let mode = self.params.ack_filter;
        let list = &mut self.tins[at.tin].flows[usize::from(at.flow)].packets;
        if mode == AckFilter::Off {
            return;
        }
        if let Some(ack) = ack_filter::filter(&mut self.slab, list, mode) {
            self.leave(at, &ack);
            self.tins[at.tin].stats.ack_drops += 1;
            if self.params.ingress {
                self.charge(at.tin, &ack, now, true);
            }
            cx.dropped(now, ack, Reason::AckFilter);
        }
    }

    /// Puts the flow of an arrived packet into the rotation.
    #[inline]
    fn enlist(&mut self, At { tin, flow }: At, cx: &mut Context<'_>) {
        let state = &mut self.tins[tin];
        match state.flows[usize::from(flow)].set {
            Set::Idle | Set::Decaying => {
                state.chains.move_to_end(flow, NEW);
                state.flows[usize::from(flow)].set = Set::Sparse;
                state.sparse += 1;
                let quantum = state.quantum_of(flow, &self.params, cx.rng);
                state.flows[usize::from(flow)].deficit = quantum;
            }
            Set::SparseWait => state.become_bulk(flow, &self.params),
            Set::Sparse | Set::Bulk => {}
        }
    }

    /// The tin whose turn it is, if any has packets.
    #[inline]
    fn choose_tin(&mut self, now: Time) -> Option<usize> {
        if self.tins.len() == 1 && self.pace.is_limited() {
            return self.tins[0].is_busy().then_some(0);
        }
        if self.pace.is_limited() {
            self.choose_by_schedule(now)
        } else {
            self.choose_by_deficit()
        }
    }

    /// The highest tin that keeps to its rate, else the one that will do so first.
    fn choose_by_schedule(&self, now: Time) -> Option<usize> {
        let mut best = None;
        let mut best_wait = Delta::MAX;
        for (number, tin) in self.tins.iter().enumerate() {
            let wait = tin.time_next.since(now);
            if tin.is_busy() && (wait <= Delta::ZERO || wait <= best_wait) {
                best = Some(number);
                best_wait = wait;
            }
        }
        best
    }

    /// Deficit round robin: without a shaper there is no schedule to keep to.
    fn choose_by_deficit(&mut self) -> Option<usize> {
        let (mut has_wrapped, mut is_empty) = (false, true);
        loop {
            for tin in &mut self.tins[self.current..] {
                let is_busy = tin.is_busy();
                if tin.deficit >= 0 && is_busy {
                    return Some(self.current);
                }
                if tin.deficit <= 0 {
                    tin.deficit += tin.quantum;
                }
                is_empty &= !is_busy;
                self.current += 1;
            }
            self.current = 0;
            if has_wrapped && is_empty {
                return None;
            }
            has_wrapped = true;
        }
    }

    /// The flow to serve: decaying ones get one look per packet, then new flows, then old ones.
    #[inline]
    fn choose_flow(&self, tin: usize, may_decay: bool) -> Option<u16> {
        let chains = &self.tins[tin].chains;
        let decaying = || chains.first(DECAYING);
        may_decay
            .then(decaying)
            .flatten()
            .or_else(|| chains.first(NEW))
            .or_else(|| chains.first(OLD))
            .or_else(decaying)
    }

    /// Serves a flow: refills its deficit, or sends one of its packets (DRR++).
    #[inline]
    fn serve(&mut self, at: At, now: Time, cx: &mut Context<'_>) -> Turn {
        let tin = &mut self.tins[at.tin];
        let flow = &mut tin.flows[usize::from(at.flow)];
        if flow.deficit <= 0 {
            if flow.set == Set::Sparse {
                if flow.packets.is_empty() {
                    flow.set = Set::SparseWait;
                } else {
                    tin.become_bulk(at.flow, &self.params);
                }
            }
            let quantum = tin.quantum_of(at.flow, &self.params, cx.rng);
            tin.flows[usize::from(at.flow)].deficit += quantum;
            tin.chains.move_to_end(at.flow, OLD);
            return Turn::Next;
        }
        while let Some(mut packet) = self.take(at) {
            let Some(reason) = self.judge(at, &mut packet, now, cx) else {
                self.account_for(at, &packet, now);
                return Turn::Sent(packet);
            };
            if self.params.ingress {
                let len = self.charge(at.tin, &packet, now, true) as i32;
                self.spend(at, len);
            }
            cx.dropped(now, packet, reason);
            if self.params.ingress {
                return Turn::Next;
            }
        }
        self.rest(at, now);
        Turn::Over
    }

    /// Marks the packet if the law says so; why it is to be dropped, if it is.
    #[inline]
    fn judge(
        &mut self,
        at: At,
        packet: &mut Packet,
        now: Time,
        cx: &mut Context<'_>,
    ) -> Option<Reason> {
        let tin = &mut self.tins[at.tin];
        let bulk = if self.params.ingress { tin.bulk } else { 0 };
        let flow = &mut tin.flows[usize::from(at.flow)];
        let sojourn = now.since(packet.enqueued);
        let is_capable = packet.ecn.is_capable();
        let Verdict { mark, drop } = flow
            .law
            .judge(&tin.law, now, sojourn, bulk, is_capable, cx.rng);
        if mark {
            tin.stats.marks += 1;
            cx.mark(now, packet, Reason::Sojourn);
        }
        // The last packet of a queue is never dropped.
        let reason = drop.filter(|_| !flow.packets.is_empty())?;
        let is_blue = reason == Reason::Blue;
        tin.stats.blue_drops += u64::from(is_blue);
        tin.stats.sojourn_drops += u64::from(!is_blue);
        Some(reason)
    }

    #[inline]
    fn account_for(&mut self, at: At, packet: &Packet, now: Time) {
        let len = self.charge(at.tin, packet, now, false) as i32;
        self.spend(at, len);
        let tin = &mut self.tins[at.tin];
        tin.stats.sent_packets += 1;
        tin.note_delay(now.since(packet.enqueued));
        self.backlogs.packet_sent();
    }

    #[inline]
    fn spend(&mut self, at: At, len: i32) {
        let tin = &mut self.tins[at.tin];
        tin.flows[usize::from(at.flow)].deficit -= len;
        tin.deficit -= len;
    }

    /// Takes an empty flow out of the rotation, or lets it decay.
    fn rest(&mut self, At { tin, flow }: At, now: Time) {
        let state = &mut self.tins[tin];
        let law = &mut state.flows[usize::from(flow)].law;
        law.found_empty(&state.law, now);
        if law.is_active(now) {
            state.chains.move_to_end(flow, DECAYING);
            state.retire(flow, Set::Decaying, &self.params);
        } else {
            state.chains.unlink(flow);
            state.retire(flow, Set::Idle, &self.params);
        }
    }
}

impl Queue for Cake {
    #[inline]
    fn enqueue(&mut self, now: Time, mut packet: Packet, cx: &mut Context<'_>) {
        let tin = tin::of_dscp(self.tin_of_dscp, packet.dscp);
        if self.params.wash {
            packet.dscp = Dscp(0);
        }
        let isolation = self.params.isolation;
        let keys = Keys::of(&packet, isolation, self.params.salt);
        let flow = self.tins[tin].queue_for(keys, isolation);
        let at = At { tin, flow };
        self.wake_shaper(tin, now);
        packet.enqueued = now;
        let frame = self.params.device.frame(&packet);
        let state = &mut self.tins[tin];
        self.slab
            .push(&mut state.flows[usize::from(flow)].packets, packet);
        state.backlog += u64::from(frame);
        self.backlogs.grow(at.number(), frame);
        self.packets += 1;
        self.bytes += u64::from(packet.len.as_u32());
        self.memory += u64::from(self.params.device.memory(&packet));
        self.filter_acks(at, now, cx);
        self.backlogs.risen(at.number());
        self.enlist(at, cx);
        while self.memory > self.memory_limit {
            self.cut_longest(now, cx);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, cx: &mut Context<'_>) -> Option<Packet> {
        let mut is_first = true;
        'shaper: loop {
            if self.packets == 0 || self.held_until(now).is_some() {
                return None;
            }
            let tin = self.choose_tin(now)?;
            self.current = tin;
            while let Some(flow) = self.choose_flow(tin, is_first) {
                is_first = false;
                match self.serve(At { tin, flow }, now, cx) {
                    Turn::Sent(packet) => return Some(packet),
                    Turn::Next => {}
                    Turn::Over => continue 'shaper,
                }
            }
        }
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.packets,
            bytes: Bytes::new(self.bytes),
        }
    }

    #[inline]
    fn ready_at(&self, now: Time) -> Option<Time> {
        (self.packets > 0).then(|| self.held_until(now).unwrap_or(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{FlowHash, Host, IpLen};
    use crate::testkit::{bottleneck, paced};

    fn at_mbps(mbps: u64) -> Params {
        Params {
            rate: Some(Rate::mbps(mbps)),
            ..Params::default()
        }
    }

    #[test]
    fn the_shaper_spaces_packets_by_their_length_on_the_link() {
        // 1,500 bytes and 44 of overhead in 33 ATM cells: 1,749 bytes, 1.3992 ms at 10 Mbit/s.
        let mut queue = Cake::new(Params {
            overhead: Some(44),
            cells: unbloat_units::Cells::Atm,
            ..at_mbps(10)
        });
        let arrivals = paced(Time::from_ns(0), Delta::ZERO, 60, 1_500);
        let run = bottleneck(&mut queue, Rate::mbps(1_000), arrivals);
        let sent = run.sent.len() as i64;
        let last = run.sent[sent as usize - 1].0;
        let expected = Delta::ns(1_399_200) * (sent - 1);
        let off = (last.as_ns() - expected.as_ns()).abs();
        // The time per byte is rounded down to a part in 2^31.
        assert!(sent > 40 && off <= sent, "{sent} packets, {off} ns off");
    }

    #[test]
    fn another_rate_holds_from_the_next_packet_on_and_nothing_that_waits_is_lost() {
        // A law that drops nothing within the test.
        let mut queue = Cake::new(Params {
            target: Delta::secs(10),
            rtt: Delta::secs(100),
            ..at_mbps(1)
        });
        let (mut rng, mut events) = (fastrand::Rng::with_seed(1), Vec::new());
        let mut cx = Context {
            rng: &mut rng,
            observer: &mut events,
        };
        for handle in 0..10 {
            let packet = Packet::new(handle, IpLen::new(1_486), FlowHash(1));
            queue.enqueue(Time::from_ns(0), packet, &mut cx);
        }
        let mut now = Time::from_ns(0);
        let mut next = |of: &mut Cake| {
            now = of.ready_at(now).expect("packets wait");
            of.dequeue(now, &mut cx).expect("it is time");
            now
        };
        // 1,500 bytes of frame take 12 ms at 1 Mbit/s, and 1.2 ms at 10.
        assert_eq!(next(&mut queue), Time::from_ns(0));
        assert_eq!(next(&mut queue), Time::from_ns(12_000_000));
        queue.set_rate(Some(Rate::mbps(10)));
        assert_eq!(next(&mut queue), Time::from_ns(24_000_000));
        let (fourth, fifth) = (next(&mut queue), next(&mut queue));
        assert_eq!((fourth.as_ns() + 5) / 100_000, 252);
        assert_eq!((fifth.as_ns() + 5) / 100_000, 264);
        assert_eq!(queue.backlog().packets, 5);
        queue.set_rate(None);
        let at = queue.ready_at(fifth);
        assert!(at.is_some(), "what waits still leaves");
    }

    #[test]
    fn hosts_get_equal_shares_however_many_flows_they_have() {
        // Host 1 has eight flows, host 2 one; all offer more than their share.
        let arrivals = (0..18_000).map(|k| {
            let flow = k % 9;
            let packet = Packet {
                source: Host(if flow == 8 { 2 } else { 1 }),
                destination: Host(flow),
                ..Packet::new(k, IpLen::new(1_500), FlowHash(flow))
            };
            (Time::from_ns(0) + Delta::us(200) * i64::from(k), packet)
        });
        let share = |isolation| {
            let mut queue = Cake::new(Params {
                isolation,
                ..at_mbps(10)
            });
            let run = bottleneck(&mut queue, Rate::mbps(1_000), arrivals.clone());
            let window = &run.sent[500..2_500];
            let alone = window.iter().filter(|(_, p)| p.source == Host(2)).count();
            alone as f64 / window.len() as f64
        };
        assert!((share(Isolation::TripleIsolate) - 0.5).abs() < 0.02);
        assert!((share(Isolation::Flows) - 1.0 / 9.0).abs() < 0.01);
    }

    #[test]
    fn a_tin_within_its_rate_goes_before_best_effort() {
        let bulk = paced(Time::from_ns(0), Delta::us(600), 1_000, 1_500);
        let voice = (0..50).map(|k| {
            let packet = Packet {
                dscp: Dscp(46),
                ..Packet::new(10_000 + k, IpLen::new(200), FlowHash(77))
            };
            (Time::from_ns(0) + Delta::ms(10) * i64::from(k), packet)
        });
        let mut arrivals: Vec<_> = bulk.chain(voice).collect();
        arrivals.sort_by_key(|(at, _)| *at);
        let run = bottleneck(&mut Cake::new(at_mbps(10)), Rate::mbps(1_000), arrivals);
        let waits = run
            .sent
            .iter()
            .filter(|(_, packet)| packet.dscp == Dscp(46))
            .map(|(at, packet)| at.since(packet.enqueued));
        // At most for the packet before it: 1,514 bytes at 10 Mbit/s.
        assert!(waits.max().is_some_and(|wait| wait <= Delta::us(1_212)));
    }

    #[test]
    fn a_flow_that_does_not_respond_meets_blue_and_memory_stays_bounded() {
        let mut queue = Cake::new(Params {
            memory_limit: Some(Bytes::new(100_000)),
            ..at_mbps(5)
        });
        let arrivals = paced(Time::from_ns(0), Delta::us(300), 20_000, 1_500);
        bottleneck(&mut queue, Rate::mbps(1_000), arrivals);
        let total = queue
            .stats()
            .fold(TinStats::default(), |sum, tin| TinStats {
                blue_drops: sum.blue_drops + tin.blue_drops,
                overflow_drops: sum.overflow_drops + tin.overflow_drops,
                sent_packets: sum.sent_packets + tin.sent_packets,
                ..sum
            });
        assert!(
            total.blue_drops > 1_000 && total.overflow_drops > 1_000,
            "{total:?}"
        );
    }
}
