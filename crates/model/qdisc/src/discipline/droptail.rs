//! First in, first out, with a limit in bytes, in packets or both: what most buffers on real paths are.
//!
//! The same as Linux `bfifo` and `pfifo`: a packet that does not fit as a whole is dropped, later
//! and smaller ones may still fit. (`bfifo` counts the link-layer header of a packet, this one its
//! IP length.)

use crate::event::Reason;
use crate::packet::Packet;
use crate::queue::{Backlog, Context, Queue};
use std::collections::VecDeque;
use unbloat_params::Limit;
use unbloat_params::{LinkSettings, Read};
use unbloat_units::{Bytes, Time};

/// The limits; at least one should be given, or memory is the limit. With a limit of zero nothing waits: what meets a link that
/// is busy is lost (Linux drops every packet).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    pub limit_bytes: Option<Bytes>,
    pub limit_packets: Option<u32>,
}

impl Default for Params {
    /// 1,000 packets, as `txqueuelen` gives to `pfifo` on Linux.
    fn default() -> Params {
        Params {
            limit_bytes: None,
            limit_packets: Some(1_000),
        }
    }
}

impl Params {
    /// Whether a packet of `len` has room beside so many packets and bytes.
    #[inline]
    pub fn has_room(&self, packets: usize, bytes: Bytes, len: Bytes) -> bool {
        let in_packets = self
            .limit_packets
            .is_none_or(|limit| packets < limit as usize);
        in_packets && self.limit_bytes.is_none_or(|limit| bytes + len <= limit)
    }

    /// Whether nothing can wait.
    #[inline]
    pub fn is_roomless(&self) -> bool {
        self.limit_packets == Some(0) || self.limit_bytes == Some(Bytes::ZERO)
    }
}

impl<S: LinkSettings> Read<S> for Params {
    fn read(settings: &mut S) -> Result<Params, S::Error> {
        Ok(match settings.maybe_limit("limit")? {
            None => Params::default(),
            Some(Limit::Packets(packets)) => Params {
                limit_packets: Some(packets),
                limit_bytes: None,
            },
            Some(Limit::Bytes(bytes)) => Params {
                limit_packets: None,
                limit_bytes: Some(bytes),
            },
        })
    }
}

/// A drop-tail queue.
#[derive(Clone, Debug)]
pub struct DropTail {
    params: Params,
    packets: VecDeque<Packet>,
    bytes: Bytes,
}

impl DropTail {
    pub fn new(params: Params) -> DropTail {
        DropTail {
            params,
            packets: VecDeque::new(),
            bytes: Bytes::ZERO,
        }
    }
}

impl Queue for DropTail {
    fn enqueue(&mut self, now: Time, mut packet: Packet, cx: &mut Context<'_>) {
        let len = packet.len.bytes();
        if !self.params.has_room(self.packets.len(), self.bytes, len) {
            return cx.dropped(now, packet, Reason::Overflow);
        }
        packet.enqueued = now;
        self.bytes += len;
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
        self.params.is_roomless()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::packet::{FlowHash, IpLen};
    use fastrand::Rng;

    fn packet(handle: u32, len: u32) -> Packet {
        Packet::new(handle, IpLen::new(len), FlowHash(1))
    }

    #[test]
    fn what_does_not_fit_in_bytes_is_dropped_and_a_smaller_packet_still_fits() {
        let mut queue = DropTail::new(Params {
            limit_bytes: Some(Bytes::new(3_200)),
            limit_packets: None,
        });
        let mut events = Vec::new();
        let mut rng = Rng::with_seed(1);
        let mut cx = Context {
            rng: &mut rng,
            observer: &mut events,
        };
        for (handle, len) in [(0, 1_500), (1, 1_500), (2, 1_500), (3, 200)] {
            queue.enqueue(Time::from_ns(7), packet(handle, len), &mut cx);
        }
        let out: Vec<u32> = std::iter::from_fn(|| queue.dequeue(Time::from_ns(9), &mut cx))
            .map(|p| p.handle)
            .collect();
        assert_eq!(out, [0, 1, 3]);
        assert_eq!(queue.backlog(), Backlog::default());
        let [
            (
                at,
                Event::Dropped {
                    packet: lost,
                    reason,
                },
            ),
        ] = events[..]
        else {
            panic!("one drop expected, not {events:?}");
        };
        assert_eq!(
            (at, lost.handle, reason),
            (Time::from_ns(7), 2, Reason::Overflow)
        );
    }
}
