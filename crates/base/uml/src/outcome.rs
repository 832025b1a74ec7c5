//! What a referee answers.

use crate::scenario::Scenario;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use unbloat_stats::quantile;

/// What happened in one run. Times count from the run's begin, unless said otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The guest's kernel.
    pub kernel: String,
    pub scenario: Scenario,
    pub flows: Vec<FlowOutcome>,
    pub queue: QueueOutcome,
    pub pings: Vec<Ping>,
    /// All packets in the order of their arrival at the queue, if the scenario asked for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packets: Vec<PacketFate>,
    /// The kernel's monotonic clock at the run's begin. CoDel counts in 1024 ns of that clock, so the
    /// exact decision at a boundary depends on it.
    pub begin_monotonic_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowOutcome {
    /// What the kernel says that the socket used.
    pub congestion_control: String,
    /// Bytes that reached the receiver in order, from warm-up to end.
    pub bytes: u64,
    /// `bytes` per second from warm-up (or the flow's start) to end.
    pub goodput_bps: f64,
    pub retransmits: u32,
    pub timeouts: u16,
    pub samples: Vec<FlowSample>,
}

/// TCP_INFO of the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowSample {
    pub at_ns: u64,
    /// Segments.
    pub cwnd: u32,
    /// Segments; 2147483647 before the first loss.
    pub ssthresh: u32,
    pub srtt_us: u32,
    pub min_rtt_us: u32,
    /// Segments sent and not acknowledged.
    pub unacked: u32,
    pub retransmits: u32,
    /// 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.
    pub state: u8,
    pub pacing_bps: u64,
    /// Bytes that reached the receiver in order.
    pub received_bytes: u64,
}

/// What the queue did, packet by packet. `delay_ms` and what follows it count packets that arrived
/// after warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueOutcome {
    /// Packets that arrived before the end: delivered, dropped, or still there at the end and then let out.
    pub arrived: u64,
    pub dropped: u64,
    /// Packets that came ECN-capable and left with CE.
    pub marked: u64,
    /// From arrival to the begin of transmission, of packets that got through.
    pub delay: Distribution,
    pub samples: Vec<QueueSample>,
    /// Counters at the end, after the queue had emptied.
    pub counters: KernelCounters,
}

/// Milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    pub count: u64,
    pub mean_ms: f64,
    pub min_ms: f64,
    pub p5_ms: f64,
    pub p25_ms: f64,
    pub p50_ms: f64,
    pub p75_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
    pub max_ms: f64,
}

impl Distribution {
    pub fn of(values_ns: impl Iterator<Item = u64>) -> Distribution {
        let mut values_ms: Vec<f64> = values_ns.map(|ns| ns as f64 / 1e6).collect();
        let count = values_ms.len();
        let sum: f64 = values_ms.iter().sum();
        let mut at = |q| quantile(&mut values_ms, q).unwrap_or_default();
        Distribution {
            count: count as u64,
            mean_ms: sum / count.max(1) as f64,
            min_ms: at(0.0),
            p5_ms: at(0.05),
            p25_ms: at(0.25),
            p50_ms: at(0.5),
            p75_ms: at(0.75),
            p95_ms: at(0.95),
            p99_ms: at(0.99),
            max_ms: at(1.0),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueSample {
    pub at_ns: u64,
    #[serde(flatten)]
    pub counters: KernelCounters,
}

/// The kernel's own statistics of the queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelCounters {
    pub backlog_packets: u32,
    pub backlog_bytes: u32,
    pub sent_packets: u64,
    pub sent_bytes: u64,
    pub dropped: u64,
    /// What this discipline counts besides, under the kernel's names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub own: BTreeMap<String, u64>,
}

/// An answered ping.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ping {
    pub at_ns: u64,
    pub rtt_ns: u64,
}

/// What became of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketFate {
    /// Number of the TCP or UDP flow; 65535 for pings.
    pub flow: u16,
    /// Length at IP level.
    pub ip_bytes: u16,
    pub ecn: u8,
    pub arrived_ns: u64,
    /// When its transmission began; none if it was dropped.
    pub left_ns: Option<u64>,
    pub marked: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_equal_steps_are_steps() {
        let d = Distribution::of((0..=100).map(|ms| ms * 1_000_000));
        assert_eq!(
            (d.min_ms, d.p5_ms, d.p50_ms, d.p95_ms),
            (0.0, 5.0, 50.0, 95.0)
        );
        assert_eq!(
            (d.p99_ms, d.max_ms, d.mean_ms, d.count),
            (99.0, 100.0, 50.0, 101)
        );
    }

    #[test]
    fn nothing_has_a_distribution_of_zeros() {
        assert_eq!(
            Distribution::of(std::iter::empty()),
            Distribution::default()
        );
    }
}
