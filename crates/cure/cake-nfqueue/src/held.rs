//! What is known of packets that the kernel holds, by the handles that CAKE knows them under.

use crate::large::Split;
use crate::queues::HeldPacket;
use unbloat_autorate::{Seen, Stamps};
use unbloat_qdisc::{Device, Dscp, Ecn, FlowHash, Host, IpLen, Packet};
use unbloat_units::Time;
use unbloat_wire::{Address, Batch, FlowHasher, LinkType, Parser, ParserParams};

/// A packet that waits for its verdict.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub queue: u16,
    pub id: u32,
    pub seen: Seen,
    pub split: Split,
    /// As it came.
    pub ecn: Ecn,
}

/// Waiting packets, by handle.
#[derive(Default)]
pub(crate) struct Store {
    places: Vec<Waiting>,
    free: Vec<u32>,
}

impl Store {
    pub(crate) fn put(&mut self, waiting: Waiting) -> u32 {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = waiting;
            return place;
        }
        self.places.push(waiting);
        (self.places.len() - 1) as u32
    }

    pub(crate) fn get(&self, handle: u32) -> &Waiting {
        &self.places[handle as usize]
    }

    pub(crate) fn take(&mut self, handle: u32) -> Waiting {
        self.free.push(handle);
        self.places[handle as usize]
    }
}

/// Reads headers.
pub(crate) struct Reader {
    parser: Parser,
    batch: Batch,
}

impl Reader {
    pub(crate) fn new(seed: u64) -> Reader {
        Reader {
            parser: Parser::new(ParserParams::default(), FlowHasher::with_seed(seed)),
            batch: Batch::default(),
        }
    }

    /// What CAKE and those who watch have to know of a packet. What cannot be read shares one flow.
    pub(crate) fn read(&mut self, now: Time, held: &HeldPacket<'_>) -> (Packet, Waiting) {
        let HeldPacket { bytes, len, .. } = *held;
        self.batch.restart(0);
        self.parser
            .push(&mut self.batch, LinkType::RawIp, bytes, len, now);
        let mut packet = Packet::new(0, IpLen::new(len), FlowHash(0));
        let mut waiting = Waiting {
            queue: held.queue,
            id: held.id,
            seen: Seen {
                flow: 0,
                bytes: len,
                stamps: None,
            },
            split: Split::none(len),
            ecn: Ecn::NotEct,
        };
        if let Some(header) = self.batch.headers.first() {
            packet.flow = FlowHash(fold(header.flow_hash));
            (packet.source, packet.destination) = (host(header.src), host(header.dst));
            packet.dscp = Dscp(header.tos >> 2);
            packet.ecn = Ecn::of_tos(header.tos);
            waiting.ecn = packet.ecn;
            if held.is_large {
                let headers = len.saturating_sub(header.payload_len);
                waiting.split = Split::of(len, headers, Device::ETHERNET.mtu);
            }
            waiting.seen = Seen {
                flow: header.flow_hash,
                bytes: waiting.split.bytes,
                stamps: Stamps::of(header),
            };
        }
        (packet, waiting)
    }
}

fn host(address: Address) -> Host {
    let words = address
        .0
        .chunks_exact(4)
        .map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
    Host(words.fold(0, |sum, word| {
        sum.rotate_left(7) ^ word.wrapping_mul(0x9e37_79b9)
    }))
}

fn fold(hash: u64) -> u32 {
    (hash ^ (hash >> 32)) as u32
}
