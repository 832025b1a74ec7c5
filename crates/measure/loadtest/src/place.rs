//! From the hop at which a queue was found to the place that the cure depends on.
//!
//! The access line begins behind the last of the hops next to this host that have private addresses (RFC 1918, RFC 4193, link-local); two of them are two
//! routers at home. Where the first hop's address is public or a carrier's (RFC 6598), this host is on the access line itself.

use std::net::IpAddr;
use unbloat_locate::{Confidence, Finding, HopReport, Layer, Node, Phase, Verdict};
use unbloat_responsiveness::{Located, Place};

/// None: no queue was found, or not where.
pub(crate) fn located(verdict: &Verdict) -> Option<Located> {
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
    let local = local_hops(&verdict.hops);
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

/// How many hops next to this host have private addresses.
fn local_hops(hops: &[HopReport]) -> u8 {
    let on_path = hops.iter().filter(|hop| hop.hop > 0);
    let private = on_path.take_while(|hop| hop.addresses.first().copied().is_some_and(is_private));
    private.last().map_or(0, |hop| hop.hop)
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
    fn place(
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
        located(&verdict).map(|located| located.place)
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
    fn the_layers_of_this_host_are_places_for_what_it_sends() {
        let of = |layer| place(&PATH, (0, 1), Phase::Up, Some(layer));
        assert_eq!(of(Layer::Qdisc), Some(Place::Qdisc));
        assert_eq!(of(Layer::Driver), Some(Place::Driver));
        assert_eq!(of(Layer::Below), Some(Place::LocalNetwork));
    }
}
