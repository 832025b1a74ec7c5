//! HighSpeed TCP: growth and reduction by the size of the window.
//!
//! # References
//! RFC 3649, appendix B (the table); Linux 6.12 `net/ipv4/tcp_highspeed.c`, whose fixed-point form of
//! the table is followed.
//!
//! # Where we differ
//! 1. As Linux, growth is counted per ACK, not per segment: with delayed ACKs it is half of what
//!    RFC 3649 gives.

use super::{Congestion, Flow};
use unbloat_params::params;

params! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Params: Settings {}
}

/// Up to this window, the reduction in 1/256. Growth is the number of the row, from one.
const TABLE: [(u32, u32); 72] = [
    (38, 128),
    (118, 112),
    (221, 104),
    (347, 98),
    (495, 93),
    (663, 89),
    (851, 86),
    (1_058, 83),
    (1_284, 81),
    (1_529, 78),
    (1_793, 76),
    (2_076, 74),
    (2_378, 72),
    (2_699, 71),
    (3_039, 69),
    (3_399, 68),
    (3_778, 66),
    (4_177, 65),
    (4_596, 64),
    (5_036, 62),
    (5_497, 61),
    (5_979, 60),
    (6_483, 59),
    (7_009, 58),
    (7_558, 57),
    (8_130, 56),
    (8_726, 55),
    (9_346, 54),
    (9_991, 53),
    (10_661, 52),
    (11_358, 52),
    (12_082, 51),
    (12_834, 50),
    (13_614, 49),
    (14_424, 48),
    (15_265, 48),
    (16_137, 47),
    (17_042, 46),
    (17_981, 45),
    (18_955, 45),
    (19_965, 44),
    (21_013, 43),
    (22_101, 43),
    (23_230, 42),
    (24_402, 41),
    (25_618, 41),
    (26_881, 40),
    (28_193, 39),
    (29_557, 39),
    (30_975, 38),
    (32_450, 38),
    (33_986, 37),
    (35_586, 36),
    (37_253, 36),
    (38_992, 35),
    (40_808, 35),
    (42_707, 34),
    (44_694, 33),
    (46_776, 33),
    (48_961, 32),
    (51_258, 32),
    (53_677, 31),
    (56_230, 30),
    (58_932, 30),
    (61_799, 29),
    (64_851, 28),
    (68_113, 28),
    (71_617, 27),
    (75_401, 26),
    (79_517, 26),
    (84_035, 25),
    (89_053, 24),
];

#[derive(Clone, Debug, Default)]
pub struct Hstcp {
    row: usize,
}

impl Hstcp {
    pub fn new(_params: Params) -> Hstcp {
        Hstcp { row: 0 }
    }

    fn find_row(&mut self, cwnd: u32) {
        while self.row < TABLE.len() - 1 && cwnd > TABLE[self.row].0 {
            self.row += 1;
        }
        while self.row > 0 && cwnd <= TABLE[self.row - 1].0 {
            self.row -= 1;
        }
    }
}

impl Congestion for Hstcp {
    fn init(&mut self, flow: &mut Flow) {
        // So that the reduction does not overflow.
        flow.cwnd_clamp = flow.cwnd_clamp.min(u32::MAX / 128);
    }

    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        let reduction = (flow.cwnd * TABLE[self.row].1) >> 8;
        (flow.cwnd - reduction).max(2)
    }

    fn avoid(&mut self, flow: &mut Flow, acked: u32) {
        if !flow.is_limited_by_cwnd() {
            return;
        }
        if flow.is_in_slow_start() {
            flow.slow_start(acked);
            return;
        }
        self.find_row(flow.cwnd);
        if flow.cwnd < flow.cwnd_clamp {
            flow.cwnd_cnt += self.row as u32 + 1;
            if flow.cwnd_cnt >= flow.cwnd {
                flow.cwnd_cnt -= flow.cwnd;
                flow.cwnd += 1;
            }
        }
    }
}
