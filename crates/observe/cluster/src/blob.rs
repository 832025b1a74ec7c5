//! Headers of packets in bytes: what is exchanged between slices and buckets.
//!
//! 96 bytes a header, then what was kept of options and payload; compressed by LZ4, which costs less than it saves in
//! writing. Not columns: a header goes from one program to the same program, once.

use lz4_flex::frame::{FrameDecoder, FrameEncoder};
use std::io::{self, Read, Write};
use unbloat_units::{Delta, Seq, Time};
use unbloat_wire::{Address, Batch, PacketFlags, PacketHeader, TcpFlags};

const HEADER: usize = 96;

/// The packets of one bucket in one slice, as they come.
pub(crate) struct BlobWriter {
    encoder: FrameEncoder<Vec<u8>>,
    raw: Vec<u8>,
    extra: Vec<u8>,
    count: u32,
}

impl BlobWriter {
    pub(crate) fn new() -> BlobWriter {
        BlobWriter {
            encoder: FrameEncoder::new(Vec::new()),
            raw: Vec::new(),
            extra: Vec::new(),
            count: 0,
        }
    }

    /// Adds a header of the batch.
    #[inline]
    pub(crate) fn push(&mut self, batch: &Batch, header: &PacketHeader) {
        let begin = header.extra as usize;
        let end = begin + usize::from(header.extra_len);
        let at = self.extra.len() as u32;
        self.extra.extend_from_slice(&batch.extra[begin..end]);
        self.raw.extend_from_slice(&to_bytes(header, at));
        self.count += 1;
    }

    /// Ends a batch.
    pub(crate) fn end_batch(&mut self, first_packet: u64) -> io::Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        self.encoder.write_all(&first_packet.to_le_bytes())?;
        self.encoder.write_all(&self.count.to_le_bytes())?;
        self.encoder
            .write_all(&(self.extra.len() as u32).to_le_bytes())?;
        self.encoder.write_all(&self.raw)?;
        self.encoder.write_all(&self.extra)?;
        self.count = 0;
        self.raw.clear();
        self.extra.clear();
        Ok(())
    }

    pub(crate) fn finish(self) -> io::Result<Vec<u8>> {
        self.encoder.finish().map_err(io::Error::other)
    }
}

/// Reads what a [`BlobWriter`] wrote, a batch at a time.
pub(crate) struct BlobReader {
    decoder: FrameDecoder<io::Cursor<Vec<u8>>>,
    next: Option<u64>,
    raw: Vec<u8>,
}

impl BlobReader {
    pub(crate) fn new(bytes: Vec<u8>) -> io::Result<BlobReader> {
        let mut reader = BlobReader {
            decoder: FrameDecoder::new(io::Cursor::new(bytes)),
            next: None,
            raw: Vec::new(),
        };
        reader.next = reader.number()?;
        Ok(reader)
    }

    /// The number of the next batch's first packet; `None` at the end.
    fn number(&mut self) -> io::Result<Option<u64>> {
        let mut number = [0; 8];
        let read = self.decoder.read(&mut number[..1])?;
        if read == 0 {
            return Ok(None);
        }
        self.decoder.read_exact(&mut number[1..])?;
        Ok(Some(u64::from_le_bytes(number)))
    }

    fn u32(&mut self) -> io::Result<usize> {
        let mut number = [0; 4];
        self.decoder.read_exact(&mut number)?;
        Ok(u32::from_le_bytes(number) as usize)
    }

    /// Adds the headers of the batch with this first packet, and `shift` to their times.
    pub(crate) fn fill(&mut self, batch: &mut Batch, shift: Delta) -> io::Result<()> {
        if self.next != Some(batch.first_packet) {
            return Ok(());
        }
        let (count, extra) = (self.u32()?, self.u32()?);
        let is_possible = count <= Batch::PACKETS as usize && extra <= count << 16;
        if !is_possible {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.raw.resize(count * HEADER, 0);
        self.decoder.read_exact(&mut self.raw)?;
        batch.extra.resize(extra, 0);
        self.decoder.read_exact(&mut batch.extra)?;
        for bytes in self.raw.as_chunks().0 {
            let mut header = from_bytes(bytes);
            let end = header.extra as usize + usize::from(header.extra_len);
            if end > extra || u32::from(header.offset) >= Batch::PACKETS {
                return Err(io::ErrorKind::InvalidData.into());
            }
            header.time += shift;
            batch.headers.push(header);
        }
        self.next = self.number()?;
        Ok(())
    }

    /// Whether all batches were read.
    pub(crate) fn is_at_end(&self) -> bool {
        self.next.is_none()
    }
}

/// Puts numbers one behind the other.
macro_rules! put {
    ($bytes:ident, $($value:expr),* $(,)?) => {{
        let mut at = 0;
        $(
            let value = $value.to_le_bytes();
            $bytes[at..at + value.len()].copy_from_slice(&value);
            at += value.len();
        )*
        debug_assert!(at <= HEADER, "{at}");
    }};
}

#[inline]
fn to_bytes(h: &PacketHeader, extra: u32) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    let (src, dst) = (u128::from_le_bytes(h.src.0), u128::from_le_bytes(h.dst.0));
    put!(
        bytes,
        h.time.as_ns(),
        h.flow_hash,
        src,
        dst,
        h.src_port,
        h.dst_port,
        h.seq.raw(),
        h.ack.raw(),
        h.tsval.raw(),
        h.tsecr.raw(),
        h.payload_len,
        h.wire_len,
        h.window,
        h.ip_id,
        h.flags.0,
        h.offset,
        h.tcp_flags.0,
        h.protocol,
        h.tos,
        h.options_len,
        extra,
        h.extra_len,
        h.header_len,
    );
    bytes
}

#[inline]
fn from_bytes(bytes: &[u8; HEADER]) -> PacketHeader {
    let mut at = 0;
    macro_rules! next {
        ($type:ty) => {{
            let from = at;
            at += size_of::<$type>();
            let mut value = [0; size_of::<$type>()];
            value.copy_from_slice(&bytes[from..at]);
            <$type>::from_le_bytes(value)
        }};
    }
    let header = PacketHeader {
        time: Time::from_ns(next!(i64)),
        flow_hash: next!(u64),
        src: Address(next!(u128).to_le_bytes()),
        dst: Address(next!(u128).to_le_bytes()),
        src_port: next!(u16),
        dst_port: next!(u16),
        seq: Seq::new(next!(u32)),
        ack: Seq::new(next!(u32)),
        tsval: Seq::new(next!(u32)),
        tsecr: Seq::new(next!(u32)),
        payload_len: next!(u32),
        wire_len: next!(u32),
        window: next!(u16),
        ip_id: next!(u16),
        flags: PacketFlags(next!(u16)),
        offset: next!(u16),
        tcp_flags: TcpFlags(next!(u8)),
        protocol: next!(u8),
        tos: next!(u8),
        options_len: next!(u8),
        extra: next!(u32),
        extra_len: next!(u16),
        header_len: next!(u16),
    };
    debug_assert!(at <= HEADER);
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header of which no byte of any field is zero.
    fn header(n: u8) -> PacketHeader {
        PacketHeader {
            time: Time::from_ns(0x0102_0304_0506_0700 + i64::from(n)),
            flow_hash: 0x1112_1314_1516_1718,
            src: Address::v4([10, 1, 2, n]),
            dst: Address([0x21; 16]),
            src_port: 0x3132,
            dst_port: 0x3334,
            seq: Seq::new(0x4142_4344),
            ack: Seq::new(0x4546_4748),
            tsval: Seq::new(0x494A_4B4C),
            tsecr: Seq::new(0x4D4E_4F50),
            payload_len: 0x5152_5354,
            wire_len: 0x5556_5758,
            window: 0x6162,
            ip_id: 0x6364,
            flags: PacketFlags(0x6566),
            offset: 0x0167,
            tcp_flags: TcpFlags(0x71),
            protocol: 0x72,
            tos: 0x73,
            options_len: 2,
            extra: 3,
            extra_len: 4,
            header_len: 0x7475,
        }
    }

    #[test]
    fn all_fields_and_what_was_kept_of_payload_come_back() {
        let batch = Batch {
            headers: vec![header(1), header(2)],
            extra: b"---keptkept".to_vec(),
            ..Batch::default()
        };
        let mut writer = BlobWriter::new();
        for number in [4096, 12_288] {
            batch.headers.iter().for_each(|h| writer.push(&batch, h));
            writer.end_batch(number).unwrap();
            writer.end_batch(number + 4096).unwrap();
        }
        let mut reader = BlobReader::new(writer.finish().unwrap()).unwrap();
        for number in [0, 4096, 8192, 12_288] {
            let mut read = Batch::default();
            read.restart(number);
            reader.fill(&mut read, Delta::ns(5)).unwrap();
            let expected = if number % 8192 == 0 { 0 } else { 2 };
            assert_eq!(read.headers.len(), expected, "{number}");
            for (n, mut back) in (1..).zip(read.headers) {
                assert_eq!(&read.extra[back.extra as usize..][..4], b"kept");
                (back.extra, back.time) = (3, back.time - Delta::ns(5));
                assert_eq!(back, header(n));
            }
        }
        assert!(reader.is_at_end());
    }

    #[test]
    fn cut_bytes_are_an_error() {
        let batch = Batch {
            headers: vec![header(1)],
            extra: b"---kept".to_vec(),
            ..Batch::default()
        };
        let mut writer = BlobWriter::new();
        writer.push(&batch, &batch.headers[0]);
        writer.end_batch(0).unwrap();
        let bytes = writer.finish().unwrap();
        let read = |some: &[u8]| {
            let mut reader = BlobReader::new(some.to_vec())?;
            let mut read = Batch::default();
            reader.fill(&mut read, Delta::ZERO)?;
            io::Result::Ok(read.headers.len())
        };
        assert_eq!(read(&bytes).unwrap(), 1);
        for len in 0..bytes.len() - 8 {
            // A frame's head alone may read as an empty frame; the digest of a segment is for that.
            assert_eq!(read(&bytes[..len]).unwrap_or(0), 0, "{len} bytes");
        }
        assert!(read(&bytes[..bytes.len() / 2]).is_err());
    }
}
