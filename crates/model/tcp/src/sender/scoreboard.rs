//! Segments that are sent and not cumulatively acknowledged.
//!
//! A ring in stream order, sized by the window. Through it runs a list in order of the time of the
//! last transmission, which RACK walks from the oldest (RFC 8985 section 6.2), and beside it lies a
//! bitmap of the segments that wait to be sent again. All steps are O(1) amortised over segments;
//! memory is allocated only when the window outgrows the ring.

/// Number of a segment since the start of the connection.
pub(super) type Index = u64;

pub(super) const SACKED: u8 = 1;
/// Sent again, and this copy may still be in flight.
pub(super) const RETRANS: u8 = 2;
pub(super) const LOST: u8 = 4;
/// Was sent more than once.
pub(super) const EVER_RETRANS: u8 = 8;
/// Stands in the list by time.
const LISTED: u8 = 16;

const NONE: u32 = u32::MAX;

/// Slots of a new ring, a power of two: one direction of most connections never needs more.
const SLOTS: usize = 16;

/// A segment in flight: half a cache line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    pub end: u64,
    /// Last transmission, microseconds.
    pub sent_us: u64,
    /// Deliveries of the flow at the last transmission.
    pub delivered: u32,
    older: u32,
    newer: u32,
    pub len: u16,
    pub flags: u8,
}

impl Entry {
    pub(super) fn start(&self) -> u64 {
        self.end - u64::from(self.len)
    }

    pub(super) fn has(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }

    pub(super) fn was_retransmitted(&self) -> bool {
        self.has(RETRANS | EVER_RETRANS)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Scoreboard {
    ring: Vec<Entry>,
    /// Bit of a slot: lost, and not yet sent again.
    waiting: Vec<u64>,
    waiting_count: u32,
    /// No segment before this one waits.
    waiting_from: Index,
    head: Index,
    tail: Index,
    oldest: u32,
    newest: u32,
    /// One beyond the last byte that was ever selectively acknowledged.
    pub highest_sacked: u64,
    /// Beside the ring, if rate samples are wanted.
    marks: Option<Vec<RateMark>>,
}

/// What a rate sample needs to know of the time when a segment was sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RateMark {
    pub first_sent_us: u64,
    pub delivered_us: u64,
    pub delivered_ce: u32,
    pub in_flight: u32,
    pub lost: u32,
    pub is_app_limited: bool,
}

impl Scoreboard {
    pub(super) fn new(with_marks: bool) -> Scoreboard {
        Scoreboard {
            marks: with_marks.then(|| vec![RateMark::default(); SLOTS]),
            ring: vec![Entry::default(); SLOTS],
            waiting: vec![0; 1],
            waiting_count: 0,
            waiting_from: 0,
            head: 0,
            tail: 0,
            oldest: NONE,
            newest: NONE,
            highest_sacked: 0,
        }
    }

    fn slot(&self, i: Index) -> usize {
        i as usize & (self.ring.len() - 1)
    }

    fn index(&self, slot: u32) -> Index {
        let ahead = (slot as usize).wrapping_sub(self.slot(self.head)) & (self.ring.len() - 1);
        self.head + ahead as u64
    }

    pub(super) fn get(&self, i: Index) -> &Entry {
        debug_assert!((self.head..self.tail).contains(&i));
        &self.ring[self.slot(i)]
    }

    pub(super) fn get_mut(&mut self, i: Index) -> &mut Entry {
        debug_assert!((self.head..self.tail).contains(&i));
        let slot = self.slot(i);
        &mut self.ring[slot]
    }

    pub(super) fn set_mark(&mut self, i: Index, mark: impl FnOnce() -> RateMark) {
        let slot = self.slot(i);
        if let Some(marks) = &mut self.marks {
            marks[slot] = mark();
        }
    }

    pub(super) fn mark(&self, i: Index) -> Option<&RateMark> {
        self.marks.as_ref().map(|marks| &marks[self.slot(i)])
    }

    /// The first segment, and the one after the last.
    pub(super) fn range(&self) -> std::ops::Range<Index> {
        self.head..self.tail
    }

    pub(super) fn first(&self) -> Option<Index> {
        (self.head < self.tail).then_some(self.head)
    }

    pub(super) fn last(&self) -> Option<Index> {
        (self.head < self.tail).then(|| self.tail - 1)
    }

    /// The slots of the first segment and of the next one to be appended.
    #[inline]
    pub(super) fn ends(&self) -> [&Entry; 2] {
        [self.head, self.tail].map(|i| &self.ring[self.slot(i)])
    }

    /// Appends a segment that is being sent now.
    pub(super) fn push(&mut self, end: u64, len: u16, sent_us: u64, delivered: u32) -> Index {
        if (self.tail - self.head) as usize == self.ring.len() {
            self.grow();
        }
        let i = self.tail;
        self.tail += 1;
        *self.get_mut(i) = Entry {
            end,
            sent_us,
            delivered,
            older: NONE,
            newer: NONE,
            len,
            flags: 0,
        };
        self.list_append(i);
        i
    }

    /// Takes off the first segment, which is acknowledged.
    pub(super) fn pop(&mut self) {
        let i = self.head;
        self.unlist(i);
        self.set_waiting(i, false);
        self.head += 1;
    }

    fn grow(&mut self) {
        let old = self.ring.len();
        let mut ring = vec![Entry::default(); old * 2];
        let mask = ring.len() - 1;
        let moved = |slot: u32| match slot {
            NONE => NONE,
            slot => (self.index(slot) as usize & mask) as u32,
        };
        for i in self.head..self.tail {
            let mut entry = *self.get(i);
            entry.older = moved(entry.older);
            entry.newer = moved(entry.newer);
            ring[i as usize & mask] = entry;
        }
        let (oldest, newest) = (moved(self.oldest), moved(self.newest));
        if let Some(marks) = &self.marks {
            let mut grown = vec![RateMark::default(); old * 2];
            for i in self.head..self.tail {
                grown[i as usize & mask] = marks[self.slot(i)];
            }
            self.marks = Some(grown);
        }
        let waiting: Vec<Index> = (self.head..self.tail).filter(|&i| self.waits(i)).collect();
        self.waiting = vec![0; ring.len().div_ceil(64)];
        self.ring = ring;
        (self.oldest, self.newest) = (oldest, newest);
        self.waiting_count = 0;
        for i in waiting {
            self.set_waiting(i, true);
        }
    }

    // By time of transmission.

    fn list_append(&mut self, i: Index) {
        let (slot, newest) = (self.slot(i) as u32, self.newest);
        let entry = self.get_mut(i);
        entry.older = newest;
        entry.newer = NONE;
        entry.flags |= LISTED;
        match newest {
            NONE => self.oldest = slot,
            newest => self.ring[newest as usize].newer = slot,
        }
        self.newest = slot;
    }

    /// Takes a segment out of the list by time: delivered, or found lost.
    pub(super) fn unlist(&mut self, i: Index) {
        let entry = self.get_mut(i);
        if !entry.has(LISTED) {
            return;
        }
        entry.flags &= !LISTED;
        let (older, newer) = (entry.older, entry.newer);
        match older {
            NONE => self.oldest = newer,
            older => self.ring[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.ring[newer as usize].older = older,
        }
    }

    /// Notes that a segment is sent again now: it becomes the newest.
    pub(super) fn resent(&mut self, i: Index, sent_us: u64, delivered: u32) {
        self.unlist(i);
        self.set_waiting(i, false);
        let entry = self.get_mut(i);
        entry.sent_us = sent_us;
        entry.delivered = delivered;
        entry.flags |= EVER_RETRANS;
        self.list_append(i);
    }

    pub(super) fn oldest_sent(&self) -> Option<Index> {
        (self.oldest != NONE).then(|| self.index(self.oldest))
    }

    /// The one sent next after `i`, which must be in the list.
    pub(super) fn sent_after(&self, i: Index) -> Option<Index> {
        let newer = self.get(i).newer;
        (newer != NONE).then(|| self.index(newer))
    }

    // Lost and not yet sent again.

    fn waits(&self, i: Index) -> bool {
        let slot = self.slot(i);
        self.waiting[slot / 64] & (1 << (slot % 64)) != 0
    }

    /// Notes whether a segment waits to be sent again.
    pub(super) fn set_waiting(&mut self, i: Index, waits: bool) {
        if self.waiting_count == 0 && !waits || self.waits(i) == waits {
            return;
        }
        let slot = self.slot(i);
        self.waiting[slot / 64] ^= 1 << (slot % 64);
        if waits {
            if self.waiting_count == 0 || i < self.waiting_from {
                self.waiting_from = i;
            }
            self.waiting_count += 1;
        } else {
            self.waiting_count -= 1;
        }
    }

    /// The first segment that waits to be sent again.
    pub(super) fn first_waiting(&mut self) -> Option<Index> {
        if self.waiting_count == 0 {
            return None;
        }
        let mut i = self.waiting_from.max(self.head);
        while i < self.tail {
            let slot = self.slot(i);
            let rest = self.waiting[slot / 64] >> (slot % 64);
            if rest != 0 {
                i += u64::from(rest.trailing_zeros());
                self.waiting_from = i;
                return Some(i);
            }
            i += (64 - slot % 64).min(self.ring.len() - slot) as u64;
        }
        unreachable!("as many bits are set as are counted")
    }

    // By position in the stream.

    /// The first segment that ends beyond `seq`; the end of the queue if none does.
    pub(super) fn find(&self, seq: u64, mss: u32) -> Index {
        if self.head == self.tail || self.get(self.head).end > seq {
            return self.head;
        }
        let ahead = (seq - self.get(self.head).start()) / u64::from(mss);
        let guess = self.head + ahead;
        if guess < self.tail && self.get(guess).end > seq && self.get(guess).start() <= seq {
            return guess;
        }
        let (mut low, mut high) = (self.head, self.tail);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle).end > seq {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(segments: u64) -> Scoreboard {
        let mut board = Scoreboard::new(false);
        for n in 1..=segments {
            board.push(n * 100, 100, n, 0);
        }
        board
    }

    fn by_time(board: &Scoreboard) -> Vec<Index> {
        std::iter::successors(board.oldest_sent(), |&i| board.sent_after(i)).collect()
    }

    #[test]
    fn order_by_time_and_waiting_segments_survive_growth() {
        let mut board = board(60);
        for _ in 0..50 {
            board.pop();
        }
        board.set_waiting(55, true);
        board.resent(52, 1_000, 0);
        for n in 61..=200 {
            board.push(n * 100, 100, 2_000 + n, 0);
        }
        let mut expected: Vec<Index> = (50..200).filter(|&i| i != 52).collect();
        expected.insert(9, 52);
        assert_eq!(by_time(&board), expected);
        assert_eq!(board.first_waiting(), Some(55));
    }

    #[test]
    fn segments_of_any_size_are_found_by_offset() {
        let mut board = board(10);
        board.push(1_030, 30, 0, 0);
        board.push(1_130, 100, 0, 0);
        for (seq, index) in [
            (0, 0),
            (99, 0),
            (100, 1),
            (1_000, 10),
            (1_029, 10),
            (1_030, 11),
        ] {
            assert_eq!(board.find(seq, 100), index, "{seq}");
        }
        assert_eq!(board.find(1_130, 100), 12);
    }

    #[test]
    fn the_first_that_waits_is_found_across_the_seam_of_the_ring() {
        let mut board = board(64);
        for _ in 0..60 {
            board.pop();
        }
        for n in 65..=120 {
            board.push(n * 100, 100, n, 0);
        }
        for i in [100, 70, 119] {
            board.set_waiting(i, true);
        }
        for expected in [70, 100, 119] {
            assert_eq!(board.first_waiting(), Some(expected));
            board.set_waiting(expected, false);
        }
        assert_eq!(board.first_waiting(), None);
        board.set_waiting(61, true);
        assert_eq!(board.first_waiting(), Some(61));
    }
}
