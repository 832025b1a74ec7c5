//! The pcapng file format: sections of blocks, of which a few carry packets.
//!
//! # References
//! draft-ietf-opsawg-pcapng-03: §4.1 section header, §4.2 interface description, §4.3 enhanced
//! packet, §4.4 simple packet, §4.6 interface statistics, appendix A (obsolete packet block).
//!
//! # Where we differ
//! | the draft | here | why |
//! |---|---|---|
//! | simple packets have no time | they take the time of the packet before them, or 1970 | a trace is a sequence in time |
//! | lengths are multiples of 4 | others are rounded up | old writers forgot to, and readers have always taken it |
//! | section lengths let a reader skip sections | not used | every block is looked at anyway |

use crate::format::{ByteOrder, Format, Frame, MAX_CAPTURED, Step};
use crate::notes::DamageKind;
use crate::pcapng_interface::Interface;
use unbloat_units::Time;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

/// Type and total length before a block's body, the total length again behind it.
const BLOCK_HEADER: usize = 8;
const BLOCK_TRAILER: usize = 4;
/// Bytes before the data in an enhanced and in an obsolete packet block.
const PACKET_HEADER: usize = 28;
const SIMPLE_HEADER: usize = 12;
/// Byte-order magic, version and section length.
const SECTION_BODY: usize = 16;

/// The longest block that is looked into; as in Wireshark. Others are skipped at any length.
const MAX_BLOCK: u32 = 16 << 20;
const MAX_INTERFACES: usize = 65_536;

#[derive(Debug)]
pub(crate) struct Pcapng {
    order: ByteOrder,
    /// Those of the current section.
    interfaces: Vec<Interface>,
    /// Drops reported in the sections before.
    earlier_drops: Option<u64>,
    last_time: Time,
}

/// Whether a file that begins so is a pcapng: its first four bytes read the same in both orders.
pub(crate) fn is_pcapng(magic: [u8; 4]) -> bool {
    u32::from_le_bytes(magic) == SECTION_HEADER
}

impl Pcapng {
    /// Ready for a file's first section header.
    pub(crate) fn new() -> Pcapng {
        Pcapng {
            order: ByteOrder { big_endian: false },
            interfaces: Vec::new(),
            earlier_drops: None,
            last_time: Time::default(),
        }
    }

    /// Drops told by the interface statistics so far; `None` when there were none.
    pub(crate) fn drops(&self) -> Option<u64> {
        self.interfaces
            .iter()
            .filter_map(|i| i.drops)
            .chain(self.earlier_drops)
            .reduce(u64::saturating_add)
    }

    fn begin_section(&mut self, bytes: &[u8]) -> Step {
        if bytes.len() < 16 {
            return Step::Need(16);
        }
        let Some(order) = [false, true]
            .map(|big_endian| ByteOrder { big_endian })
            .into_iter()
            .find(|order| order.u32(bytes, 8) == BYTE_ORDER_MAGIC)
        else {
            return Step::Corrupt(DamageKind::Section);
        };
        // Version 1.2 is what some tools wrote for 1.0 (draft §4.1).
        if order.u16(bytes, 12) != 1 {
            return Step::Corrupt(DamageKind::Section);
        }
        let block = match Block::whole(order, bytes) {
            Ok(block) => block,
            Err(step) => return step,
        };
        if block.body.len() < SECTION_BODY {
            return block.corrupt_length();
        }
        self.order = order;
        self.earlier_drops = self.drops();
        self.interfaces.clear();
        Step::Skip(block.used)
    }

    fn add_interface(&mut self, block: &Block<'_>) -> Step {
        if self.interfaces.len() == MAX_INTERFACES {
            let limit = MAX_INTERFACES;
            return Step::Corrupt(DamageKind::Interfaces { limit });
        }
        match Interface::parse(self.order, block.body) {
            Some(interface) => self.interfaces.push(interface),
            None => return block.corrupt_length(),
        }
        Step::Skip(block.used)
    }

    fn take_statistics(&mut self, block: &Block<'_>) -> Step {
        if block.body.len() < 12 {
            return block.corrupt_length();
        }
        let id = self.order.u32(block.body, 0);
        if let Some(interface) = self.interfaces.get_mut(id as usize) {
            interface.take_statistics(self.order, block.body);
        }
        Step::Skip(block.used)
    }

    #[inline]
    fn packet(&mut self, block: &Block<'_>, interface: u32) -> Step {
        if block.body.len() < PACKET_HEADER - BLOCK_HEADER {
            return block.corrupt_length();
        }
        let Some(described) = self.interfaces.get(interface as usize) else {
            return self.no_interface(interface);
        };
        let word = |at| self.order.u32(block.body, at);
        let ticks = u64::from(word(4)) << 32 | u64::from(word(8));
        let captured = word(12);
        let end = PACKET_HEADER + captured as usize;
        if captured > MAX_CAPTURED || end - BLOCK_HEADER > block.body.len() {
            return Step::Corrupt(DamageKind::RecordLength { captured });
        }
        self.last_time = described.time(ticks);
        Step::Frame(Frame {
            time: self.last_time,
            link: described.link,
            wire_len: word(16),
            start: PACKET_HEADER,
            end,
            used: block.used as usize,
        })
    }

    fn simple_packet(&self, block: &Block<'_>) -> Step {
        let Some(interface) = self.interfaces.first() else {
            return self.no_interface(0);
        };
        let Some(room) = block.body.len().checked_sub(SIMPLE_HEADER - BLOCK_HEADER) else {
            return block.corrupt_length();
        };
        let wire_len = self.order.u32(block.body, 0);
        // The captured length is not told: the wire length, cut by the snap length.
        let captured = interface.cut(wire_len);
        if captured > MAX_CAPTURED || captured as usize > room {
            return Step::Corrupt(DamageKind::RecordLength { captured });
        }
        Step::Frame(Frame {
            time: self.last_time,
            link: interface.link,
            wire_len,
            start: SIMPLE_HEADER,
            end: SIMPLE_HEADER + captured as usize,
            used: block.used as usize,
        })
    }

    fn no_interface(&self, interface: u32) -> Step {
        let described = self.interfaces.len();
        Step::Corrupt(DamageKind::Interface {
            interface,
            described,
        })
    }
}

impl Format for Pcapng {
    #[inline]
    fn step(&mut self, bytes: &[u8]) -> Step {
        if bytes.len() < BLOCK_HEADER {
            return Step::Need(BLOCK_HEADER);
        }
        let kind = self.order.u32(bytes, 0);
        // Read the same in both orders, as a section may be in another than the one before.
        if kind == SECTION_HEADER {
            return self.begin_section(bytes);
        }
        if !matches!(
            kind,
            INTERFACE_DESCRIPTION
                | OBSOLETE_PACKET
                | SIMPLE_PACKET
                | INTERFACE_STATISTICS
                | ENHANCED_PACKET
        ) {
            return skip_unknown(self.order, bytes);
        }
        let block = match Block::whole(self.order, bytes) {
            Ok(block) => block,
            Err(step) => return step,
        };
        match kind {
            INTERFACE_DESCRIPTION => self.add_interface(&block),
            INTERFACE_STATISTICS => self.take_statistics(&block),
            SIMPLE_PACKET => self.simple_packet(&block),
            _ if block.body.len() < 4 => block.corrupt_length(),
            OBSOLETE_PACKET => self.packet(&block, u32::from(self.order.u16(block.body, 0))),
            _ => self.packet(&block, self.order.u32(block.body, 0)),
        }
    }
}

/// A block that is there as a whole.
struct Block<'a> {
    kind: u32,
    length: u32,
    /// Between header and trailer.
    body: &'a [u8],
    /// Bytes to the next block.
    used: u64,
}

impl<'a> Block<'a> {
    #[inline]
    fn whole(order: ByteOrder, bytes: &'a [u8]) -> Result<Block<'a>, Step> {
        let (kind, length) = (order.u32(bytes, 0), order.u32(bytes, 4));
        let shortest = (BLOCK_HEADER + BLOCK_TRAILER) as u32;
        if !(shortest..=MAX_BLOCK).contains(&length) {
            return Err(Step::Corrupt(DamageKind::BlockLength {
                block: kind,
                length,
            }));
        }
        let used = length.next_multiple_of(4) as usize;
        if bytes.len() < used {
            return Err(Step::Need(used));
        }
        let trailer = order.u32(bytes, used - BLOCK_TRAILER);
        if trailer != length {
            return Err(Step::Corrupt(DamageKind::BlockTrailer { length, trailer }));
        }
        let body = &bytes[BLOCK_HEADER..used - BLOCK_TRAILER];
        Ok(Block {
            kind,
            length,
            body,
            used: used as u64,
        })
    }

    fn corrupt_length(&self) -> Step {
        let (block, length) = (self.kind, self.length);
        Step::Corrupt(DamageKind::BlockLength { block, length })
    }
}

/// Name resolution, secrets, custom and future blocks; they may be long, so nobody waits for
/// their end to be there.
fn skip_unknown(order: ByteOrder, bytes: &[u8]) -> Step {
    let (block, length) = (order.u32(bytes, 0), order.u32(bytes, 4));
    if (length as usize) < BLOCK_HEADER + BLOCK_TRAILER {
        return Step::Corrupt(DamageKind::BlockLength { block, length });
    }
    Step::Skip(u64::from(length).next_multiple_of(4))
}
