//! From the hop at which a queue was found to the place that the cure depends on.
//!
//! The access line begins behind the last of the hops next to this host that have private addresses (RFC 1918, RFC 4193, link-local); two of them are two
//! routers at home. Where the first hop's address is public or a carrier's (RFC 6598), this host is on the access line itself.
//!
//! Over IPv6 a router at home has a public address, which it shares the first 64 bits of with the hosts behind it (RFC 4291, section 2.5.1). It counts as
//! private unless this host has a public address over IPv4: then the router is the operator's.

use crate::interface::own_address;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use unbloat_locate::{Confidence, Finding, HopReport, Layer, Node, Phase, Verdict};
use unbloat_responsiveness::{Located, Place};

/// Stands for everywhere: no packet is sent there (RFC 5737).
const ANYWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 9);

/// The addresses of this host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnAddresses {
    /// On the way to the server.
    pub towards_server: Option<IpAddr>,
    /// On the default route over IPv4.
    pub ipv4: Option<IpAddr>,
}

impl OwnAddresses {
    pub fn towards(server: SocketAddr) -> OwnAddresses {
        OwnAddresses {
            towards_server: own_address(server),
            ipv4: own_address(ANYWHERE),
        }
    }

    /// Whether this is a router of the network that this host is in.
    fn has_near(&self, hop: IpAddr) -> bool {
        let is_in_own_64 = match (self.towards_server, hop) {
            (Some(IpAddr::V6(own)), IpAddr::V6(hop)) => own.segments()[..4] == hop.segments()[..4],
            _ => false,
        };
        is_private(hop) || is_in_own_64 && self.ipv4.is_none_or(is_private)
    }
}

/// None: no queue was found, or not where.
pub(crate) fn located(verdict: &Verdict, own: OwnAddresses) -> Option<Located> {
    let Finding::Queue {
        step,
        confidence,
        layer,
        ..
    } = &verdict.finding
    else {
        return None;
    };
    let sure = match confidence {
        Confidence::Certain => "",
        Confidence::Likely => "probably ",
    };
    let local = local_hops(&verdict.hops, own);
    let place = match (step.place.from, number(step.place.to)) {
        (Node::Peer(_), _) => Place::AccessLine,
        (Node::ThisHost, to) => first_link(verdict.load, *layer, to, local)?,
        (from, _) if number(from)? <= local => Place::AccessLine,
        _ => Place::Beyond,
    };
    Some(Located {
        place,
        between: format!("{sure}{}", step.place),
    })
}

/// Between this host and the next that answers. With silent hops between them nobody knows on which side of the gateway it is.
fn first_link(load: Phase, layer: Option<Layer>, to: Option<u8>, local: u8) -> Option<Place> {
    match (load, layer, to) {
        (Phase::Up, Some(Layer::Qdisc), _) => Some(Place::Qdisc),
        (Phase::Up, Some(Layer::Driver), _) => Some(Place::Driver),
        // The peer in the local network.
        (_, _, None) => Some(Place::LocalNetwork),
        (_, _, Some(1)) if local >= 1 => Some(Place::LocalNetwork),
        (_, _, Some(1)) => Some(Place::AccessLine),
        _ => None,
    }
}

fn number(node: Node) -> Option<u8> {
    match node {
        Node::Hop(number, _) | Node::FarEnd(number, _) => Some(number),
        Node::ThisHost | Node::Peer(_) => None,
    }
}

/// How many hops next to this host are routers of its own network.
fn local_hops(hops: &[HopReport], own: OwnAddresses) -> u8 {
    let on_path = hops.iter().filter(|hop| hop.hop > 0);
    let near =
        on_path.take_while(|hop| hop.addresses.first().is_some_and(|hop| own.has_near(*hop)));
    near.last().map_or(0, |hop| hop.hop)
}

fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_private() || address.is_link_local(),
        IpAddr::V6(address) => address.is_unique_local() || address.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_locate::{HopKind, Step};
    use unbloat_units::Delta;

    const PATH: [&str; 4] = ["192.168.1.1", "100.64.0.1", "203.0.113.1", "198.51.100.1"];

    fn node(hop: u8, path: &[&str]) -> Node {
        match hop.checked_sub(1) {
            None => Node::ThisHost,
            Some(at) => Node::Hop(hop, path[usize::from(at)].parse().unwrap()),
        }
    }

    /// The place of a queue behind so many hops, found on such a path.
    fn place(path: &[&str], at: (u8, u8), load: Phase, layer: Option<Layer>) -> Option<Place> {
        place_for(OwnAddresses::default(), path, at, load, layer)
    }

    fn place_for(
        own: OwnAddresses,
        path: &[&str],
        (from, to): (u8, u8),
        load: Phase,
        layer: Option<Layer>,
    ) -> Option<Place> {
        let hops = path.iter().zip(1..).map(|(address, hop)| HopReport {
            hop,
            kind: HopKind::Plain,
            addresses: vec![address.parse().unwrap()],
            idle_sent: 30,
            idle_answered: 30,
            loaded_sent: 70,
            loaded_answered: 70,
            idle_p50: None,
            loaded_p50: None,
            loaded_p95: None,
            added: None,
            persisting: None,
        });
        let step = Step {
            place: unbloat_locate::Place {
                from: node(from, path),
                to: node(to, path),
            },
            added: Delta::ms(80),
            low: Delta::ms(78),
            high: Delta::ms(83),
        };
        let finding = Finding::Queue {
            step,
            confidence: Confidence::Certain,
            agreement: 1.0,
            layer,
            others: Vec::new(),
        };
        let verdict = Verdict {
            load,
            finding,
            hops: hops.collect(),
        };
        located(&verdict, own).map(|located| located.place)
    }

    #[test]
    fn the_access_line_is_behind_the_last_private_hop() {
        for load in [Phase::Down, Phase::Up] {
            let of = |from, to| place(&PATH, (from, to), load, None);
            assert_eq!(of(0, 1), Some(Place::LocalNetwork));
            assert_eq!(of(1, 2), Some(Place::AccessLine));
            assert_eq!(of(2, 3), Some(Place::Beyond));
            assert_eq!(of(0, 2), None, "a silent gateway");
        }
        let two_routers = ["192.168.1.1", "10.0.0.1", "203.0.113.1"];
        assert_eq!(
            place(&two_routers, (2, 3), Phase::Up, None),
            Some(Place::AccessLine)
        );
    }

    #[test]
    fn a_host_without_a_gateway_is_on_the_access_line() {
        let of = |at| place(&PATH[1..], at, Phase::Down, None);
        assert_eq!(of((0, 1)), Some(Place::AccessLine));
        assert_eq!(of((1, 2)), Some(Place::Beyond));
    }

    #[test]
    fn a_router_at_home_has_a_public_address_over_ipv6() {
        let path = ["2001:db8:1::1", "2001:db8:ffff::1", "2001:db8:fffe::1"];
        let of = |ipv4: &str, at| {
            let own = OwnAddresses {
                towards_server: Some("2001:db8:1::5".parse().unwrap()),
                ipv4: ipv4.parse().ok(),
            };
            place_for(own, &path, at, Phase::Up, None)
        };
        for at_home in ["192.168.1.5", "none"] {
            assert_eq!(of(at_home, (0, 1)), Some(Place::LocalNetwork));
            assert_eq!(of(at_home, (1, 2)), Some(Place::AccessLine));
            assert_eq!(of(at_home, (2, 3)), Some(Place::Beyond));
        }
        assert_eq!(of("198.51.100.7", (0, 1)), Some(Place::AccessLine));
        assert_eq!(of("198.51.100.7", (1, 2)), Some(Place::Beyond));
    }

    #[test]
    fn the_layers_of_this_host_are_places_for_what_it_sends() {
        let of = |layer| place(&PATH, (0, 1), Phase::Up, Some(layer));
        assert_eq!(of(Layer::Qdisc), Some(Place::Qdisc));
        assert_eq!(of(Layer::Driver), Some(Place::Driver));
        assert_eq!(of(Layer::Below), Some(Place::LocalNetwork));
    }
}
