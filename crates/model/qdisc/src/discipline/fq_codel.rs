//! Fair queueing over hashed flows, each under its own CoDel; new flows go first.
//!
//! # References
//!
//! RFC 8290; Linux 6.12 `net/sched/sch_fq_codel.c`. The law of each queue is [`crate::law::codel`].
//!
//! # Where we differ
//!
//! 1. Linux keeps no salt of its own (the hash of a packet is salted since boot); here the flow's
//!    hash is mixed with `salt`, so that numbered flows spread as well (RFC 8290 section 5.3).
//! 2. Memory is charged by the rule of [`Device::memory`] instead of the buffers' true size.
//! 3. CoDel's rule of the last MTU looks at the backlog of all queues together, as Linux does;
//!    RFC 8290 speaks of the flow's own queue.
//! 4. A queue over its limit is relieved by up to `drop_batch` packets of the fattest flow, down
//!    to half of its backlog, as Linux does and RFC 8290 section 4.1 recommends in words.

use crate::chain::Chains;
use crate::device::Device;
use crate::event::Reason;
use crate::fixed::bucket;
use crate::law::codel as law;
use crate::packet::Packet;
use crate::queue::{Backlog, Context, Queue};
use crate::slab::{List, Slab};
use unbloat_params::params;
use unbloat_params::range::{COUNT, SIZE};
use unbloat_units::{Bytes, Time};

params! {
    /// RFC 8290 section 5.2 and Linux; ECN is on.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params: LinkSettings {
        pub law: law::Params = law::Params { ecn: true, ..law::Params::default() } => from(law::Params::read);
        pub limit_packets: u32 = 10_240 => limit;
        pub memory_limit: Bytes = Bytes::mib(32) => within(SIZE);
        /// Number of queues, at most 65,533.
        pub flows: u16 = 1_024 => within(1..=65_533);
        /// Bytes of frames that a flow may send in its turn.
        pub quantum: u32 = Device::ETHERNET.frame_mtu() => within("quantum_bytes", 1..=1_000_000);
        /// Most packets that are dropped at once from the fattest flow.
        pub drop_batch: u32 = 64 => within(COUNT);
        /// Decides which flows share a queue.
        pub salt: u32 = 0;
        pub device: Device = Device::ETHERNET => part;
    }
}

/// What is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub codel: law::Stats,
    /// Dropped because a limit was exceeded.
    pub overflow_drops: u64,
    /// Of those, because it was the limit of memory.
    pub overmemory_drops: u64,
    /// How often a flow became a new one.
    pub new_flows: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    packets: List,
    deficit: i32,
    codel: law::State,
}

/// Totals over all flows.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    packets: u32,
    frames: u64,
    memory: u64,
}

const NEW: usize = 0;
const OLD: usize = 1;

/// An FQ-CoDel queue.
#[derive(Clone, Debug)]
pub struct FqCodel {
    params: Params,
    law: law::Law,
    slab: Slab,
    flows: Vec<Flow>,
    /// Bytes of frames per flow: apart from the flows, as overload searches all of them.
    backlogs: Vec<u32>,
    chains: Chains<2>,
    totals: Totals,
    stats: Stats,
}

/// One flow's queue, as CoDel sees it.
struct FlowQueue<'a> {
    slab: &'a mut Slab,
    list: &'a mut List,
    backlog: &'a mut u32,
    totals: &'a mut Totals,
    device: Device,
}

impl law::Source for FlowQueue<'_> {
    #[inline]
    fn pop(&mut self) -> Option<Packet> {
        let packet = self.slab.pop(self.list)?;
        let frame = self.device.frame(&packet);
        *self.backlog -= frame;
        self.totals.packets -= 1;
        self.totals.frames -= u64::from(frame);
        self.totals.memory -= u64::from(self.device.memory(&packet));
        Some(packet)
    }

    #[inline]
    fn backlog(&self) -> u64 {
        self.totals.frames
    }
}

impl FqCodel {
    pub fn new(params: Params) -> FqCodel {
        let flows = usize::from(params.flows);
        FqCodel {
            law: law::Law::new(&params.law, params.device.frame_mtu()),
            slab: Slab::new(),
            flows: vec![Flow::default(); flows],
            backlogs: vec![0; flows],
            chains: Chains::new(params.flows),
            totals: Totals::default(),
            stats: Stats::default(),
            params,
        }
    }

    pub fn stats(&self) -> Stats {
        self.stats
    }

    fn queue(&mut self, flow: usize) -> (FlowQueue<'_>, &mut law::State, &mut law::Stats) {
        let Flow { packets, codel, .. } = &mut self.flows[flow];
        let queue = FlowQueue {
            slab: &mut self.slab,
            list: packets,
            backlog: &mut self.backlogs[flow],
            totals: &mut self.totals,
            device: self.params.device,
        };
        (queue, codel, &mut self.stats.codel)
    }

    /// Drops from the head of the flow with the most bytes, down to half of them at most.
    fn relieve(&mut self, now: Time, cx: &mut Context<'_>) -> u32 {
        use law::Source;
        let (fattest, most) = fattest(&self.backlogs);
        let batch = self.params.drop_batch.max(1);
        let (mut queue, codel, _) = self.queue(fattest);
        let mut dropped = 0;
        while let Some(packet) = queue.pop() {
            dropped += 1;
            cx.dropped(now, packet, Reason::Overflow);
            if dropped >= batch || most - *queue.backlog >= most / 2 {
                break;
            }
        }
        codel.add_drops(dropped);
        dropped
    }
}

/// The first flow with the largest backlog.
fn fattest(backlogs: &[u32]) -> (usize, u32) {
    let most = backlogs.iter().copied().max().unwrap_or(0);
    let at = backlogs.iter().position(|bytes| *bytes == most);
    (at.unwrap_or(0), most)
}

impl Queue for FqCodel {
    #[inline]
    fn enqueue(&mut self, now: Time, mut packet: Packet, cx: &mut Context<'_>) {
        let params = &self.params;
        let at = bucket(packet.flow.0, params.salt, u32::from(params.flows)) as u16;
        let frame = params.device.frame(&packet);
        packet.enqueued = now;
        let flow = &mut self.flows[usize::from(at)];
        self.slab.push(&mut flow.packets, packet);
        self.backlogs[usize::from(at)] += frame;
        self.totals.packets += 1;
        self.totals.frames += u64::from(frame);
        self.totals.memory += u64::from(params.device.memory(&packet));
        if !self.chains.is_linked(at) {
            self.chains.move_to_end(at, NEW);
            self.stats.new_flows += 1;
            flow.deficit = params.quantum as i32;
        }
        let is_over_memory = self.totals.memory > params.memory_limit.as_u64();
        if self.totals.packets > params.limit_packets || is_over_memory {
            let dropped = u64::from(self.relieve(now, cx));
            self.stats.overflow_drops += dropped;
            self.stats.overmemory_drops += if is_over_memory { dropped } else { 0 };
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, cx: &mut Context<'_>) -> Option<Packet> {
        loop {
            let (list, at) = match self.chains.first(NEW) {
                Some(at) => (NEW, at),
                None => (OLD, self.chains.first(OLD)?),
            };
            let index = usize::from(at);
            if self.flows[index].deficit <= 0 {
                self.flows[index].deficit += self.params.quantum as i32;
                self.chains.move_to_end(at, OLD);
                continue;
            }
            let law = self.law;
            let (mut queue, codel, stats) = self.queue(index);
            let Some(packet) = codel.dequeue(&law, stats, now, &mut queue, cx) else {
                // A new flow passes once through the old ones, or it could starve them.
                if list == NEW && self.chains.first(OLD).is_some() {
                    self.chains.move_to_end(at, OLD);
                } else {
                    self.chains.unlink(at);
                }
                continue;
            };
            self.flows[index].deficit -= self.params.device.frame(&packet) as i32;
            return Some(packet);
        }
    }

    fn backlog(&self) -> Backlog {
        let Totals {
            packets, frames, ..
        } = self.totals;
        let headers = u64::from(packets) * u64::from(self.params.device.header);
        Backlog {
            packets,
            bytes: Bytes::new(frames - headers),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{FlowHash, IpLen};
    use crate::testkit::{Run, bottleneck};
    use unbloat_units::Rate;

    fn burst(flow: u32, first: u32, count: u32) -> impl Iterator<Item = (Time, Packet)> {
        (first..first + count).map(move |handle| {
            let packet = Packet::new(handle, IpLen::new(1_500), FlowHash(flow));
            (Time::from_ns(0), packet)
        })
    }

    fn overflowed(run: &Run) -> Vec<u32> {
        let drops = run.drops().into_iter();
        drops
            .filter(|(_, reason)| *reason == Reason::Overflow)
            .map(|(handle, _)| handle)
            .collect()
    }

    #[test]
    fn flows_take_turns_and_a_new_flow_goes_before_them() {
        let arrivals = burst(1, 0, 6).chain(burst(2, 10, 6)).chain([(
            Time::from_ns(2_500_000),
            Packet::new(99, IpLen::new(100), FlowHash(3)),
        )]);
        let run = bottleneck(
            &mut FqCodel::new(Params::default()),
            Rate::mbps(12),
            arrivals,
        );
        // A packet takes 1 ms; 99 comes while the third one is sent.
        assert_eq!(
            run.sent_handles(),
            [0, 10, 1, 99, 11, 2, 12, 3, 13, 4, 14, 5, 15]
        );
    }

    #[test]
    fn overload_halves_the_fattest_flow_by_a_batch_at_most() {
        let dropped = |batch| {
            let mut queue = FqCodel::new(Params {
                limit_packets: 100,
                drop_batch: batch,
                ..Params::default()
            });
            let arrivals = burst(1, 0, 80).chain(burst(2, 100, 22));
            let run = bottleneck(&mut queue, Rate::bps(1_000), arrivals);
            let handles = overflowed(&run);
            assert_eq!(queue.stats().overflow_drops, handles.len() as u64);
            handles
        };
        // Half of the 80 packets go from the head, or what the batch allows.
        assert_eq!(dropped(64), (0..40).collect::<Vec<_>>());
        assert_eq!(dropped(5), (0..5).collect::<Vec<_>>());
    }

    #[test]
    fn the_limit_of_memory_counts_what_packets_really_take() {
        let mut queue = FqCodel::new(Params {
            memory_limit: Bytes::new(10 * 2_304),
            drop_batch: 1,
            ..Params::default()
        });
        let run = bottleneck(&mut queue, Rate::bps(1_000), burst(1, 0, 13));
        assert_eq!(overflowed(&run), [0, 1, 2]);
        assert_eq!(queue.stats().overmemory_drops, 3);
    }
}
