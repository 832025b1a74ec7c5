//! Bytes below the highest one that the monitor has not seen.

use unbloat_units::{Seq, Time};

/// What was seen first above a gap, to tell a late segment from one sent again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Above {
    pub(super) time: Time,
    /// Of the first segment above the gap, if it carried timestamps.
    pub(super) tsval: Option<Seq>,
    pub(super) ip_id: Option<u16>,
}

#[derive(Clone, Copy, Debug)]
struct Gap {
    start: Seq,
    end: Seq,
    above: Above,
}

/// Gaps in sequence order, disjoint.
#[derive(Clone, Debug, Default)]
pub(super) struct Gaps {
    gaps: Vec<Gap>,
}

impl Gaps {
    /// A sender cannot leave more holes than packets in flight; a forger can.
    const MAX: usize = 1024;

    /// Notes a new highest gap. Beyond the bound the oldest is forgotten: a late fill of it then
    /// counts as a retransmission.
    pub(super) fn open(&mut self, start: Seq, end: Seq, above: Above) {
        if self.gaps.len() == Self::MAX {
            self.gaps.remove(0);
        }
        self.gaps.push(Gap { start, end, above });
    }

    /// Removes `start..end` from the gaps. Returns how many bytes of it were missing, and what
    /// stood above the first gap that it touched.
    pub(super) fn fill(&mut self, start: Seq, end: Seq) -> Option<(u32, Above)> {
        let mut filled = 0;
        let mut found = None;
        let mut i = 0;
        while i < self.gaps.len() {
            let gap = self.gaps[i];
            let from = if start.after(gap.start) {
                start
            } else {
                gap.start
            };
            let to = if end.before(gap.end) { end } else { gap.end };
            if !from.before(to) {
                i += 1;
                continue;
            }
            filled += to.since(from) as u32;
            found.get_or_insert(gap.above);
            i += self.cut(i, from, to);
        }
        found.map(|above| (filled, above))
    }

    /// Cuts `from..to` out of gap `i`; returns how many gaps stand there now.
    fn cut(&mut self, i: usize, from: Seq, to: Seq) -> usize {
        let gap = self.gaps[i];
        match (gap.start.before(from), to.before(gap.end)) {
            (false, false) => {
                self.gaps.remove(i);
                return 0;
            }
            (true, false) => self.gaps[i].end = from,
            (false, true) => self.gaps[i].start = to,
            (true, true) => {
                self.gaps[i].end = from;
                self.gaps.insert(i + 1, Gap { start: to, ..gap });
                return 2;
            }
        }
        1
    }

    /// Forgets gaps below `ack`: the receiver has those bytes, so it is the capture that missed
    /// them. Returns how many.
    pub(super) fn forget_below(&mut self, ack: Seq) -> u32 {
        let mut missed = 0;
        while let Some(gap) = self.gaps.first_mut() {
            if !gap.start.before(ack) {
                break;
            }
            if gap.end.after(ack) {
                missed += ack.since(gap.start) as u32;
                gap.start = ack;
                break;
            }
            missed += gap.end.since(gap.start) as u32;
            self.gaps.remove(0);
        }
        missed
    }

    pub(super) fn missing(&self) -> u64 {
        self.gaps.iter().map(|g| g.end.since(g.start) as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(spans: &[(u32, u32)]) -> Gaps {
        let mut gaps = Gaps::default();
        let above = Above {
            time: Time::default(),
            tsval: None,
            ip_id: None,
        };
        for &(start, end) in spans {
            gaps.open(Seq::new(start), Seq::new(end), above);
        }
        gaps
    }

    fn fill(gaps: &mut Gaps, start: u32, end: u32) -> Option<u32> {
        gaps.fill(Seq::new(start), Seq::new(end))
            .map(|(bytes, _)| bytes)
    }

    #[test]
    fn a_fill_counts_only_missing_bytes() {
        let mut gaps = gaps(&[(100, 200), (300, 400)]);
        assert_eq!(fill(&mut gaps, 0, 100), None);
        assert_eq!(fill(&mut gaps, 150, 350), Some(100));
        assert_eq!(gaps.missing(), 100);
        assert_eq!(fill(&mut gaps, 150, 350), None);
    }

    #[test]
    fn a_fill_in_the_middle_leaves_two_gaps() {
        let mut gaps = gaps(&[(100, 200)]);
        assert_eq!(fill(&mut gaps, 140, 160), Some(20));
        assert_eq!(gaps.gaps.len(), 2);
        assert_eq!(gaps.missing(), 80);
    }

    #[test]
    fn an_ack_over_a_gap_is_a_hole_in_the_capture() {
        let mut gaps = gaps(&[(100, 200), (300, 400)]);
        assert_eq!(gaps.forget_below(Seq::new(350)), 150);
        assert_eq!(gaps.missing(), 50);
    }

    #[test]
    fn gaps_are_bounded() {
        let spans: Vec<_> = (0..Gaps::MAX as u32 + 5)
            .map(|i| (i * 10, i * 10 + 3))
            .collect();
        let gaps = gaps(&spans);
        assert_eq!(gaps.gaps.len(), Gaps::MAX);
    }
}
