use unbloat_units::{Bytes, Delta};

/// What the summary's rules take from outside; the defaults are the study's where it has one.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryParams {
    /// A flow or user suffers when its added delay exceeds this at p95. The study has no such
    /// number; 100 ms is a third of what ITU-T G.114 leaves for a whole conversation path.
    pub bloat_threshold: Delta,
    /// A flow is judged on a side only with at least so many RTT samples there: below 20, p95 is
    /// the largest sample.
    pub min_rtt_samples: u64,
    /// How long the radio stays on after the last packet (§4.1: 10 s).
    pub tail: Delta,
    /// Downlink payload of a heavy hitter (§4.1, Fig. 13: 1 MB).
    pub heavy_down: Bytes,
    /// Uplink payload of a heavy hitter (§4.1: 100 KB).
    pub heavy_up: Bytes,
}

impl Default for SummaryParams {
    fn default() -> SummaryParams {
        SummaryParams {
            bloat_threshold: Delta::ms(100),
            min_rtt_samples: 20,
            tail: Delta::secs(10),
            heavy_down: Bytes::new(1_000_000),
            heavy_up: Bytes::new(100_000),
        }
    }
}
