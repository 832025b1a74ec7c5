//! What a referee is asked.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use unbloat_units::{Delta, Rate};

/// A bottleneck and what is sent through it.
///
/// Four hosts in a row: sender, router, delay, receiver. The router's queue towards the receiver is the
/// one in question. A packet leaves it when its transmission begins; the next host lets it pass when that
/// would have ended and the path's delay has gone by. So the bottleneck is a link that stores and
/// forwards, of exactly this rate. ACKs meet delay only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    pub rate_bps: u64,
    /// From the bottleneck to the receiver, besides the packet's own transmission.
    pub forward_delay_ns: u64,
    /// From the receiver to the sender.
    pub return_delay_ns: u64,
    /// The queue as `tc` writes it: `fq_codel limit 1000 ecn`. `cake` (which is told the rate) and `tbf`
    /// shape by themselves; all others stand below an HTB of the rate.
    pub queue: String,
    /// Bytes of framing that the rate counts for each packet; 0 counts IP packets, 14 Ethernet frames.
    #[serde(default)]
    pub framing_bytes: i32,
    pub length_ns: u64,
    /// What enters the queue before this time is left out of goodput and distributions.
    #[serde(default)]
    pub warmup_ns: u64,
    #[serde(default)]
    pub flows: Vec<Flow>,
    /// UDP packets sent at given times: the same arrivals for this queue as for another one's.
    #[serde(default)]
    pub arrivals: Vec<Arrival>,
    /// How often the sender pings the receiver, if it does.
    #[serde(default)]
    pub ping_every_ns: Option<u64>,
    pub sample_every_ns: u64,
    /// Whether TCP negotiates ECN.
    #[serde(default)]
    pub ecn: bool,
    /// Settings of sender and receiver beyond [`Scenario::SYSCTLS`], by path below /proc/sys.
    #[serde(default)]
    pub sysctls: BTreeMap<String, String>,
    /// Whether the outcome lists every packet.
    #[serde(default)]
    pub list_packets: bool,
    pub seed: u64,
}

/// One bulk transfer from sender to receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// As Linux names it: `cubic`, `reno`, `highspeed`, ...
    pub congestion_control: String,
    #[serde(default)]
    pub start_ns: u64,
}

/// One UDP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrival {
    /// When it is sent, which is when it arrives at the queue.
    pub at_ns: u64,
    /// Which of the flows 0 to 999 it belongs to.
    pub flow: u16,
    /// Length at IP level, 28 to 1500.
    pub ip_bytes: u16,
    /// The ECN field: 0 not capable, 1 ECT(1), 2 ECT(0).
    #[serde(default)]
    pub ecn: u8,
}

impl Scenario {
    /// What the kernel would else choose by the machine's memory, or keep from one flow to the next.
    pub const SYSCTLS: &[(&str, &str)] = &[
        ("net/ipv4/tcp_rmem", "4096 131072 6291456"),
        ("net/ipv4/tcp_wmem", "4096 16384 4194304"),
        ("net/ipv4/tcp_no_metrics_save", "1"),
        // A flow stays the same flow for the router, also after a timeout.
        ("net/core/txrehash", "0"),
    ];

    /// A bottleneck without traffic, sampled every 100 ms.
    pub fn new(rate: Rate, one_way: Delta, queue: &str, length: Delta) -> Scenario {
        let ns = |delta: Delta| u64::try_from(delta.as_ns()).unwrap_or(0);
        Scenario {
            rate_bps: rate.as_bps(),
            forward_delay_ns: ns(one_way),
            return_delay_ns: ns(one_way),
            queue: queue.to_owned(),
            framing_bytes: 0,
            length_ns: ns(length),
            warmup_ns: 0,
            flows: Vec::new(),
            arrivals: Vec::new(),
            ping_every_ns: None,
            sample_every_ns: 100_000_000,
            ecn: false,
            sysctls: BTreeMap::new(),
            list_packets: false,
            seed: 1,
        }
    }

    /// With another bulk transfer from the beginning.
    pub fn flow(mut self, congestion_control: &str) -> Scenario {
        self.flows.push(Flow {
            congestion_control: congestion_control.to_owned(),
            start_ns: 0,
        });
        self
    }
}
