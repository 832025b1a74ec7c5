//! Where packets lie while they are on their way: bytes in chunks, and a descriptor for each packet of the model.
//!
//! Packets are read one behind the other into a chunk, and all segments of one large packet share its bytes. A chunk is used
//! again once none of its packets is left. Nothing is allocated for a packet once there are as many chunks and descriptors as
//! the path ever held.

use unbloat_units::Time;

/// Room that a read must have: the largest packet with its vnet header.
pub(crate) const ROOM: usize = 65_536 + 64;
/// Small enough that a lightly loaded path stays within the cache, large enough that little is wasted at its end.
const CHUNK: usize = 4 * ROOM;
/// 1 GB: beyond, packets are lost outside the model.
const MAX_CHUNKS: usize = (1 << 30) / CHUNK;

/// What has been left to do with the checksum of the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checksum {
    /// It is there, for the receiver to verify.
    Full,
    /// It is there, and the kernel has verified it.
    Verified,
    /// It covers the pseudo-header only. `start` counts from the IP header.
    Partial { start: u16, offset: u16 },
}

/// One packet of the model: a header, which segments of one large packet share, and a payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    /// Set by the store.
    pub chunk: u32,
    /// Offset of the header in the chunk.
    pub head: u32,
    /// IP header, and TCP's.
    pub head_len: u16,
    /// Offset of the payload in the chunk.
    pub body: u32,
    pub body_len: u16,
    /// Payload of each segment of the large packet but the last; zero for a packet that came alone.
    pub stride: u16,
    /// Place among the segments of the large packet.
    pub nth: u16,
    pub is_last: bool,
    pub checksum: Checksum,
    /// TCP data that may be merged with what follows it.
    pub is_mergeable: bool,
    /// Whether it is to carry Congestion Experienced.
    pub is_marked: bool,
    /// Where it goes.
    pub port: u16,
    /// Its logical departure.
    pub departs: Time,
    /// The one behind it in a row that leaves as one.
    pub next: Option<u32>,
}

impl Segment {
    pub(crate) fn total(&self) -> usize {
        usize::from(self.head_len) + usize::from(self.body_len)
    }

    /// Whether others use the same header.
    pub(crate) fn is_shared(&self) -> bool {
        self.stride > 0
    }
}

/// What was read, and where it lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lot {
    chunk: u32,
    /// Where it begins in its chunk.
    pub at: u32,
    len: usize,
}

struct Chunk {
    bytes: Box<[u8]>,
    users: u32,
}

pub(crate) struct Store {
    chunks: Vec<Chunk>,
    free_chunks: Vec<u32>,
    current: u32,
    at: usize,
    segments: Vec<Segment>,
    free: Vec<u32>,
}

impl Store {
    pub(crate) fn new() -> Store {
        let mut store = Store {
            chunks: Vec::new(),
            free_chunks: Vec::new(),
            current: 0,
            at: 0,
            segments: Vec::new(),
            free: Vec::new(),
        };
        store.add_chunk();
        store
    }

    /// Makes room for one read; no: there are more packets than memory for them. The room stays until it is closed.
    pub(crate) fn open(&mut self) -> bool {
        if self.at + ROOM > CHUNK {
            let next = match self.free_chunks.pop() {
                Some(chunk) => chunk,
                None if self.chunks.len() < MAX_CHUNKS => self.add_chunk(),
                None => return false,
            };
            self.leave(next);
        }
        self.chunks[self.current as usize].users += 1;
        true
    }

    /// The open room.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        let chunk = &mut self.chunks[self.current as usize];
        &mut chunk.bytes[self.at..self.at + ROOM]
    }

    /// So many bytes were read into the open room. They stay until they are closed, whatever else is read meanwhile, and after that
    /// as long as one of their segments.
    pub(crate) fn fill(&mut self, len: usize) -> Lot {
        let lot = Lot {
            chunk: self.current,
            at: self.at as u32,
            len,
        };
        self.at += len;
        lot
    }

    pub(crate) fn lot(&mut self, lot: Lot) -> &mut [u8] {
        let begin = lot.at as usize;
        &mut self.chunks[lot.chunk as usize].bytes[begin..begin + lot.len]
    }

    /// All segments were added.
    pub(crate) fn close(&mut self, lot: Lot) {
        self.leave_chunk(lot.chunk);
    }

    fn add_chunk(&mut self) -> u32 {
        self.chunks.push(Chunk {
            bytes: vec![0; CHUNK].into_boxed_slice(),
            users: 0,
        });
        self.chunks.len() as u32 - 1
    }

    fn leave(&mut self, next: u32) {
        // With no user left it would have begun anew, with room.
        debug_assert!(self.chunks[self.current as usize].users > 0);
        (self.current, self.at) = (next, 0);
    }

    /// Adds a segment of a lot; its handle.
    pub(crate) fn add(&mut self, lot: Lot, segment: Segment) -> u32 {
        let segment = Segment {
            chunk: lot.chunk,
            ..segment
        };
        self.chunks[lot.chunk as usize].users += 1;
        match self.free.pop() {
            Some(handle) => {
                self.segments[handle as usize] = segment;
                handle
            }
            None => {
                self.segments.push(segment);
                self.segments.len() as u32 - 1
            }
        }
    }

    pub(crate) fn release(&mut self, handle: u32) {
        let chunk = self.segments[handle as usize].chunk;
        self.free.push(handle);
        self.leave_chunk(chunk);
    }

    fn leave_chunk(&mut self, chunk: u32) {
        let users = &mut self.chunks[chunk as usize].users;
        *users -= 1;
        if *users == 0 {
            match chunk == self.current {
                true => self.at = 0,
                false => self.free_chunks.push(chunk),
            }
        }
    }

    #[inline]
    pub(crate) fn segment(&self, handle: u32) -> &Segment {
        &self.segments[handle as usize]
    }

    #[inline]
    pub(crate) fn segment_mut(&mut self, handle: u32) -> &mut Segment {
        &mut self.segments[handle as usize]
    }

    /// The packet has left the path.
    #[inline]
    pub(crate) fn depart(&mut self, handle: u32, at: Time, is_marked: bool) {
        let segment = &mut self.segments[handle as usize];
        segment.departs = at;
        segment.is_marked = is_marked;
    }

    /// Packets in it.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.segments.len() - self.free.len()
    }

    /// Whether both are segments of one large packet.
    pub(crate) fn share_header(&self, first: &Segment, second: &Segment) -> bool {
        first.is_shared() && first.chunk == second.chunk && first.head == second.head
    }

    /// Whether the payload of `second` lies right behind that of `first`.
    pub(crate) fn are_adjacent(&self, first: &Segment, second: &Segment) -> bool {
        first.chunk == second.chunk && first.body + u32::from(first.body_len) == second.body
    }

    #[inline]
    pub(crate) fn bytes(&self, segment: &Segment, from: u32, len: usize) -> &[u8] {
        &self.chunks[segment.chunk as usize].bytes[from as usize..from as usize + len]
    }

    #[inline]
    pub(crate) fn header(&self, segment: &Segment) -> &[u8] {
        self.bytes(segment, segment.head, usize::from(segment.head_len))
    }

    #[inline]
    pub(crate) fn payload(&self, segment: &Segment) -> &[u8] {
        self.bytes(segment, segment.body, usize::from(segment.body_len))
    }
}

impl Default for Segment {
    fn default() -> Segment {
        Segment {
            chunk: 0,
            head: 0,
            head_len: 0,
            body: 0,
            body_len: 0,
            stride: 0,
            nth: 0,
            is_last: true,
            checksum: Checksum::Full,
            is_mergeable: false,
            is_marked: false,
            port: 0,
            departs: Time::from_ns(0),
            next: None,
        }
    }
}
