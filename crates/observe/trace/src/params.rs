//! What an analyst may set, under the names of the papers, with the papers' values as defaults.

use crate::power::PowerModel;
use serde::{Deserialize, Serialize};
use unbloat_units::{Bytes, Delta, Rate};

/// Parameters of all passive analyses. Sections are those of Huang et al., SIGCOMM 2013.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// A flow silent for this long has ended (§3.1: one hour).
    #[serde(with = "crate::plain")]
    pub flow_idle: Delta,
    /// A client address silent for this long is another user when it returns (§3.1: one hour).
    #[serde(with = "crate::plain")]
    pub user_idle: Delta,
    /// A closed flow is kept this long for stray copies of its last packets. Not in the paper;
    /// RFC 9293 §3.4.2 would keep it for two segment lifetimes.
    #[serde(with = "crate::plain")]
    pub close_linger: Delta,
    /// `T`: a handshake after this much radio silence includes a promotion (§4.2: 13 s).
    #[serde(with = "crate::plain")]
    pub promotion_silence: Delta,
    /// How long the radio stays on after the last packet (§4.1: 10 s).
    #[serde(with = "crate::plain")]
    pub tail: Delta,
    /// Packets at most this far apart keep the radio receiving without a break (`T_i` of Huang et
    /// al., MobiSys 2012, Table 2: 100 ms).
    #[serde(with = "crate::plain")]
    pub radio_active: Delta,
    /// What the radio draws (Huang et al., MobiSys 2012, Tables 3 and 4).
    pub power: PowerModel,
    /// `C`: windows in which the sender was slower tell nothing about the link (§6.1: 30 Mbit/s).
    /// `None` learns it: the fastest rate at which the same user was seen to receive.
    #[serde(with = "crate::plain")]
    pub c: Option<Rate>,
    /// `delta_G`: packets this far apart give the timestamp tick (§6.1: 3 s).
    #[serde(with = "crate::plain")]
    pub delta_g: Delta,
    /// `Rss` above which duplicate ACKs were followed by a slow start (§5: 1.5).
    pub rss_threshold: f64,
    /// A large flow carries more than this downlink (§5: 1 MB).
    #[serde(with = "crate::plain")]
    pub large_bytes: Bytes,
    /// A large flow transfers data for longer than this (§5: 5 s).
    #[serde(with = "crate::plain")]
    pub large_duration: Delta,
    /// Windows over which utilisation is sampled (§6.3: 250 ms).
    #[serde(with = "crate::plain")]
    pub utilisation_window: Delta,
    /// Server ports behind the performance-enhancing proxy (§3.1: 80 and 8080).
    pub pep_ports: Vec<u16>,
    /// Width of the bins of the `rtt` and `in_flight` tables; zero keeps every sample. 100 ms is the
    /// interval of CoDel (RFC 8289 §3.2); with 10 ms these tables would cost a third of the whole analysis.
    #[serde(with = "crate::plain")]
    pub bin: Delta,
    /// A standing delay from here on is bufferbloat, from half of it slight. DSLReports' grade C begins at 60 ms.
    #[serde(with = "crate::plain")]
    pub bloat_threshold: Delta,
    /// Rows of `standing` also of flows from which nothing can follow: for a monitor, which counts flows that were measured.
    pub standing_of_all_flows: bool,
    /// Rows of `rtt` and `in_flight` also for short flows that no report shows.
    pub all_series: bool,
    /// Payload after which a flow gets the analyses that only large flows need.
    #[serde(with = "crate::plain")]
    pub deep_after: Bytes,
    /// Live flows held at once; beyond it the longest silent ones are closed, and counted.
    pub max_flows: usize,
}

impl Params {
    /// Whether a flow with so many bytes of payload and packets has its rows in the tables `rtt` and `in_flight` in any case. Those of a
    /// short one wait in memory until it ends, so that must not last.
    pub fn is_long(&self, payload: u64, packets: u64) -> bool {
        self.all_series || payload >= self.deep_after.as_u64() || packets >= LONG_PACKETS
    }
}

const LONG_PACKETS: u64 = 128;

impl Default for Params {
    fn default() -> Params {
        Params {
            flow_idle: Delta::secs(3600),
            user_idle: Delta::secs(3600),
            close_linger: Delta::secs(10),
            promotion_silence: Delta::secs(13),
            tail: Delta::secs(10),
            radio_active: Delta::ms(100),
            power: PowerModel::default(),
            c: Some(Rate::mbps(30)),
            delta_g: Delta::secs(3),
            rss_threshold: 1.5,
            large_bytes: Bytes::new(1_000_000),
            large_duration: Delta::secs(5),
            utilisation_window: Delta::ms(250),
            pep_ports: vec![80, 8080],
            bin: Delta::ms(100),
            bloat_threshold: Delta::ms(60),
            standing_of_all_flows: false,
            all_series: false,
            deep_after: Bytes::new(65_536),
            max_flows: 1_000_000,
        }
    }
}
