//! Compressed inputs, known by their first bytes.

use std::io::{self, BufRead, BufReader, Read};

/// How an input is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    /// RFC 1952, of one or more members.
    Gzip,
    /// RFC 8878, of one or more frames.
    Zstd,
    /// The LZ4 frame format, of one or more frames.
    Lz4,
}

impl Compression {
    /// The compression that a file with these first bytes has.
    pub(crate) fn sniff(first: &[u8]) -> Option<Compression> {
        match first {
            [0x1f, 0x8b, ..] => Some(Compression::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Compression::Zstd),
            // A skippable frame first: pzstd's way.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Compression::Zstd),
            [0x04, 0x22, 0x4d, 0x18, ..] => Some(Compression::Lz4),
            _ => None,
        }
    }

    pub(crate) fn decoder(
        self,
        input: impl Read + Send + 'static,
    ) -> io::Result<Box<dyn Read + Send>> {
        let input = BufReader::with_capacity(BUFFER, input);
        Ok(match self {
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(input)),
            Compression::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(input)?),
            Compression::Lz4 => {
                let input = EndWatch {
                    inner: input,
                    met_end: false,
                };
                Box::new(Lz4Frames(lz4_flex::frame::FrameDecoder::new(input)))
            }
        })
    }
}

const BUFFER: usize = 128 << 10;

/// Frames one behind the other.
///
/// The decoder beneath says "end" at the end of each frame, and says the same where the input is
/// cut between two blocks; only the latter has run into the end of its input.
struct Lz4Frames<R: BufRead>(lz4_flex::frame::FrameDecoder<EndWatch<R>>);

impl<R: BufRead> Read for Lz4Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.0.read(buffer)?;
            let input = self.0.get_mut();
            if count == 0 && input.met_end {
                let cut = "the input ends within an lz4 frame";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, cut));
            }
            if count > 0 || buffer.is_empty() || input.inner.fill_buf()?.is_empty() {
                return Ok(count);
            }
        }
    }
}

/// Remembers whether somebody wanted to read beyond the end.
struct EndWatch<R> {
    inner: R,
    met_end: bool,
}

impl<R: Read> Read for EndWatch<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.met_end |= count == 0 && !buffer.is_empty();
        Ok(count)
    }
}
