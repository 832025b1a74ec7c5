//! NAME: what it does, in one line.
//!
//! # References
//! Author, "Title", venue, year, section; RFC; Linux file.
//!
//! # Where we differ
//! 1. What, and why.

use crate::event::Reason;
use crate::packet::Packet;
use crate::queue::{Backlog, Context, Queue};
use std::collections::VecDeque;
use unbloat_params::{LinkSettings, Read};
use unbloat_units::{Bytes, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    pub limit_packets: u32,
}

impl Default for Params {
    /// As in the reference.
    fn default() -> Params {
        Params {
            limit_packets: 1_000,
        }
    }
}

impl<S: LinkSettings> Read<S> for Params {
    fn read(settings: &mut S) -> Result<Params, S::Error> {
        let default = Params::default();
        Ok(Params {
            limit_packets: settings.limit_packets("limit", default.limit_packets)?,
        })
    }
}

/// A TYPE queue.
#[derive(Clone, Debug)]
pub struct TYPE {
    params: Params,
    packets: VecDeque<Packet>,
    bytes: Bytes,
}

impl TYPE {
    pub fn new(params: Params) -> TYPE {
        TYPE {
            params,
            packets: VecDeque::new(),
            bytes: Bytes::ZERO,
        }
    }
}

impl Queue for TYPE {
    fn enqueue(&mut self, now: Time, mut packet: Packet, cx: &mut Context<'_>) {
        if self.packets.len() >= self.params.limit_packets as usize {
            return cx.dropped(now, packet, Reason::Overflow);
        }
        packet.enqueued = now;
        self.bytes += packet.len.bytes();
        self.packets.push_back(packet);
    }

    fn dequeue(&mut self, _now: Time, _cx: &mut Context<'_>) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.bytes = self.bytes - packet.len.bytes();
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.packets.len() as u32,
            bytes: self.bytes,
        }
    }

    fn is_roomless(&self) -> bool {
        self.params.limit_packets == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{FlowHash, IpLen};
    use fastrand::Rng;

    #[test]
    fn a_full_queue_drops_and_the_rest_leaves_in_order() {
        let mut queue = TYPE::new(Params { limit_packets: 2 });
        let (mut rng, mut events) = (Rng::with_seed(1), Vec::new());
        let mut cx = Context {
            rng: &mut rng,
            observer: &mut events,
        };
        for handle in 0..3 {
            let packet = Packet::new(handle, IpLen::new(1_500), FlowHash(1));
            queue.enqueue(Time::from_ns(7), packet, &mut cx);
        }
        let left = std::iter::from_fn(|| queue.dequeue(Time::from_ns(9), &mut cx));
        let handles: Vec<u32> = left.map(|packet| packet.handle).collect();
        assert_eq!((handles, events.len()), (vec![0, 1], 1));
    }
}
