//! Packets that leave in one wake-up: each by itself, or consecutive data of one TCP flow as one large packet.
//!
//! # References
//! What may be merged: `net/ipv4/tcp_offload.c` (`tcp_gro_receive`) of Linux 6.18. A row is of one flow without gaps, with equal
//! headers (only FIN and PSH may differ, and they end the row), of segments of one size, of which only the last may be shorter.
//!
//! # Where we differ
//! The kernel merges what arrives within one poll of a network card; we what leaves within one wake-up.

use crate::books::Books;
use crate::clock::Clock;
use crate::departure::Head;
use crate::port::Device;
use crate::store::{Segment, Store};
use crate::ticks::Ticks;
use crate::{ip, tcp};
use std::io::IoSlice;
use unbloat_qdisc::FlowHash;

/// Open rows that are searched for a packet's flow, as many as in the kernel's `MAX_GRO_SKBS`.
const OPEN: usize = 8;
/// Longest packet; IPv4 can say no more.
const LONGEST: usize = 65_535;
/// Pieces of memory that one row may be gathered from.
const PIECES: usize = 48;

/// Packets of one flow that leave as one.
#[derive(Clone, Copy, Debug)]
struct Row {
    flow: FlowHash,
    first: u32,
    last: u32,
    payload: usize,
    pieces: usize,
}

/// What waits to be written until the end of a wake-up.
#[derive(Debug, Default)]
pub(crate) struct Egress {
    rows: Vec<Row>,
}

impl Egress {
    /// The packet is to be written; `merges`: with what came before, where that is allowed.
    pub(crate) fn push(&mut self, store: &mut Store, handle: u32, flow: FlowHash, merges: bool) {
        let segment = *store.segment(handle);
        if merges && segment.is_mergeable {
            // Only the last row of a flow may grow, or its packets would change places.
            let mut open = self.rows.iter_mut().rev().take(OPEN);
            let row =
                open.find(|row| row.flow == flow && store.segment(row.first).port == segment.port);
            if let Some(row) = row
                && row.takes(store, &segment)
            {
                return row.push(store, handle, &segment);
            }
        }
        self.rows.push(Row {
            flow,
            first: handle,
            last: handle,
            payload: usize::from(segment.body_len),
            pieces: 1,
        });
    }

    /// Writes and releases all.
    pub(crate) fn flush(
        &mut self,
        store: &mut Store,
        devices: &[impl Device],
        clock: &impl Clock,
        books: &mut Books,
        ticks: &Ticks,
    ) {
        for row in self.rows.drain(..) {
            let device = &devices[usize::from(store.segment(row.first).port)];
            let handed = clock.now();
            let is_taken = row.write(store, device, ticks);
            books.wrote();
            let mut next = Some(row.first);
            while let Some(handle) = next {
                let segment = store.segment(handle);
                let leaves = device.leaves_at(handed, segment.departs);
                books.handed(leaves, segment.departs, is_taken);
                next = segment.next;
                store.release(handle);
            }
        }
    }
}

impl Row {
    /// Whether the segment goes on where the row ends.
    fn takes(&self, store: &Store, segment: &Segment) -> bool {
        let (first, last) = (store.segment(self.first), store.segment(self.last));
        let has_room = self.payload + segment.total() <= LONGEST && self.pieces < PIECES;
        let fits = last.body_len == first.body_len && segment.body_len <= first.body_len;
        if !has_room || !fits || last.is_marked != segment.is_marked {
            return false;
        }
        match store.share_header(last, segment) {
            true => last.nth + 1 == segment.nth,
            false => goes_on(store, last, segment),
        }
    }

    fn push(&mut self, store: &mut Store, handle: u32, segment: &Segment) {
        let is_adjacent = store.are_adjacent(store.segment(self.last), segment);
        self.pieces += usize::from(!is_adjacent);
        self.payload += usize::from(segment.body_len);
        store.segment_mut(self.last).next = Some(handle);
        self.last = handle;
    }

    /// Whether the device took it.
    fn write(&self, store: &Store, device: &impl Device, ticks: &Ticks) -> bool {
        let (first, last) = (store.segment(self.first), store.segment(self.last));
        let due = first.departs;
        let mut head = Head::of_row(store, first, last, self.payload);
        head.restore(ticks);
        if !device.has_header() {
            // To such a device nothing is merged.
            let payload = store.payload(first);
            head.finish(payload);
            return device.write(&[IoSlice::new(head.bytes()), IoSlice::new(payload)], due);
        }
        let vnet = head.vnet.bytes();
        if self.first == self.last {
            let parts = [
                IoSlice::new(&vnet),
                IoSlice::new(head.bytes()),
                IoSlice::new(store.payload(first)),
            ];
            return device.write(&parts, due);
        }
        let mut parts = [IoSlice::new(&[]); PIECES + 2];
        parts[0] = IoSlice::new(&vnet);
        parts[1] = IoSlice::new(head.bytes());
        let count = 2 + self.gather(store, &mut parts[2..]);
        device.write(&parts[..count], due)
    }

    /// The payload of the row in as few pieces as it lies in; how many.
    fn gather<'a>(&self, store: &'a Store, parts: &mut [IoSlice<'a>]) -> usize {
        let mut begin = store.segment(self.first);
        let (mut end, mut len, mut count) = (begin, usize::from(begin.body_len), 0);
        while let Some(next) = end.next {
            let segment = store.segment(next);
            if !store.are_adjacent(end, segment) {
                parts[count] = IoSlice::new(store.bytes(begin, begin.body, len));
                (begin, len, count) = (segment, 0, count + 1);
            }
            len += usize::from(segment.body_len);
            end = segment;
        }
        parts[count] = IoSlice::new(store.bytes(begin, begin.body, len));
        count + 1
    }
}

/// Whether `second` is of the same flow, its data right behind that of `first`, and nothing but that sets them apart.
fn goes_on(store: &Store, first: &Segment, second: &Segment) -> bool {
    let (a, b) = (store.header(first), store.header(second));
    let ip_len = match a[0] >> 4 {
        6 => 40,
        _ => usize::from(a[0] & 15) * 4,
    };
    if a.len() != b.len() || !ip::are_alike(&a[..ip_len], &b[..ip_len]) {
        return false;
    }
    let end = tcp::seq(&a[ip_len..])
        .wrapping_add(u32::from(first.nth) * u32::from(first.stride))
        .wrapping_add(u32::from(first.body_len));
    // A shared header says what its last segment carries; the segments before it carry neither FIN nor PSH.
    let is_end = first.is_last && tcp::ends_row(&a[ip_len..]);
    second.nth == 0
        && !is_end
        && end == tcp::seq(&b[ip_len..])
        && tcp::are_alike(&a[ip_len..], &b[ip_len..])
}
