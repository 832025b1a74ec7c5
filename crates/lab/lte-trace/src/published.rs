//! What the study publishes and the generator is given: Huang et al., "An In-depth Study of LTE", SIGCOMM 2013.
//!
//! A statistic of a generated trace that is listed here is a check of the analysis, not a result. Where a distribution is published by
//! quantiles only, its ends (probabilities 0 and 1) are ours.

use crate::quantiles::{Quantiles, Sizes};
use unbloat_units::Delta;

/// Flows of a client address: 47.1 million of 379,000 (section 3.1).
pub const FLOWS_PER_USER: f64 = 47.1e6 / 379e3;
/// Base stations that were watched (section 3.1).
pub const BASE_STATIONS: u32 = 22;
/// TCP flows among all flows (section 4.1); the others are look-ups here.
pub const TCP_SHARE: f64 = 0.953;
/// Flows of which only SYNs are seen (section 4.1).
pub const SYN_ONLY: f64 = 0.085;
/// Flows that end by RST (section 4.1).
pub const BY_RST: f64 = 0.054;
/// Flows whose FIN or RST comes more than 10 s after the last payload (section 4.1).
pub const DELAYED_CLOSE: f64 = 0.231;
/// Flows by HTTP and HTTPS (section 4.1).
pub const HTTP_FLOWS: f64 = 0.501;
pub const HTTPS_FLOWS: f64 = 0.421;
/// The top 5 % of flows by downlink payload: the least of them in bytes, and how many use HTTP (section 4.1).
pub const TOP_DOWN: f64 = 85_900.0;
pub const TOP_SHARE: f64 = 0.05;
pub const TOP_HTTP: f64 = 0.803;
/// Time with a single flow that downloads (Fig. 6): here the share of bursts of a single flow.
pub const ALONE: f64 = 0.721;
/// Silence after which the radio is switched off (section 4.1).
pub const TAIL: Delta = Delta::secs(10);
/// Quartiles of the promotion delay (section 4.2).
pub const PROMOTION: [Delta; 3] = [Delta::ms(319), Delta::ms(435), Delta::ms(558)];
/// Largest payload of a packet, with timestamps (section 7.2).
pub const PAYLOAD: u32 = 1_358;
/// Receive window that clients offer first (section 7.2).
pub const FIRST_WINDOW: u32 = 131_712;
/// Ticks of the clients' timestamp clocks, in ms, and their shares; the rest has no timestamps (section 6.1).
pub const TICKS: [(f64, Delta); 3] = [
    (0.573, Delta::ms(1)),
    (0.364, Delta::ms(10)),
    (0.004, Delta::ms(100)),
];

/// Downlink payload of a flow (Fig. 2, section 4.1): 11.3 % none, 90 % up to 35.9 KB, 5 % from 85.9 KB on, 0.6 % above 1 MB.
const DOWN: &[(f64, f64)] = &[
    (0.113, 100.0),
    (0.9, 35_900.0),
    (0.95, TOP_DOWN),
    (0.994, 1e6),
];
/// The share of downlink bytes in flows above 1 MB.
const DOWN_HEAVY: f64 = 0.617;
/// Uplink payload (Fig. 2): 10.9 % none, 90 % up to 2.9 KB, 0.1 % above 100 KB.
const UP: &[(f64, f64)] = &[(0.109, 100.0), (0.9, 2_900.0), (0.999, 1e5)];
const UP_HEAVY: f64 = 0.639;

/// Downlink payload of flows, of at most `most` bytes.
pub fn down_sizes(most: f64) -> Sizes {
    Sizes::new(DOWN, DOWN_HEAVY, most)
}

/// Uplink payload of flows, of at most `most` bytes.
pub fn up_sizes(most: f64) -> Sizes {
    Sizes::new(UP, UP_HEAVY, most)
}

/// Flows of less than 5 s.
pub const SHORT: f64 = 0.481;
/// Duration in s of flows (Fig. 3): 48.1 % below 5 s, 6.8 % from 3 minutes, 2.8 % above 10 minutes.
pub const DURATION_S: Quantiles<'static> = Quantiles(&[
    (0.0, 0.05),
    (SHORT, 5.0),
    (0.932, 180.0),
    (0.972, 600.0),
    (1.0, 1_800.0),
]);

/// Handshake round trip in ms between client and server, of flows that meet no proxy (Table 1).
pub const HANDSHAKE_MS: Quantiles<'static> = Quantiles(&[
    (0.0, 20.0),
    (0.05, 30.0),
    (0.5, 70.0),
    (0.95, 467.0),
    (1.0, 2_000.0),
]);

/// Time in ms that the resolver takes (Fig. 7): below 10 ms in 87.3 %.
pub const RESOLVER_MS: Quantiles<'static> = Quantiles(&[(0.0, 0.5), (0.873, 10.0), (1.0, 500.0)]);

/// Rate of a user's LTE in kbit/s (Table 1, column 4GTest LTE: bulk transfers to a server nearby). The study's own column is not given.
pub const DOWN_KBPS: Quantiles<'static> = Quantiles(&[
    (0.0, 1_000.0),
    (0.05, 2_112.0),
    (0.5, 12_740.0),
    (0.95, 30_812.0),
    (1.0, 50_000.0),
]);
pub const UP_KBPS: Quantiles<'static> = Quantiles(&[
    (0.0, 200.0),
    (0.05, 387.0),
    (0.5, 5_640.0),
    (0.95, 19_358.0),
    (1.0, 25_000.0),
]);

/// HTTP bytes by content (section 7.1), and a type for each; unknown has none.
pub const CONTENT: [(f64, &str); 7] = [
    (0.378, "video/mp4"),
    (0.195, "image/jpeg"),
    (0.118, "text/html"),
    (0.083, "application/zip"),
    (0.065, AUDIO),
    (0.056, "application/x-bplist"),
    (0.105, ""),
];
pub const AUDIO: &str = "audio/mpeg";
