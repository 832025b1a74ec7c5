//! Packets that were captured twice: both directions of a mirror port, `-i any`, or one capture point on
//! each side of a router.
//!
//! # What is a copy
//! The same packet once more within two seconds: same addresses, ports, sequence and acknowledgement
//! numbers, flags, window, timestamps, payload length, and the same IP identification. A
//! retransmission is another packet: its sender counts the identification up for each packet that it
//! sends (Linux: `ip_select_ident_segs` adds the number of segments to the socket's `inet_id`; RFC 6864
//! §4.1 lets only senders of atomic datagrams do otherwise), and its TSval is that of the moment at which it
//! is sent again (RFC 7323 §3.2). tshark has no notion of it and calls copies retransmissions; `editcap -d` compares
//! bytes, and so misses copies from behind a router, which have another time to live.
//!
//! # Other protocols
//! Nothing else in the headers of UDP tells two datagrams of one length apart, and some senders never count the
//! identification up. So datagrams count as copies only where TCP shows that the capture holds copies, or where datagrams do: of a capture
//! that holds each packet twice every second one is a copy, of senders that do not count nearly all seem to be.
//!
//! # Without an identification
//! IPv6 has none and some senders leave it zero. Two equal duplicate ACKs may then be two packets, and so may
//! two equal segments within one tick. So those count as copies only where the capture is known to hold
//! copies: one in three of the latest 64 packets with payload came twice. The packets that tell so are few, and not
//! left out.

use crate::state::{Reader, Writer};
use unbloat_units::{Delta, Time};
use unbloat_wire::{PacketFlags, PacketHeader, protocol};

/// Finds second copies among packets in trace order, in constant memory.
#[derive(Clone, Debug)]
pub(crate) struct Copies {
    /// The latest packets, each among the four latest of its place, newest first.
    latest: Box<[[Seen; 4]; Copies::PLACES]>,
    /// Whether the latest TCP packets with payload, and the latest others, came twice: one bit each.
    doubled: u64,
    doubled_datagrams: u64,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    fingerprint: u64,
    time: Time,
}

impl Default for Copies {
    fn default() -> Copies {
        let nothing = Seen {
            fingerprint: 0,
            time: Time::MIN,
        };
        Copies {
            latest: Box::new([[nothing; 4]; Self::PLACES]),
            doubled: 0,
            doubled_datagrams: 0,
        }
    }
}

impl Copies {
    /// Four packets each: at 1 Gbit/s of full packets 0.1 s. They take 128 kB, which stay in a core's
    /// own cache.
    const PLACES: usize = 1 << 11;
    /// Queues between two capture points of one path hold packets for up to so long.
    const LONGEST: Delta = Delta::secs(2);
    /// A retransmission timer of any common system runs longer.
    const LONGEST_WITHOUT_ID: Delta = Delta::ms(50);

    pub(crate) fn write(&self, to: &mut Writer) {
        to.u64(self.doubled);
        to.u64(self.doubled_datagrams);
        for seen in self.latest.iter().flatten() {
            to.u64(seen.fingerprint);
            to.time((seen.time != Time::MIN).then_some(seen.time));
        }
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Option<Copies> {
        let mut copies = Copies {
            doubled: from.u64()?,
            doubled_datagrams: from.u64()?,
            ..Copies::default()
        };
        for seen in copies.latest.iter_mut().flatten() {
            seen.fingerprint = from.u64()?;
            seen.time = from.time()?.unwrap_or(Time::MIN);
        }
        Some(copies)
    }

    #[inline]
    pub(crate) fn is_copy(&mut self, header: &PacketHeader) -> bool {
        let (place, fingerprint) = place_and_fingerprint(header);
        let latest = &mut self.latest[place];
        let seen = latest.iter().find(|seen| seen.fingerprint == fingerprint);
        let since = seen.map(|seen| apart(header, *seen));
        let newest = Seen {
            fingerprint,
            time: header.time,
        };
        // In registers: to rotate them in place costs a quarter of all that is done here.
        *latest = [newest, latest[0], latest[1], latest[2]];
        let is_within = |longest| since.is_some_and(|since| since <= longest);
        let has_id = header.flags.has(PacketFlags::IP_ID) && header.ip_id != 0;
        let is_soon = is_within(Self::LONGEST_WITHOUT_ID);
        if header.protocol != protocol::TCP {
            let is_copy = has_id && is_soon;
            self.doubled_datagrams = self.doubled_datagrams << 1 | u64::from(is_copy);
            return is_copy && (self.is_usual() || self.are_datagrams_doubled());
        }
        let is_same = if has_id {
            is_within(Self::LONGEST)
        } else {
            is_soon
        };
        if header.payload_len > 0 {
            self.doubled = self.doubled << 1 | u64::from(is_same);
        }
        is_same && (has_id || self.is_usual())
    }

    fn are_datagrams_doubled(&self) -> bool {
        (u64::BITS / 3..=u64::BITS * 5 / 8).contains(&self.doubled_datagrams.count_ones())
    }

    fn is_usual(&self) -> bool {
        self.doubled.count_ones() >= u64::BITS / 3
    }
}

/// How far the packet lies from the one before, whatever the order of their times.
fn apart(header: &PacketHeader, seen: Seen) -> Delta {
    let since = header.time.since(seen.time);
    since.max(Delta::ZERO - since)
}

/// Of all that both copies of a packet have in common; its place does not depend on addresses, which
/// are names and nothing else. Not keyed: who forges packets can as well send the same one twice.
#[inline]
fn place_and_fingerprint(header: &PacketHeader) -> (usize, u64) {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let shorts = |a: u16, b: u16| u32::from(a) << 16 | u32::from(b);
    let halves = |address: &unbloat_wire::Address| {
        let bits = u128::from_be_bytes(address.0);
        (bits >> 64) as u64 ^ (bits as u64).rotate_left(17)
    };
    let words = [
        pair(header.seq.raw(), header.ack.raw()),
        pair(header.tsval.raw(), header.tsecr.raw()),
        pair(shorts(header.src_port, header.dst_port), header.payload_len),
        pair(
            shorts(header.window, header.ip_id),
            u32::from(header.tcp_flags.0) << 8 | u32::from(header.protocol),
        ),
    ];
    let mixed = words.iter().fold(0, |all: u64, word| {
        (all.rotate_left(23) ^ word).wrapping_mul(ODD)
    });
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(ODD);
    let ends = halves(&header.src) ^ halves(&header.dst).rotate_left(32);
    let place = (mixed >> 53) as usize;
    (place, (mixed ^ ends.wrapping_mul(ODD)).wrapping_mul(ODD))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at_ms, data, pure_ack};
    use unbloat_units::Seq;

    fn copies(headers: impl IntoIterator<Item = PacketHeader>) -> usize {
        let mut found = Copies::default();
        let headers = headers.into_iter();
        headers.filter(|header| found.is_copy(header)).count()
    }

    /// Each packet, and 3 ms later itself.
    fn twice(packets: impl Iterator<Item = PacketHeader>) -> impl Iterator<Item = PacketHeader> {
        packets.flat_map(|packet| {
            let mut copy = packet;
            copy.time = packet.time + Delta::ms(3);
            [packet, copy]
        })
    }

    #[test]
    fn a_copy_counts_once_and_late_ones_still_count() {
        let first = data(0, 1, 7);
        let late = PacketHeader {
            time: at_ms(900),
            ..first
        };
        assert_eq!(copies([first, late]), 1);
        let too_late = PacketHeader {
            time: at_ms(2100),
            ..first
        };
        assert_eq!(copies([first, too_late]), 0);
    }

    #[test]
    fn a_retransmission_is_another_packet() {
        let first = data(0, 1, 7);
        let mut again = first;
        again.time = at_ms(1);
        again.ip_id += 1;
        assert_eq!(copies([first, again]), 0, "another identification");
        again.ip_id -= 1;
        again.tsval = first.tsval + 1;
        assert_eq!(copies([first, again]), 0, "another timestamp");
    }

    #[test]
    fn datagrams_are_copies_where_every_second_one_is() {
        let datagram = |i: i64, ip_id: u16| PacketHeader {
            protocol: protocol::UDP,
            ip_id,
            ..data(i * 10, 0, 0)
        };
        let counted = |i: i64| datagram(i, i as u16 + 1);
        assert_eq!(copies((0..500).map(counted)), 0);
        let found = copies(twice((0..500).map(counted)));
        assert!((450..=480).contains(&found), "{found}");
        // A sender that never counts, whose datagrams follow within 10 ms.
        assert!(copies((0..500).map(|i| datagram(i, 7))) <= 30);
    }

    #[test]
    fn duplicate_acks_in_one_tick_are_no_copies() {
        let acks = (0..1000).map(|i| PacketHeader {
            ip_id: i as u16 + 1,
            ..pure_ack(i / 100, 5)
        });
        assert_eq!(copies(acks), 0);
        let without_id = (0..1000).map(|i| PacketHeader {
            ip_id: 0,
            ..pure_ack(i / 100, 5)
        });
        assert_eq!(copies(without_id), 0);
    }

    #[test]
    fn without_identifications_a_capture_must_first_show_that_it_holds_copies() {
        let plain = |i: i64| PacketHeader {
            ip_id: 0,
            ..data(i * 10, i as u32 * 1000, 0)
        };
        assert_eq!(copies((0..500).map(plain)), 0);
        let found = copies(twice((0..500).map(plain)));
        assert!((440..=480).contains(&found), "{found}");
        // Segments that are sent again at once, now and then, where the round trip is short.
        let lossy = (0..500).flat_map(|i| {
            let again = (i % 10 == 0).then(|| PacketHeader {
                time: at_ms(i * 10) + Delta::us(400),
                ..plain(i)
            });
            std::iter::once(plain(i)).chain(again)
        });
        assert_eq!(copies(lossy), 0);
    }

    #[test]
    fn every_field_tells_packets_apart() {
        let first = data(0, 1, 7);
        let changes: [fn(&mut PacketHeader); 8] = [
            |h| h.seq = Seq::new(2),
            |h| h.ack = h.ack + 1,
            |h| h.tsecr = h.tsecr + 1,
            |h| h.window += 1,
            |h| h.payload_len += 1,
            |h| h.tcp_flags.0 ^= 8,
            |h| std::mem::swap(&mut h.src_port, &mut h.dst_port),
            |h| std::mem::swap(&mut h.src, &mut h.dst),
        ];
        for change in changes {
            let mut other = first;
            change(&mut other);
            let [one, another] = [first, other].map(|header| place_and_fingerprint(&header).1);
            assert_ne!(one, another);
        }
    }
}
