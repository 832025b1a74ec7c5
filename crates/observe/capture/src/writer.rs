//! Writes pcap files with nanosecond times, little-endian (draft-ietf-opsawg-pcap-06).

use crate::Record;
use std::io::{self, Write};
use unbloat_wire::LinkType;

const MAGIC: u32 = 0xa1b2_3c4d;
const NS_PER_SECOND: i64 = 1_000_000_000;

/// Writes records of one link type.
pub struct PcapWriter<W: Write> {
    out: W,
    link: LinkType,
}

impl<W: Write> PcapWriter<W> {
    /// Begins a file of packets of the LINKTYPE number `link`; `snap_len` is what the header says the capture was limited to.
    pub fn new(mut out: W, link: u16, snap_len: u32) -> io::Result<PcapWriter<W>> {
        let mut header = Vec::with_capacity(24);
        header.extend(MAGIC.to_le_bytes());
        header.extend(2u16.to_le_bytes());
        header.extend(4u16.to_le_bytes());
        header.extend([0; 8]);
        header.extend(snap_len.to_le_bytes());
        header.extend(u32::from(link).to_le_bytes());
        out.write_all(&header)?;
        let link = LinkType::from(link);
        Ok(PcapWriter { out, link })
    }

    /// Writes a record; refuses one that the format has no place for.
    pub fn write(&mut self, record: &Record<'_>) -> io::Result<()> {
        if record.link != self.link {
            return Err(refused("a pcap file holds packets of one link type only"));
        }
        let ns = record.time.as_ns();
        let seconds = u32::try_from(ns.div_euclid(NS_PER_SECOND))
            .map_err(|_| refused("a pcap file holds times from 1970 to 2106 only"))?;
        let captured = u32::try_from(record.data.len())
            .map_err(|_| refused("a packet of 4 GiB or more fits no capture"))?;
        let mut header = [0; 16];
        let words = [
            seconds,
            ns.rem_euclid(NS_PER_SECOND) as u32,
            captured,
            record.wire_len,
        ];
        for (place, word) in header.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        self.out.write_all(&header)?;
        self.out.write_all(record.data)
    }

    /// Flushes and gives the output back.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

fn refused(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}
