//! Delays of round trips that hosts and radios make, told apart by what went before.

use crate::tcp::{Segment, Side};
use unbloat_stats::LogHistogram;
use unbloat_units::Delta;

/// What made an acknowledgment late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// It came with payload: the host had to make its answer first.
    Think,
    /// The data came after silence: a radio or a host slept.
    Wake,
    /// A single segment was acknowledged, and the host may have held that back (RFC 1122 §4.2.3.2).
    DelayedAck,
}

impl Wait {
    pub(crate) const COUNT: usize = 3;
    /// Wi-Fi stations doze after half a second, and DRX and RRC begin below a second and after.
    const SILENCE: Delta = Delta::secs(1);

    /// Of a sample this much above the floor, if the host may have waited for most of it (`gap` since its
    /// previous packet).
    pub(super) fn of(
        seg: &Segment<'_>,
        added: Delta,
        gap: Option<Delta>,
        silence: Delta,
    ) -> Option<Wait> {
        let may_have_waited = gap.is_none_or(|gap| gap * 5 >= added * 4);
        if !may_have_waited {
            None
        } else if seg.header.payload_len > 0 {
            Some(Wait::Think)
        } else if silence >= Wait::SILENCE {
            Some(Wait::Wake)
        } else {
            (seg.acked_packets <= 1).then_some(Wait::DelayedAck)
        }
    }
}

/// Added delays by kind, of each direction's loop.
#[derive(Clone, Default)]
pub(super) struct Waits {
    kinds: [[LogHistogram; Wait::COUNT]; 2],
}

/// One kind of a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct WaitFound {
    pub(crate) samples: u32,
    pub(crate) median_ms: Option<f64>,
}

impl Waits {
    pub(super) fn add(&mut self, side: Side, wait: Wait, added: Delta) {
        self.kinds[side.index()][wait as usize].record(added.as_us() as f64);
    }

    pub(super) fn found(&self, side: Side) -> [WaitFound; Wait::COUNT] {
        std::array::from_fn(|kind| {
            let all = &self.kinds[side.index()][kind];
            WaitFound {
                samples: u32::try_from(all.count()).unwrap_or(u32::MAX),
                median_ms: all.quantile(0.5).map(|us| us / 1e3),
            }
        })
    }
}
