use unbloat_params::defaults;
use unbloat_units::{Bytes, Delta};

defaults! {
    /// What the summary's rules take from outside; the defaults are the study's where it has one.
    #[derive(Clone, Debug, PartialEq)]
    pub struct SummaryParams {
        /// A standing queue of at least this median delay is bufferbloat, from half of it slight.
        /// DSLReports' grade C begins at 60 ms of added delay.
        pub bloat_threshold: Delta = Delta::ms(60);
        /// Flows with fewer RTT samples are left out of distributions of their p95: below 20 it is the
        /// largest sample.
        pub min_rtt_samples: u64 = 20;
        /// How long the radio stays on after the last packet (§4.1: 10 s).
        pub tail: Delta = Delta::secs(10);
        /// Downlink payload of a heavy hitter (§4.1, Fig. 13: 1 MB).
        pub heavy_down: Bytes = Bytes::new(1_000_000);
        /// Uplink payload of a heavy hitter (§4.1: 100 KB).
        pub heavy_up: Bytes = Bytes::new(100_000);
    }
}
