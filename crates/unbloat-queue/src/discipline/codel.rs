//! One queue under CoDel.
//!
//! # References
//!
//! RFC 8289; Linux 6.12 `net/sched/sch_codel.c`. The law itself is in [`crate::law::codel`].
//!
//! # Where we differ
//!
//! 1. Linux lets a packet pass an empty queue without asking CoDel (`TCQ_F_CAN_BYPASS`). Here it
//!    goes through, which has no effect but to reset the first-above time, as an empty queue does.

use crate::device::Device;
use crate::event::Reason;
use crate::fifo::Fifo;
use crate::law::codel as law;
use crate::packet::Packet;
use crate::queue::{Backlog, Context, Queue};
use unbloat_units::Time;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    pub law: law::Params,
    pub limit_packets: u32,
    pub device: Device,
}

impl Default for Params {
    /// As in Linux: 1,000 packets.
    fn default() -> Params {
        Params {
            law: law::Params::default(),
            limit_packets: 1_000,
            device: Device::default(),
        }
    }
}

/// A CoDel queue.
#[derive(Clone, Debug)]
pub struct Codel {
    law: law::Law,
    store: Store,
    state: law::State,
    limit_packets: u32,
    stats: law::Stats,
}

#[derive(Clone, Debug)]
struct Store {
    fifo: Fifo,
    device: Device,
}

impl law::Source for Store {
    #[inline]
    fn pop(&mut self) -> Option<Packet> {
        self.fifo.pop()
    }

    #[inline]
    fn backlog(&self) -> u64 {
        self.device.frames(self.fifo.backlog())
    }
}

impl Codel {
    pub fn new(params: Params) -> Codel {
        Codel {
            law: law::Law::new(&params.law, params.device.frame_mtu()),
            store: Store {
                fifo: Fifo::default(),
                device: params.device,
            },
            state: law::State::default(),
            limit_packets: params.limit_packets,
            stats: law::Stats::default(),
        }
    }

    pub fn stats(&self) -> law::Stats {
        self.stats
    }
}

impl Queue for Codel {
    #[inline]
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Context<'_>) {
        if self.store.fifo.packets() >= self.limit_packets {
            return cx.dropped(now, packet, Reason::Overflow);
        }
        self.store.fifo.push(now, packet);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, cx: &mut Context<'_>) -> Option<Packet> {
        self.state
            .dequeue(&self.law, &mut self.stats, now, &mut self.store, cx)
    }

    fn backlog(&self) -> Backlog {
        self.store.fifo.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{bottleneck, bytes, paced};
    use unbloat_units::{Delta, Rate};

    #[test]
    fn the_queue_refuses_what_exceeds_its_limit_and_keeps_count() {
        let mut queue = Codel::new(Params {
            limit_packets: 3,
            ..Params::default()
        });
        let arrivals = paced(Time::from_ns(0), Delta::ZERO, 5, 100);
        let run = bottleneck(&mut queue, Rate::mbps(1), arrivals);
        assert_eq!(run.drops(), [(3, Reason::Overflow), (4, Reason::Overflow)]);
        assert_eq!(run.sent_handles(), [0, 1, 2]);
        assert_eq!(bytes(&run.sent).as_u64(), 300);
        assert_eq!(queue.backlog(), Backlog::default());
        assert_eq!(queue.stats(), law::Stats::default());
    }
}
