//! Rows of one bucket in bytes, in pieces that can be merged with those of others.

use crate::error::Repair;
use crate::place::OTHER_DIGEST;
use crate::{ClusterError, Place};
use lz4_flex::frame::{FrameDecoder, FrameEncoder};
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use unbloat_analyze::{Moment, Pieces};
use unbloat_trace::{Output, Reached};

/// A file of rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PartFile {
    pub(crate) file: String,
    pub(crate) bytes: u64,
    /// BLAKE3 of the file.
    pub(crate) digest: String,
}

/// What stands before each piece.
#[derive(Serialize, Deserialize)]
struct Head {
    /// `None`: at the end of the trace.
    batch: Option<u64>,
    reached: Option<Reached>,
    bytes: u64,
}

pub(crate) struct PartWriter {
    encoder: FrameEncoder<Hashed<crate::place::Writer>>,
    file: String,
    rows: Vec<u8>,
}

impl PartWriter {
    pub(crate) fn new(place: &Place, file: String) -> PartWriter {
        let hashed = Hashed::new(place.writer(&file));
        PartWriter {
            encoder: FrameEncoder::new(hashed),
            file,
            rows: Vec::new(),
        }
    }

    pub(crate) fn write(
        &mut self,
        (moment, reached): unbloat_analyze::At,
        output: &Output,
    ) -> io::Result<()> {
        self.rows.clear();
        output.write(&mut self.rows);
        let head = Head {
            batch: match moment {
                Moment::Batch(number) => Some(number),
                Moment::End => None,
            },
            reached,
            bytes: self.rows.len() as u64,
        };
        let head = serde_json::to_vec(&head)?;
        self.encoder.write_all(&(head.len() as u16).to_le_bytes())?;
        self.encoder.write_all(&head)?;
        self.encoder.write_all(&self.rows)
    }

    pub(crate) fn finish(self) -> io::Result<PartFile> {
        let hashed = self.encoder.finish().map_err(io::Error::other)?;
        hashed.inner.finish()?;
        Ok(PartFile {
            file: self.file,
            bytes: hashed.bytes,
            digest: hashed.hash.finalize().to_hex().to_string(),
        })
    }
}

/// Bytes that pass, with their digest.
struct Hashed<T> {
    inner: T,
    hash: blake3::Hasher,
    bytes: u64,
}

impl<T> Hashed<T> {
    fn new(inner: T) -> Hashed<T> {
        Hashed {
            inner,
            hash: blake3::Hasher::new(),
            bytes: 0,
        }
    }

    fn pass(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
    }
}

impl<T: Write> Write for Hashed<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.pass(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<T: Read> Read for Hashed<T> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.pass(&into[..read]);
        Ok(read)
    }
}

/// Reads a part file; its last piece is given only if all bytes were right.
pub(crate) struct PartReader<'a> {
    decoder: FrameDecoder<Hashed<Box<dyn Read + Send>>>,
    place: &'a Place,
    part: &'a PartFile,
    bucket: u32,
    rows: Vec<u8>,
}

/// More than any piece has: rows of 512 flows, or of one batch.
const LARGEST_PIECE: u64 = 1 << 30;

impl<'a> PartReader<'a> {
    pub(crate) fn new(
        place: &'a Place,
        bucket: u32,
        part: &'a PartFile,
    ) -> Result<PartReader<'a>, ClusterError> {
        let read = place.reader(&part.file, part.bytes)?;
        Ok(PartReader {
            decoder: FrameDecoder::new(Hashed::new(read)),
            place,
            part,
            bucket,
            rows: Vec::new(),
        })
    }

    fn damaged(&self, reason: impl ToString) -> ClusterError {
        let repair = Repair::Shard(self.bucket);
        self.place
            .damaged(&self.part.file, repair, &reason.to_string())
    }

    fn read(&mut self, output: &mut Output) -> io::Result<Option<unbloat_analyze::At>> {
        let mut len = [0; 2];
        if self.decoder.read(&mut len[..1])? == 0 {
            return Ok(None);
        }
        self.decoder.read_exact(&mut len[1..])?;
        let mut head = vec![0; usize::from(u16::from_le_bytes(len))];
        self.decoder.read_exact(&mut head)?;
        let head: Head = serde_json::from_slice(&head)?;
        let invalid = || io::Error::from(io::ErrorKind::InvalidData);
        if head.bytes > LARGEST_PIECE {
            return Err(invalid());
        }
        self.rows.clear();
        // Grows by what arrives, not by what is claimed.
        let taken = (&mut self.decoder)
            .take(head.bytes)
            .read_to_end(&mut self.rows)?;
        if taken as u64 != head.bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        output.read(&self.rows).ok_or_else(invalid)?;
        let moment = head.batch.map_or(Moment::End, Moment::Batch);
        Ok(Some((moment, head.reached)))
    }
}

impl Pieces<ClusterError> for PartReader<'_> {
    fn next(&mut self, output: &mut Output) -> Result<Option<unbloat_analyze::At>, ClusterError> {
        let read = self.read(output).map_err(|error| self.damaged(error))?;
        if read.is_none() {
            let hashed = self.decoder.get_ref();
            let digest = hashed.hash.finalize().to_hex();
            if hashed.bytes != self.part.bytes || digest.as_str() != self.part.digest {
                return Err(self.damaged(OTHER_DIGEST));
            }
        }
        Ok(read)
    }
}
