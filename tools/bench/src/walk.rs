//! The least that anything must do: step from record to record of a mapped pcap file.

use crate::error::{BenchError, at};
use memmap2::{Advice, Mmap};
use std::fs::File;
use std::path::Path;

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;

/// Counts the packets of a little-endian pcap file and the bytes that they had on the wire.
pub fn walk(path: &Path) -> Result<(u64, u64), BenchError> {
    let file = File::open(path).map_err(at(path))?;
    // SAFETY: the file is one of ours in the bench's own folder; nobody cuts it while we read.
    let bytes = unsafe { Mmap::map(&file) }.map_err(at(path))?;
    bytes.advise(Advice::Sequential).map_err(at(path))?;
    Ok(count(&bytes))
}

fn count(bytes: &[u8]) -> (u64, u64) {
    let (mut packets, mut wire_bytes) = (0, 0);
    let mut rest = bytes.get(FILE_HEADER..).unwrap_or_default();
    while let Some((header, data)) = rest.split_at_checked(RECORD_HEADER) {
        let word = |i| u32::from_le_bytes([header[i], header[i + 1], header[i + 2], header[i + 3]]);
        let Some(next) = data.get(word(8) as usize..) else {
            break;
        };
        packets += 1;
        wire_bytes += u64::from(word(12));
        rest = next;
    }
    (packets, wire_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_is_cut_is_not_counted() {
        let mut file = vec![0; FILE_HEADER];
        for _ in 0..2 {
            file.extend([0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100, 0, 0, 0]);
            file.extend([1, 2, 3]);
        }
        assert_eq!(count(&file), (2, 200));
        assert_eq!(count(&file[..file.len() - 1]), (1, 100));
        assert_eq!(count(&[]), (0, 0));
    }
}
