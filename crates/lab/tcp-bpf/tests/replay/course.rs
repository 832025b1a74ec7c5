//! Long courses of random events that a sender could meet.

use super::pair::Pair;
use super::sender::Replay;
use fastrand::Rng;

const EVENTS: usize = 4_000;
/// Reductions of the largest windows would overflow 32 bits beyond, also in Linux.
const LARGEST_WINDOW: u32 = 100_000;

struct Course {
    replay: Replay<Pair>,
    random: Rng,
    base_rtt_us: u32,
    /// Delay adds up to so much.
    spread_us: u32,
    /// One event of so many is more than an acknowledgement.
    calm: u32,
}

/// How many courses there are.
pub(super) const COURSES: u64 = 12;

/// Leads `control` through a course.
pub(super) fn lead(control: Pair, number: u64) {
    let mut random = Rng::with_seed(number);
    let hz = [250, 1_000, 100, 1_000, 300][number as usize % 5];
    let base_rtt_us = [30_000, 100_000, 300, 200_000][number as usize % 4];
    let mut course = Course {
        replay: Replay::new(control, hz),
        base_rtt_us,
        spread_us: base_rtt_us * 2 / random.u32(1..8),
        calm: [10, 40, 640][number as usize % 3],
        random,
    };
    // Sequence numbers wrap soon.
    course.replay.flow.snd_una = 0xffff_0000;
    course.replay.flow.snd_nxt = 0xffff_0000;
    course.replay.step("idle", 0, 0);
    for _ in 0..EVENTS {
        course.event();
    }
}

impl Course {
    fn event(&mut self) {
        self.pass_time();
        if self.random.u32(..self.calm) == 0 {
            match self.random.u32(..12) {
                0..2 => self.replay.step("idle", 0, 0),
                2..4 => self.timeout(),
                4..6 => self.jump(),
                // In quick succession nothing is measured between.
                _ => (0..self.random.u32(1..5)).for_each(|_| self.reduction()),
            }
            return;
        }
        let what = match self.random.u32(..20) {
            0 => "ack_unlimited",
            _ => "ack",
        };
        let segments = self.random.u32(1..=16).min(self.replay.flow.cwnd);
        let rtt_us = self.rtt_us();
        self.replay.step(what, segments, rtt_us);
    }

    fn pass_time(&mut self) {
        let longest_us = match self.random.u32(..50) {
            0 => 3_000_000,
            _ => self.base_rtt_us,
        };
        self.replay.flow.now_us += u64::from(self.random.u32(1..=longest_us));
    }

    fn rtt_us(&mut self) -> u32 {
        self.base_rtt_us + self.random.u32(..=self.spread_us)
    }

    fn timeout(&mut self) {
        self.replay.step("timed_out", 0, 0);
        self.pass_time();
        self.replay.step("reopened", 0, 0);
    }

    /// To any window, as if growth had led there.
    fn jump(&mut self) {
        let window = LARGEST_WINDOW >> self.random.u32(..15);
        let flow = &mut self.replay.flow;
        flow.cwnd = self.random.u32(2..=window.max(2));
        flow.ssthresh = flow.cwnd;
        flow.cwnd_cnt = 0;
    }

    fn reduction(&mut self) {
        let before = self.replay.flow.ssthresh;
        self.replay.step("reduced", 0, 0);
        for _ in 0..self.random.u32(..6) {
            self.pass_time();
            // Duplicate acknowledgements, and those that take them up.
            let (segments, rtt_us) = (self.random.u32(..4), self.rtt_us());
            self.replay.step("recovering", segments, rtt_us);
        }
        match self.random.u32(..4) {
            0 => self.replay.step("undone", before, 0),
            _ => self.replay.step("recovered", 0, 0),
        }
    }
}
