//! What makes packets late, if no queue does.

use unbloat_stats::LogHistogram;

/// A kind of delay that is no queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The server had to make its answer first.
    Think,
    /// A radio or a host slept.
    Wake,
    /// A radio that listens at beacons only (IEEE 802.11 power save).
    PowerSave,
    /// The host held an acknowledgment back (RFC 1122 §4.2.3.2).
    DelayedAck,
    /// The path let nothing pass for a while, and then all at once.
    Hold,
    /// The path delays now more, now less: contention, grants, repeats.
    Jitter,
}

impl Wait {
    pub(crate) const COUNT: usize = 6;
}

/// One kind of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct WaitFound {
    pub(crate) samples: u32,
    /// Median; of holds the longest.
    pub(crate) median_ms: Option<f64>,
}

impl WaitFound {
    pub(super) fn of(all: &LogHistogram) -> WaitFound {
        WaitFound {
            samples: u32::try_from(all.count()).unwrap_or(u32::MAX),
            median_ms: all.quantile(0.5).map(|us| us / 1e3),
        }
    }
}
