//! A SYN flood: every packet a flow of its own, from an address of its own.

use super::base::ETHERNET;
use super::random::mixed_u32;
use super::rewrite::set_address;
use super::{LINK, SNAP_LEN};
use std::io::{self, Write};
use unbloat_capture::{PcapWriter, Record};
use unbloat_os::checksum;
use unbloat_units::Time;
use unbloat_wire::LinkType;

/// Time between two SYNs: a million a second.
const EVERY_NS: i64 = 1_000;
const START_NS: i64 = 1_800_000_000_000_000_000;
const VICTIM: [u8; 4] = [172, 16, 0, 1];

/// Writes a capture of `flows` SYNs to `out`.
pub fn flood(flows: u32, out: impl Write) -> io::Result<()> {
    let mut out = PcapWriter::new(out, LINK, SNAP_LEN)?;
    let mut frame = syn();
    for n in 0..flows {
        // Distinct numbers give distinct sources.
        set_address(&mut frame[ETHERNET..], 12, mixed_u32(n + 1));
        out.write(&Record {
            time: Time::from_ns(START_NS + i64::from(n) * EVERY_NS),
            link: LinkType::from(LINK),
            wire_len: frame.len() as u32,
            data: &frame,
        })?;
    }
    out.finish().map(drop)
}

/// From 0.0.0.0:40000 to the victim's port 443, with a maximum segment size.
fn syn() -> Vec<u8> {
    let mut frame = vec![0; ETHERNET];
    frame[12] = 8;
    frame.extend([0x45, 0, 0, 44, 0, 0, 0, 0, 64, 6, 0, 0, 0, 0, 0, 0]);
    frame.extend(VICTIM);
    frame.extend([0x9c, 0x40, 0x01, 0xbb, 0, 0, 0, 1, 0, 0, 0, 0]);
    frame.extend([0x60, 0x02, 0xff, 0xff, 0, 0, 0, 0, 2, 4, 0x05, 0xb4]);
    let sum = checksum::of(&frame[ETHERNET..ETHERNET + 20]).to_be_bytes();
    frame[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&sum);
    let mut pseudo = frame[ETHERNET + 12..ETHERNET + 20].to_vec();
    pseudo.extend([0, 6, 0, 24]);
    pseudo.extend(&frame[ETHERNET + 20..]);
    let segment_sum = checksum::of(&pseudo).to_be_bytes();
    frame[ETHERNET + 36..ETHERNET + 38].copy_from_slice(&segment_sum);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_syn_has_a_source_of_its_own_and_right_checksums() {
        let mut file = Vec::new();
        flood(1000, &mut file).expect("memory takes all");
        let records = file[24..].chunks_exact(16 + ETHERNET + 44);
        let packets: Vec<&[u8]> = records.map(|r| &r[16 + ETHERNET..]).collect();
        let sources: BTreeSet<&[u8]> = packets.iter().map(|ip| &ip[12..16]).collect();
        assert_eq!(sources.len(), 1000);
        for ip in packets {
            let pseudo = [&ip[12..20], &[0, 6, 0, 24], &ip[20..]].concat();
            assert_eq!((checksum::of(&ip[..20]), checksum::of(&pseudo)), (0, 0));
        }
    }
}
