//! Readers of data files, for any bytes.

use crate::blob::BlobReader;
use lz4_flex::frame::FrameEncoder;
use std::io::{self, Write};
use unbloat_units::Delta;
use unbloat_wire::Batch;

/// The packets of a bucket, before their compression, as `shard` reads them: headers of all batches, or an error.
pub fn bucket(bytes: &[u8]) -> io::Result<usize> {
    let mut frame = FrameEncoder::new(Vec::new());
    frame.write_all(bytes)?;
    let mut reader = BlobReader::new(frame.finish().map_err(io::Error::other)?)?;
    let (mut batch, mut headers) = (Batch::default(), 0);
    for number in 0..64 {
        batch.restart(number * u64::from(Batch::PACKETS));
        reader.fill(&mut batch, Delta::ns(1))?;
        headers += batch.headers.len();
        for header in &batch.headers {
            let begin = header.extra as usize;
            // What was kept of it can be looked at.
            let kept = &batch.extra[begin..begin + usize::from(header.extra_len)];
            debug_assert_eq!(kept.len(), usize::from(header.extra_len));
        }
    }
    Ok(headers)
}
