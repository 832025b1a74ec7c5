//! A trace as a capture file.

use crate::source::TraceSource;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use unbloat_capture::{PcapWriter, Source};
use unbloat_lte_trace::{LINK_TYPE, Params, SNAP_LEN, UserTruth};

/// Writes a trace as pcap with nanosecond times, compressed by zstd if the name ends in `.zst`. Returns what happened, by user.
pub fn write(params: &Params, seed: u64, threads: u32, path: &Path) -> io::Result<Vec<UserTruth>> {
    let file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let source = TraceSource::start(params, seed, threads);
    if path.extension().is_some_and(|end| end == "zst") {
        let encoder = zstd::Encoder::new(file, LEVEL)?;
        let (encoder, truth) = write_to(source, encoder)?;
        encoder.finish()?.flush()?;
        Ok(truth)
    } else {
        Ok(write_to(source, file)?.1)
    }
}

/// Headers shrink to a fifth by the quickest level.
const LEVEL: i32 = 1;

fn write_to<W: Write>(mut source: TraceSource, out: W) -> io::Result<(W, Vec<UserTruth>)> {
    let mut writer = PcapWriter::new(out, LINK_TYPE, SNAP_LEN)?;
    while let Some(record) = source.next().map_err(io::Error::other)? {
        writer.write(&record)?;
    }
    Ok((writer.finish()?, source.into_truth()))
}
