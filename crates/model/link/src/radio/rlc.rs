//! RLC acknowledged mode: packets cut into PDUs of any size, delivered in order.
//!
//! # References
//! 3GPP TS 36.322 sections 5.1.3 (acknowledged mode) and 5.2 (ARQ).
//!
//! # Where we differ
//! 1. Status reports take a fixed time (`AirParams::status`) instead of polls, t-Reordering and
//!    t-StatusProhibit, and are never lost.
//! 2. A PDU that is sent again keeps its size: a TTI that cannot carry it whole is spent on a part
//!    of it, and the block of the last part decides its fate.
//! 3. A PDU that was sent again too often is given up with the packets in it; a real link would be
//!    re-established.

use super::pop_if;
use crate::seam::{Output, Place};
use std::collections::VecDeque;
use unbloat_qdisc::{Backlog, Event, Packet, Reason};
use unbloat_units::{Bytes, Time};

/// Header of a PDU: 2 bytes of RLC (10-bit sequence number) and 1 of MAC. Length indicators of
/// further packets in it are not counted.
pub(crate) const HEADER: u64 = 3;

/// Both ends of one direction. The stream of packets is one of bytes; PDUs are ranges of it.
#[derive(Debug)]
pub(crate) struct Rlc {
    max_resends: u32,
    /// Where packets waited before they were cut.
    place: Place,
    sdus: VecDeque<Sdu>,
    /// End in the stream of the last packet begun, and of what was cut.
    begun: u64,
    cut: u64,
    pdus: VecDeque<Pdu>,
    /// Sequence number of the first PDU in the list.
    first: u64,
    /// PDUs to send again, and how much of the first of them has been.
    again: VecDeque<u64>,
    again_bytes: u64,
    again_sent: u64,
    /// Whether a part of the packet next to be released was given up.
    is_spoiled: bool,
    inside: Backlog,
}

#[derive(Debug)]
struct Sdu {
    packet: Packet,
    end: u64,
    /// When its last byte was cut.
    cut_at: Time,
}

#[derive(Debug)]
struct Pdu {
    bytes: u64,
    end: u64,
    resends: u32,
    fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Open,
    Received,
    GivenUp,
}

/// What a transport block carries, by sequence numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    pub(crate) again: Option<u64>,
    pub(crate) fresh: Option<u64>,
    /// Headers included.
    pub(crate) bytes: u64,
}

impl Rlc {
    pub(crate) fn new(max_resends: u32, place: Place) -> Rlc {
        Rlc {
            max_resends,
            place,
            sdus: VecDeque::new(),
            begun: 0,
            cut: 0,
            pdus: VecDeque::new(),
            first: 0,
            again: VecDeque::new(),
            again_bytes: 0,
            again_sent: 0,
            is_spoiled: false,
            inside: Backlog::default(),
        }
    }

    /// Bytes that could be sent at once, without headers: the rest of a packet, and PDUs again.
    pub(crate) fn unsent(&self) -> u64 {
        self.begun - self.cut + self.again_bytes
    }

    /// What was begun and has not been released.
    pub(crate) fn inside(&self) -> Backlog {
        self.inside
    }

    /// Fills a block of `room` bytes at `now`: a PDU to send again first, then a new one.
    pub(crate) fn fill<O: Output>(
        &mut self,
        now: Time,
        mut room: u64,
        out: &mut O,
        mut next: impl FnMut(&mut O) -> Option<Packet>,
    ) -> Contents {
        let mut contents = Contents::default();
        if let Some(number) = self.again.front().copied() {
            let bytes = self.pdu(number).bytes;
            let rest = bytes + HEADER - self.again_sent;
            contents.bytes = rest.min(room);
            if rest > room {
                self.again_sent += room;
                return contents;
            }
            self.again.pop_front();
            self.again_bytes -= bytes;
            self.again_sent = 0;
            contents.again = Some(number);
            room -= rest;
        }
        let before = self.cut;
        let mut left = room.saturating_sub(HEADER);
        while left > 0 && (self.begun > self.cut || self.begin(out, &mut next)) {
            left -= self.cut_some(now, left, out);
        }
        if self.cut > before {
            contents.fresh = Some(self.first + self.pdus.len() as u64);
            contents.bytes += self.cut - before + HEADER;
            self.pdus.push_back(Pdu {
                bytes: self.cut - before,
                end: self.cut,
                resends: 0,
                fate: Fate::Open,
            });
        }
        contents
    }

    fn begin<O: Output>(
        &mut self,
        out: &mut O,
        next: &mut impl FnMut(&mut O) -> Option<Packet>,
    ) -> bool {
        let Some(packet) = next(out) else {
            return false;
        };
        self.inside.packets += 1;
        self.inside.bytes += packet.len.bytes();
        // An empty packet takes a byte, or it would never be cut.
        self.begun += u64::from(packet.len.as_u32().max(1));
        self.sdus.push_back(Sdu {
            packet,
            end: self.begun,
            cut_at: Time::MAX,
        });
        true
    }

    fn cut_some(&mut self, now: Time, room: u64, out: &mut impl Output) -> u64 {
        let part = room.min(self.begun - self.cut);
        self.cut += part;
        if self.cut == self.begun
            && let Some(sdu) = self.sdus.back_mut()
        {
            sdu.cut_at = now;
            out.waited(now, self.place, &sdu.packet, now - sdu.packet.enqueued);
        }
        part
    }

    fn pdu(&mut self, number: u64) -> &mut Pdu {
        let index = (number - self.first) as usize;
        self.pdus.get_mut(index).expect("open PDUs are in the list")
    }

    /// A block has come through.
    pub(crate) fn received(&mut self, now: Time, contents: Contents, out: &mut impl Output) {
        for number in [contents.again, contents.fresh].into_iter().flatten() {
            self.pdu(number).fate = Fate::Received;
        }
        self.release(now, out);
    }

    /// The receiver has reported a block as missing.
    pub(crate) fn missing(&mut self, now: Time, contents: Contents, out: &mut impl Output) {
        let max_resends = self.max_resends;
        for number in [contents.again, contents.fresh].into_iter().flatten() {
            let pdu = self.pdu(number);
            if pdu.resends == max_resends {
                pdu.fate = Fate::GivenUp;
                continue;
            }
            pdu.resends += 1;
            let bytes = pdu.bytes;
            self.again_bytes += bytes;
            self.again.push_back(number);
        }
        self.release(now, out);
    }

    /// Releases what is complete, in order.
    fn release(&mut self, now: Time, out: &mut impl Output) {
        while let Some(pdu) = self.pdus.front()
            && pdu.fate != Fate::Open
        {
            let (end, is_lost) = (pdu.end, pdu.fate == Fate::GivenUp);
            self.pdus.pop_front();
            self.first += 1;
            self.is_spoiled |= is_lost;
            while let Some(sdu) = pop_if(&mut self.sdus, |sdu| sdu.end <= end) {
                self.give_out(now, &sdu, out);
                // The next one is spoiled if the lost PDU reaches into it.
                self.is_spoiled = is_lost && sdu.end < end;
            }
        }
    }

    fn give_out(&mut self, now: Time, sdu: &Sdu, out: &mut impl Output) {
        let packet = sdu.packet;
        self.inside.packets -= 1;
        self.inside.bytes = self.inside.bytes - Bytes::new(u64::from(packet.len.as_u32()));
        if self.is_spoiled {
            let reason = Reason::Radio;
            return out.event(now, Event::Dropped { packet, reason });
        }
        out.waited(now, Place::Radio, &packet, now - sdu.cut_at);
        out.deliver(now, packet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Log, at_ms, packet};

    /// An RLC with packets of these lengths, cut into blocks of these sizes.
    fn cut(max_resends: u32, lens: &[u32], rooms: &[u64]) -> (Rlc, Vec<Contents>) {
        let mut rlc = Rlc::new(max_resends, Place::Firmware);
        let mut packets = (0..).zip(lens).map(|(k, len)| packet(k, *len));
        let blocks = rooms
            .iter()
            .map(|room| rlc.fill(at_ms(0), *room, &mut Log::default(), |_| packets.next()))
            .collect();
        (rlc, blocks)
    }

    #[test]
    fn packets_share_and_span_blocks_and_headers_take_their_bytes() {
        let (rlc, blocks) = cut(1, &[100, 100, 100], &[3, 153, 203, 50]);
        let bytes: Vec<u64> = blocks.iter().map(|block| block.bytes).collect();
        assert_eq!(bytes, [0, 153, 153, 0]);
        let fresh: Vec<Option<u64>> = blocks.iter().map(|block| block.fresh).collect();
        assert_eq!(fresh, [None, Some(0), Some(1), None]);
        assert_eq!((rlc.unsent(), rlc.inside().packets), (0, 3));
    }

    #[test]
    fn a_missing_block_holds_back_what_follows_until_it_comes() {
        let (mut rlc, blocks) = cut(1, &[100, 100, 100], &[103, 103, 103]);
        let mut log = Log::default();
        rlc.received(at_ms(1), blocks[1], &mut log);
        rlc.received(at_ms(2), blocks[2], &mut log);
        assert!(log.delivered.is_empty());
        rlc.missing(at_ms(3), blocks[0], &mut log);
        assert_eq!(rlc.unsent(), 100);
        // A block too small for it is spent on a part; the header counts once.
        let part = rlc.fill(at_ms(4), 60, &mut log, |_| None);
        assert_eq!((part.again, part.bytes), (None, 60));
        let rest = rlc.fill(at_ms(5), 60, &mut log, |_| None);
        assert_eq!((rest.again, rest.bytes), (Some(0), 43));
        rlc.received(at_ms(9), rest, &mut log);
        assert_eq!(
            log.departures(),
            [(at_ms(9), 0), (at_ms(9), 1), (at_ms(9), 2)]
        );
        assert_eq!(rlc.inside(), Backlog::default());
    }

    #[test]
    fn a_pdu_given_up_drops_the_packets_that_it_has_a_part_of_and_no_others() {
        // PDUs: [0, 100) [100, 250) [250, 400); packets end at 100, 200, 300, 400.
        let (mut rlc, blocks) = cut(0, &[100; 4], &[103, 153, 153]);
        let mut log = Log::default();
        rlc.missing(at_ms(1), blocks[1], &mut log);
        rlc.received(at_ms(2), blocks[0], &mut log);
        rlc.received(at_ms(3), blocks[2], &mut log);
        assert_eq!(log.departures(), [(at_ms(2), 0), (at_ms(3), 3)]);
        let radio = |ms, k| (at_ms(ms), k, Reason::Radio);
        assert_eq!(log.drops(), [radio(2, 1), radio(3, 2)]);
        assert_eq!(rlc.inside(), Backlog::default());
    }
}
