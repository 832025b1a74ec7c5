//! The packets in a block of a TPACKET_V3 ring: plain bytes, read without trust or unsafe code.

use std::mem::{offset_of, size_of};
use unbloat_units::Time;

/// A packet in a block; places are relative to the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    pub(super) time: Time,
    pub(super) wire_len: u32,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Protocol and control information of the VLAN tag that was taken off.
    pub(super) vlan: Option<[u8; 4]>,
    /// Sent by this machine.
    pub(super) outgoing: bool,
}

/// What is left to read of a block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Packets {
    left: u32,
    at: usize,
}

type Header = libc::tpacket3_hdr;
type BlockHeader = libc::tpacket_hdr_v1;

/// Where the block's own header begins.
const BLOCK: usize = offset_of!(libc::tpacket_block_desc, hdr);
/// The sender's address follows a packet's header.
const ADDRESS: usize = size_of::<Header>().next_multiple_of(libc::TPACKET_ALIGNMENT);
const VLAN: usize = offset_of!(Header, hv1);
/// Where the kernel keeps a VLAN tag away from the frame it belongs to.
const TAG_AT: usize = 12;
const DEFAULT_TPID: [u8; 2] = [0x81, 0x00];

impl Packets {
    pub(super) fn of(block: &[u8]) -> Packets {
        let word = |at| u32_at(block, BLOCK + at).unwrap_or(0);
        Packets {
            left: word(offset_of!(BlockHeader, num_pkts)),
            at: word(offset_of!(BlockHeader, offset_to_first_pkt)) as usize,
        }
    }

    pub(super) fn next(&mut self, block: &[u8]) -> Option<Packet> {
        self.left = self.left.checked_sub(1)?;
        let bytes = block.get(self.at..)?;
        let word = |at| u32_at(bytes, at);
        let start = self.at + usize::from(u16_at(bytes, offset_of!(Header, tp_mac))?);
        let end = start + word(offset_of!(Header, tp_snaplen))? as usize;
        let ns = i64::from(word(offset_of!(Header, tp_sec))?) * 1_000_000_000
            + i64::from(word(offset_of!(Header, tp_nsec))?);
        let kind = *bytes.get(ADDRESS + offset_of!(libc::sockaddr_ll, sll_pkttype))?;
        let packet = Packet {
            time: Time::from_ns(ns),
            wire_len: word(offset_of!(Header, tp_len))?,
            start,
            end,
            vlan: vlan(bytes),
            outgoing: kind == libc::PACKET_OUTGOING,
        };
        self.at += word(offset_of!(Header, tp_next_offset))? as usize;
        (end <= block.len()).then_some(packet)
    }
}

fn vlan(bytes: &[u8]) -> Option<[u8; 4]> {
    let status = u32_at(bytes, offset_of!(Header, tp_status))?;
    if status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let field = |at| u16_at(bytes, VLAN + at);
    let tci = field(offset_of!(libc::tpacket_hdr_variant1, tp_vlan_tci))?.to_be_bytes();
    let tpid = match status & libc::TP_STATUS_VLAN_TPID_VALID {
        0 => DEFAULT_TPID,
        _ => field(offset_of!(libc::tpacket_hdr_variant1, tp_vlan_tpid))?.to_be_bytes(),
    };
    Some([tpid[0], tpid[1], tci[0], tci[1]])
}

/// Moves the addresses of a frame forward into the room reserved before it and puts the tag
/// behind them; returns where the frame begins now. A frame too short to hold addresses stays.
pub(super) fn put_tag_back(block: &mut [u8], packet: &Packet, tag: [u8; 4]) -> usize {
    let Packet { start, end, .. } = *packet;
    if end - start < TAG_AT || start < tag.len() {
        return start;
    }
    let moved = start - tag.len();
    block.copy_within(start..start + TAG_AT, moved);
    block[moved + TAG_AT..start + TAG_AT].copy_from_slice(&tag);
    moved
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let field = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_ne_bytes(*field))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let field = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*field))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stripped_tag_goes_back_behind_the_addresses() {
        let mut block: Vec<u8> = (0..30).collect();
        let packet = Packet {
            time: Time::default(),
            wire_len: 60,
            start: 10,
            end: 30,
            vlan: None,
            outgoing: false,
        };
        let start = put_tag_back(&mut block, &packet, [0x81, 0, 0x20, 5]);
        assert_eq!(start, 6);
        let expected: Vec<u8> = (10..22).chain([0x81, 0, 0x20, 5]).chain(22..30).collect();
        assert_eq!(block[start..30], expected);
    }

    #[test]
    fn a_block_that_contradicts_itself_ends_early() {
        let mut block = vec![0xff; 200];
        let count = BLOCK + offset_of!(BlockHeader, num_pkts);
        block[count..count + 4].copy_from_slice(&2u32.to_ne_bytes());
        let mut packets = Packets::of(&block);
        assert_eq!(packets.next(&block), None);
        assert_eq!(Packets::of(&[]).next(&[]), None);
    }
}
