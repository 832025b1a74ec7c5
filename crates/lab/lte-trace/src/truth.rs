//! What happened, as the hosts and the radio know it.

use std::net::Ipv4Addr;
use std::sync::Arc;
use unbloat_link::service::steps::Step;
use unbloat_units::{Both, Delta, Rate, Time};

/// Addresses and ports that tell a flow from all others of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowName {
    pub client: Ipv4Addr,
    pub client_port: u16,
    pub server: Ipv4Addr,
    pub server_port: u16,
}

/// A TCP flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowTruth {
    pub name: FlowName,
    /// How long the radio kept the client's first SYN from passing.
    pub promotion: Delta,
    /// Round trip between monitor and server.
    pub core_rtt: Delta,
    /// Packets with this flow that passed the monitor, and packets with payload that the senders sent again.
    pub packets: Both<u64>,
    pub retransmissions: Both<u64>,
    /// Packets with payload lost before the monitor.
    pub lost_before: Both<u64>,
    /// Payload that the receivers' applications read.
    pub read: Both<u64>,
    /// Timeouts of the server, and those of them that broke off a recovery: undesired slow starts (section 5).
    pub timeouts: Vec<Time>,
    pub undesired: Vec<Time>,
    /// When the receive window kept the server from sending for the first time.
    pub window_full: Option<Time>,
    /// Content type of an HTTP flow, empty if it is not told.
    pub content: Option<&'static str>,
}

/// A user.
#[derive(Clone, Debug, PartialEq)]
pub struct UserTruth {
    pub client: Ipv4Addr,
    /// Tick of the timestamp clock, in seconds by the monitor's clock.
    pub tick_s: Option<f64>,
    /// Rates of the radio at its MAC layer, over and over from the start of the trace.
    pub rates: Both<Arc<[Step]>>,
    pub flows: Vec<FlowTruth>,
}

/// Mean of rates that begin anew at their end, between two times since the start of the trace.
pub fn mean_rate(steps: &[Step], from: Delta, until: Delta) -> Rate {
    let cycle: i64 = steps.iter().map(|step| step.span.as_ns()).sum();
    let (begin, end) = (from.as_ns(), until.as_ns());
    let mut bits = 0.0;
    let mut at = begin;
    while at < end && cycle > 0 {
        let mut within = at.rem_euclid(cycle);
        for step in steps {
            if within < step.span.as_ns() {
                let ns = (step.span.as_ns() - within).min(end - at);
                bits += step.rate.as_bps_f64() * ns as f64 / 1e9;
                at += ns;
                break;
            }
            within -= step.span.as_ns();
        }
    }
    Rate::from_bps_f64(bits / ((end - begin).max(1) as f64 / 1e9))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_rate_goes_over_ends_of_steps_and_of_the_cycle() {
        let step = |ms, mbps| Step {
            span: Delta::ms(ms),
            rate: Rate::mbps(mbps),
        };
        let steps = [step(100, 10), step(300, 2)];
        let mean = |from, until| mean_rate(&steps, Delta::ms(from), Delta::ms(until)).as_bps();
        assert_eq!(mean(0, 100), 10_000_000);
        assert_eq!(mean(0, 400), 4_000_000);
        assert_eq!(mean(350, 450), 6_000_000);
    }
}
