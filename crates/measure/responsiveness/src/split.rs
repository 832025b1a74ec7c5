//! What waits in the end hosts, and what in the network.
//!
//! Three kinds of packets meet different queues, so they must not be mixed up:
//!
//! | packet | waits in |
//! |---|---|
//! | UDP of its own | queues that flows share: the bottleneck, unless it keeps flows apart |
//! | foreign probe | the same, and whatever it takes both hosts to set up a connection |
//! | load connection's segment (TCP's own round trip) | the same, and the queue of its own flow where flows are kept apart |
//! | own probe | the same, and behind what the sender wrote before: in its socket, in TLS and in HTTP/2 |
//!
//! So differences of what load adds to them are places. A second run in which senders keep no more than 5 ms written and unsent
//! ("network only") measures the sockets directly.

use crate::fields::ms_or_null;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unbloat_units::Delta;

/// Smaller differences are noise.
const NOTABLE: Delta = Delta::ms(5);

/// What load added to each kind of round trip (medians), in one direction with one setting of the stacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StackView {
    #[serde(rename = "udp_ms", with = "ms_or_null")]
    #[schemars(with = "Option<f64>")]
    pub udp: Option<Delta>,
    /// One round trip of a foreign probe.
    #[serde(rename = "foreign_ms", with = "ms_or_null")]
    #[schemars(with = "Option<f64>")]
    pub foreign: Option<Delta>,
    /// TCP's own estimate on load connections.
    #[serde(rename = "tcp_ms", with = "ms_or_null")]
    #[schemars(with = "Option<f64>")]
    pub tcp: Option<Delta>,
    #[serde(rename = "self_ms", with = "ms_or_null")]
    #[schemars(with = "Option<f64>")]
    pub own: Option<Delta>,
    /// Echo requests of ICMP. Networks may treat them otherwise than all else, so other probes have to agree.
    #[serde(rename = "icmp_ms", with = "ms_or_null")]
    #[schemars(with = "Option<f64>")]
    pub icmp: Option<Delta>,
}

/// One place and what waits there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    pub place: &'static str,
    pub delay: Delta,
    /// What it is the difference of.
    pub from: &'static str,
}

/// What waits where. None is "cannot be told from these".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// In queues that other traffic waits in too: what hurts calls and games.
    pub shared: Share,
    /// In the queue of the load's own flow, in a network that keeps flows apart: hurts that flow alone.
    pub own_queue: Option<Share>,
    /// In sockets, TLS and HTTP of the end hosts: hurts only what shares a connection with bulk data.
    pub sockets: Option<Share>,
    /// Behind data of the same connection although sockets hold little: lost segments that those behind them wait for, TLS
    /// records, HTTP. Only known where nothing but the network was measured; it is no fault of the sockets.
    pub same_connection: Option<Share>,
    /// In setting up connections: a busy server or client.
    pub setup: Option<Share>,
}

impl Split {
    /// From the run as the stacks are, and the one for the network only if there was one. None without UDP and foreign probes.
    pub fn of(as_is: &StackView, network_only: Option<&StackView>) -> Option<Split> {
        let (delay, measured) = match (as_is.udp, as_is.foreign) {
            (Some(udp), _) => (udp, "UDP under load less UDP without"),
            (None, Some(foreign)) => (foreign, "foreign probes under load less without"),
            (None, None) => return None,
        };
        let shared = share("queues that all traffic shares", delay, measured);
        Some(Split {
            shared,
            own_queue: as_is.tcp.map(|tcp| {
                let from = "TCP's round trip on load connections less that of shared queues";
                share("the load's own queue in the network", tcp - delay, from)
            }),
            sockets: sockets(as_is, network_only, delay),
            same_connection: None,
            setup: as_is.udp.zip(as_is.foreign).map(|(udp, foreign)| {
                let from = "foreign probes less UDP";
                share("setting up connections", foreign - udp, from)
            }),
        })
    }

    /// From the run for the network only, where there was no other: of sockets as they are it says nothing.
    pub fn of_network_only(view: &StackView) -> Option<Split> {
        let split = Split::of(view, None)?;
        let behind = |share: Share| Share {
            place: "the same connection, behind what was lost, in TLS and in HTTP",
            ..share
        };
        Some(Split {
            sockets: None,
            same_connection: split.sockets.map(behind),
            ..split
        })
    }

    /// All places in which something notable waits, the longest first.
    pub fn notable(&self) -> Vec<Share> {
        let all = [
            Some(self.shared),
            self.own_queue,
            self.sockets,
            self.same_connection,
            self.setup,
        ];
        let mut notable: Vec<Share> = all.into_iter().flatten().collect();
        notable.retain(|share| share.delay >= NOTABLE);
        notable.sort_by_key(|share| -share.delay.as_ns());
        notable
    }

    /// One sentence.
    pub fn in_words(&self) -> String {
        let places: Vec<String> = self.notable().iter().map(Share::in_words).collect();
        match &*places {
            [] => format!("load adds less than {NOTABLE} anywhere"),
            _ => format!("load adds {}", places.join(", ")),
        }
    }
}

impl Share {
    pub fn in_words(&self) -> String {
        format!(
            "{:.0} ms in {} ({})",
            self.delay.as_ms(),
            self.place,
            self.from
        )
    }
}

fn sockets(as_is: &StackView, network_only: Option<&StackView>, shared: Delta) -> Option<Share> {
    let place = "sockets, TLS and HTTP of the end hosts";
    let own = as_is.own?;
    if let Some(bare) = network_only.and_then(|run| run.own) {
        let from = "own probes as the stacks are less own probes with 5 ms unsent";
        return Some(share(place, own - bare, from));
    }
    Some(match as_is.tcp {
        Some(tcp) => {
            let from = "own probes less TCP's round trip on the same connections";
            share(place, own - tcp.max(shared), from)
        }
        None => {
            let from = "own probes less what waits in shared queues; the load's own queue in the network is part of it";
            share(place, own - shared, from)
        }
    })
}

/// Differences of medians can be a little below zero; no place has a negative queue.
fn share(place: &'static str, delay: Delta, from: &'static str) -> Share {
    let delay = delay.max(Delta::ZERO);
    Share { place, delay, from }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(udp: i64, foreign: i64, tcp: i64, own: i64) -> StackView {
        StackView {
            udp: Some(Delta::ms(udp)),
            foreign: Some(Delta::ms(foreign)),
            tcp: Some(Delta::ms(tcp)),
            own: Some(Delta::ms(own)),
            icmp: None,
        }
    }

    #[test]
    fn a_fifo_that_all_share_is_the_network_and_seconds_beyond_it_are_sockets() {
        // A full FIFO of 160 ms, and a server that writes 1.5 s ahead.
        let split = Split::of(&view(160, 162, 161, 1700), None).unwrap();
        assert_eq!(split.shared.delay, Delta::ms(160));
        assert_eq!(split.own_queue.unwrap().delay, Delta::ms(1));
        assert_eq!(split.sockets.unwrap().delay, Delta::ms(1539));
        let places: Vec<&str> = split.notable().iter().map(|s| s.place).collect();
        let sockets = "sockets, TLS and HTTP of the end hosts";
        assert_eq!(places, [sockets, "queues that all traffic shares"]);
    }

    #[test]
    fn a_queue_per_flow_hurts_only_the_load_and_is_no_socket() {
        let split = Split::of(&view(1, 3, 90, 92), None).unwrap();
        assert_eq!(split.own_queue.unwrap().delay, Delta::ms(89));
        assert_eq!(split.sockets.unwrap().delay, Delta::ms(2));
        assert_eq!(split.notable().len(), 1);
        assert!(split.in_words().contains("89 ms in the load's own queue"));
    }

    #[test]
    fn a_run_for_the_network_only_measures_sockets_directly() {
        let bare = view(160, 162, 161, 170);
        let split = Split::of(&view(160, 162, 161, 1700), Some(&bare)).unwrap();
        assert_eq!(split.sockets.unwrap().delay, Delta::ms(1530));
    }

    #[test]
    fn what_was_not_measured_is_not_told() {
        let udp = StackView {
            udp: Some(Delta::ms(50)),
            ..StackView::default()
        };
        let split = Split::of(&udp, None).unwrap();
        assert_eq!(
            (split.own_queue, split.sockets, split.setup),
            (None, None, None)
        );
        assert_eq!(Split::of(&StackView::default(), None), None);
    }

    #[test]
    fn with_little_unsent_sockets_are_not_blamed_for_what_waits_behind_losses() {
        let split = Split::of_network_only(&view(160, 162, 161, 300)).unwrap();
        assert_eq!(split.sockets, None);
        assert_eq!(split.same_connection.unwrap().delay, Delta::ms(139));
        assert!(split.in_words().contains("behind what was lost"));
    }

    #[test]
    fn no_place_has_less_than_nothing() {
        let split = Split::of(&view(50, 30, 20, 10), None).unwrap();
        assert_eq!(split.setup.unwrap().delay, Delta::ZERO);
        assert_eq!(split.sockets.unwrap().delay, Delta::ZERO);
    }
}
