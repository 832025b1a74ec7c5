//! The seam between capture and analysis: a run of packets, self-contained.

use crate::{LinkCounts, PacketHeader, SkipCounts};
use unbloat_units::Time;

/// Up to [`Batch::PACKETS`] packets that stand next to each other in the trace.
///
/// A batch borrows nothing from the capture, so it can cross threads, and each field maps to an
/// Arrow column, so it can cross machines. Where batches begin depends on packet numbers alone,
/// never on files, reads or threads: analyses may act at their ends and stay reproducible.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Number in the trace, from 0, of the packet at offset 0; skipped packets have numbers too.
    pub first_packet: u64,
    /// Packets covered, skipped ones included.
    pub packets: u32,
    /// Bytes on the wire of all of them.
    pub wire_bytes: u64,
    pub headers: Vec<PacketHeader>,
    /// TCP options and beginnings of payload, pointed into by `PacketHeader::extra`.
    pub extra: Vec<u8>,
    pub skipped: SkipCounts,
    /// Link types that nobody reads, of those skipped.
    pub unread_links: LinkCounts,
    /// The time of the first packet of the trace: all tables count from it.
    pub origin: Time,
    /// The latest time seen in the trace so far, this batch included.
    pub watermark: Time,
}

impl Batch {
    /// Packets in a full batch: its headers (0.8 MB) stay in a core's own cache.
    pub const PACKETS: u32 = 4096;

    /// The number in the trace of a header of this batch.
    pub fn number(&self, header: &PacketHeader) -> u64 {
        self.first_packet + u64::from(header.offset)
    }

    /// The TCP options kept for the slow path, if any.
    pub fn options(&self, header: &PacketHeader) -> &[u8] {
        let start = header.extra as usize;
        &self.extra[start..start + usize::from(header.options_len)]
    }

    /// The beginning of the payload, if it was captured and kept.
    pub fn payload(&self, header: &PacketHeader) -> &[u8] {
        let start = header.extra as usize;
        let end = start + usize::from(header.extra_len);
        &self.extra[start + usize::from(header.options_len)..end]
    }

    /// Empties the batch and moves it to its place; buffers are kept.
    pub fn restart(&mut self, first_packet: u64) {
        self.first_packet = first_packet;
        self.packets = 0;
        self.wire_bytes = 0;
        self.headers.clear();
        self.extra.clear();
        self.skipped = SkipCounts::default();
        self.unread_links = LinkCounts::default();
    }
}
