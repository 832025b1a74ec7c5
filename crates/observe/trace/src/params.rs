//! What an analyst may set, under the names of the papers, with the papers' values as defaults.

use crate::power::PowerModel;
use serde::{Deserialize, Serialize};
use unbloat_params::defaults;
use unbloat_units::{Bytes, Delta, Rate};

defaults! {
    /// Parameters of all passive analyses. Sections are those of Huang et al., SIGCOMM 2013.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Params {
        /// A flow silent for this long has ended (§3.1: one hour).
        #[serde(with = "crate::plain")]
        pub flow_idle: Delta = Delta::secs(3600);
        /// A client address silent for this long is another user when it returns (§3.1: one hour).
        #[serde(with = "crate::plain")]
        pub user_idle: Delta = Delta::secs(3600);
        /// A closed flow is kept this long for stray copies of its last packets. Not in the paper;
        /// RFC 9293 §3.4.2 would keep it for two segment lifetimes.
        #[serde(with = "crate::plain")]
        pub close_linger: Delta = Delta::secs(10);
        /// `T`: a handshake after this much radio silence includes a promotion (§4.2: 13 s).
        #[serde(with = "crate::plain")]
        pub promotion_silence: Delta = Delta::secs(13);
        /// How long the radio stays on after the last packet (§4.1: 10 s).
        #[serde(with = "crate::plain")]
        pub tail: Delta = Delta::secs(10);
        /// Packets at most this far apart keep the radio receiving without a break (`T_i` of Huang et
        /// al., MobiSys 2012, Table 2: 100 ms).
        #[serde(with = "crate::plain")]
        pub radio_active: Delta = Delta::ms(100);
        /// What the radio draws (Huang et al., MobiSys 2012, Tables 3 and 4).
        pub power: PowerModel = PowerModel::default();
        /// `C`: windows in which the sender was slower tell nothing about the link (§6.1: 30 Mbit/s).
        /// `None` learns it: the fastest rate at which the same user was seen to receive.
        #[serde(with = "crate::plain")]
        pub c: Option<Rate> = Some(Rate::mbps(30));
        /// `delta_G`: packets this far apart give the timestamp tick (§6.1: 3 s).
        #[serde(with = "crate::plain")]
        pub delta_g: Delta = Delta::secs(3);
        /// `Rss` above which duplicate ACKs were followed by a slow start (§5: 1.5).
        pub rss_threshold: f64 = 1.5;
        /// A large flow carries more than this downlink (§5: 1 MB).
        #[serde(with = "crate::plain")]
        pub large_bytes: Bytes = Bytes::new(1_000_000);
        /// A large flow transfers data for longer than this (§5: 5 s).
        #[serde(with = "crate::plain")]
        pub large_duration: Delta = Delta::secs(5);
        /// Windows over which utilisation is sampled (§6.3: 250 ms).
        #[serde(with = "crate::plain")]
        pub utilisation_window: Delta = Delta::ms(250);
        /// Server ports behind the performance-enhancing proxy (§3.1: 80 and 8080).
        pub pep_ports: Vec<u16> = vec![80, 8080];
        /// Width of the bins of the `rtt` and `in_flight` tables; zero keeps every sample. 100 ms is the
        /// interval of CoDel (RFC 8289 §3.2); with 10 ms these tables would cost a third of the whole analysis.
        #[serde(with = "crate::plain")]
        pub bin: Delta = Delta::ms(100);
        /// A standing delay from here on is bufferbloat, from half of it slight. DSLReports' grade C begins at 60 ms.
        #[serde(with = "crate::plain")]
        pub bloat_threshold: Delta = Delta::ms(60);
        /// Rows of `standing` also of flows from which nothing can follow: for a monitor, which counts flows that were measured.
        pub standing_of_all_flows: bool = false;
        /// Rows of `rtt` and `in_flight` also for short flows that no report shows.
        pub all_series: bool = false;
        /// Payload after which a flow gets the analyses that only large flows need.
        #[serde(with = "crate::plain")]
        pub deep_after: Bytes = Bytes::new(65_536);
        /// Live flows held at once; beyond it the longest silent ones are closed, and counted.
        pub max_flows: usize = 1_000_000;
    }
}

impl Params {
    /// Whether a flow with so many bytes of payload and packets has its rows in the tables `rtt` and `in_flight` in any case. Those of a
    /// short one wait in memory until it ends, so that must not last.
    pub fn is_long(&self, payload: u64, packets: u64) -> bool {
        self.all_series || payload >= self.deep_after.as_u64() || packets >= LONG_PACKETS
    }
}

const LONG_PACKETS: u64 = 128;
