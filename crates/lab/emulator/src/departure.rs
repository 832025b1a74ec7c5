//! The bytes that leave: headers made anew for segments of large packets, for marks, and for rows that are merged.

use crate::arrival::MAX_HEAD;
use crate::ip::{self, Header};
use crate::store::{Checksum, Segment, Store};
use crate::tcp;
use crate::ticks::Ticks;
use crate::vnet::{Gso, VnetHeader};
use unbloat_os::checksum::{fold, sum};

/// A header on its way out.
pub(crate) struct Head {
    bytes: [u8; MAX_HEAD],
    len: usize,
    pub vnet: VnetHeader,
}

impl Head {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// The header of one segment.
    pub(crate) fn of(store: &Store, segment: &Segment) -> Head {
        Head::of_row(store, segment, segment, usize::from(segment.body_len))
    }

    /// The header of a row of segments of one flow, each but the last as long as the first, with `payload` bytes together.
    pub(crate) fn of_row(store: &Store, first: &Segment, last: &Segment, payload: usize) -> Head {
        let from = store.header(first);
        let mut head = Head {
            bytes: [0; MAX_HEAD],
            len: from.len(),
            vnet: VnetHeader::default(),
        };
        head.bytes[..from.len()].copy_from_slice(from);
        if first.is_marked {
            ip::mark(&mut head.bytes);
        }
        let is_row = payload > usize::from(first.body_len);
        if first.is_shared() || is_row {
            head.resize(first, last, payload, store);
        }
        head.set_checksum(first);
        if is_row {
            head.vnet.gso = Some(Gso {
                is_v6: head.bytes[0] >> 4 == 6,
                segment: first.body_len,
            });
        }
        head
    }

    /// Makes the header of the first segment of a row, all TCP, say what it now stands in front of.
    fn resize(&mut self, first: &Segment, last: &Segment, payload: usize, store: &Store) {
        let Head { bytes, len, .. } = self;
        ip::resize(&mut bytes[..*len], *len + payload, first.nth);
        let Some(ip) = Header::parse_alone(&bytes[..*len]) else {
            return;
        };
        let segment = &mut bytes[ip.len..*len];
        let seq = u32::from_be_bytes(
            segment[tcp::SEQ..tcp::SEQ + 4]
                .try_into()
                .expect("four bytes"),
        );
        let offset = u32::from(first.nth) * u32::from(first.stride);
        segment[tcp::SEQ..tcp::SEQ + 4].copy_from_slice(&seq.wrapping_add(offset).to_be_bytes());
        let mut flags = segment[tcp::FLAGS] & !(tcp::FIN | tcp::PSH);
        if last.is_last {
            flags |= store.header(last)[ip.len + tcp::FLAGS] & (tcp::FIN | tcp::PSH);
        }
        if first.nth > 0 {
            flags &= !tcp::CWR;
        }
        segment[tcp::FLAGS] = flags;
        let pseudo = ip.pseudo_sum(ip::TCP, *len - ip.len + payload);
        segment[tcp::CHECKSUM..tcp::CHECKSUM + 2].copy_from_slice(&pseudo.to_be_bytes());
        self.vnet = VnetHeader {
            needs_csum: true,
            csum_start: ip.len as u16,
            csum_offset: tcp::CHECKSUM as u16,
            header_len: *len as u16,
            ..VnetHeader::default()
        };
    }

    /// Hands on what was left to do with the checksum of a packet that leaves as it came.
    fn set_checksum(&mut self, segment: &Segment) {
        match segment.checksum {
            _ if self.vnet.needs_csum => {}
            Checksum::Full => {}
            Checksum::Verified => self.vnet.is_valid = true,
            Checksum::Partial { start, offset } => {
                self.vnet.needs_csum = true;
                self.vnet.csum_start = start;
                self.vnet.csum_offset = offset;
            }
        }
    }

    /// Gives its receiver the timestamp back that its kernel sent.
    pub(crate) fn restore(&mut self, ticks: &Ticks) {
        let is_checked = !self.vnet.needs_csum;
        ticks.restore(&mut self.bytes[..self.len], is_checked);
    }

    /// Does what is left to do with the checksum, for a device that cannot.
    pub(crate) fn finish(&mut self, payload: &[u8]) {
        if !self.vnet.needs_csum {
            return;
        }
        self.vnet.needs_csum = false;
        let start = usize::from(self.vnet.csum_start);
        let field = start + usize::from(self.vnet.csum_offset);
        let head = &mut self.bytes[..self.len];
        // An odd byte at the end of the header would shift the payload by half a word.
        let (covered, odd) = head[start..].split_at((head.len() - start) & !1);
        let joint = odd
            .iter()
            .chain(payload.first().filter(|_| !odd.is_empty()));
        let mut pair = [0; 2];
        pair.iter_mut()
            .zip(joint)
            .for_each(|(to, from)| *to = *from);
        let rest = payload.get(odd.len()..).unwrap_or_default();
        let checksum = !fold(sum(covered) + sum(&pair) + sum(rest));
        // In UDP zero says that there is none (RFC 768); TCP never cares.
        let checksum = if checksum == 0 { 0xffff } else { checksum };
        head[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
    }
}
