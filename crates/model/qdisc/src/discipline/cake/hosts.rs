//! Who shares a tin: flows in sets of eight queues, and their hosts, each with its number of bulk flows.
//!
//! With a plain hash, two of 38 flows share one of 1,024 queues half of the time. Here a flow whose
//! queue is taken gets another one of its set, so that only the ninth flow of a set must share.

use super::flow::{Flow, QUEUES, Set};
use super::params::Isolation;
use super::tin::Tin;
use crate::fixed::mix;
use crate::packet::Packet;

/// Queues in a set.
const WAYS: usize = 8;

/// A table of the hosts on one side.
#[derive(Clone, Debug)]
struct Side {
    tags: Vec<u32>,
    bulk_flows: Vec<u16>,
}

#[derive(Clone, Debug)]
pub(super) struct Hosts {
    sources: Side,
    destinations: Side,
}

/// What a packet is looked up by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    flow: u32,
    source: u32,
    destination: u32,
}

impl Keys {
    #[inline]
    pub(super) fn of(packet: &Packet, isolation: Isolation, salt: u32) -> Keys {
        let source = mix(packet.source.0 ^ salt);
        let destination = mix(packet.destination.0 ^ salt);
        let flow = match isolation {
            Isolation::Flowblind => 0,
            Isolation::SourceHost => source,
            Isolation::DestinationHost => destination,
            Isolation::Hosts => source ^ destination,
            Isolation::Flows
            | Isolation::DualSource
            | Isolation::DualDestination
            | Isolation::TripleIsolate => mix(packet.flow.0 ^ salt),
        };
        Keys {
            flow,
            source,
            destination,
        }
    }
}

impl Side {
    fn new() -> Side {
        Side {
            tags: vec![0; QUEUES],
            bulk_flows: vec![0; QUEUES],
        }
    }

    /// The host's place: where it was, else one of its set without bulk flows, else its first.
    fn find(&mut self, hash: u32) -> u16 {
        let place = places(hash)
            .find(|place| self.tags[*place] == hash)
            .or_else(|| places(hash).find(|place| self.bulk_flows[*place] == 0))
            .unwrap_or(hash as usize % QUEUES);
        self.tags[place] = hash;
        place as u16
    }

    fn join(&mut self, place: u16) {
        let flows = &mut self.bulk_flows[usize::from(place)];
        *flows = (*flows + 1).min(QUEUES as u16);
    }

    fn leave(&mut self, place: u16) {
        let flows = &mut self.bulk_flows[usize::from(place)];
        *flows = flows.saturating_sub(1);
    }

    fn load(&self, place: u16) -> u16 {
        self.bulk_flows[usize::from(place)]
    }
}

/// The eight places of the hash's set, its own one first.
fn places(hash: u32) -> impl Iterator<Item = usize> {
    let own = hash as usize % QUEUES;
    let (set, way) = (own / WAYS * WAYS, own % WAYS);
    (0..WAYS).map(move |k| set + (way + k) % WAYS)
}

impl Hosts {
    pub(super) fn new() -> Hosts {
        Hosts {
            sources: Side::new(),
            destinations: Side::new(),
        }
    }

    /// Bulk flows of the busier of the flow's hosts, at least 1.
    #[inline]
    pub(super) fn load_of(&self, flow: &Flow, isolation: Isolation) -> u16 {
        let mut load = 1;
        if isolation.is_fair_to_sources() {
            load = load.max(self.sources.load(flow.source));
        }
        if isolation.is_fair_to_destinations() {
            load = load.max(self.destinations.load(flow.destination));
        }
        load
    }

    pub(super) fn join_bulk(&mut self, flow: &Flow, isolation: Isolation) {
        if isolation.is_fair_to_sources() {
            self.sources.join(flow.source);
        }
        if isolation.is_fair_to_destinations() {
            self.destinations.join(flow.destination);
        }
    }

    pub(super) fn leave_bulk(&mut self, flow: &Flow, isolation: Isolation) {
        if isolation.is_fair_to_sources() {
            self.sources.leave(flow.source);
        }
        if isolation.is_fair_to_destinations() {
            self.destinations.leave(flow.destination);
        }
    }

    fn settle(&mut self, flow: &mut Flow, keys: Keys, isolation: Isolation) {
        if isolation.is_fair_to_sources() {
            flow.source = self.sources.find(keys.source);
        }
        if isolation.is_fair_to_destinations() {
            flow.destination = self.destinations.find(keys.destination);
        }
    }
}

impl Tin {
    /// The queue for a packet with these keys (Linux `cake_hash`).
    #[inline]
    pub(super) fn queue_for(&mut self, keys: Keys, isolation: Isolation) -> u16 {
        let own = keys.flow as usize % QUEUES;
        let is_own = self.tags[own] == keys.flow && self.flows[own].set != Set::Idle;
        if is_own || isolation == Isolation::Flowblind {
            return own as u16;
        }
        self.search(keys, own, isolation)
    }

    fn search(&mut self, keys: Keys, own: usize, isolation: Isolation) -> u16 {
        let reserved = places(keys.flow).find(|place| self.tags[*place] == keys.flow);
        let queue = if let Some(queue) = reserved {
            self.stats.way_hits += u64::from(queue != own);
            if self.flows[queue].set != Set::Idle {
                return queue as u16;
            }
            queue
        } else if let Some(queue) =
            places(keys.flow).find(|place| self.flows[*place].set == Set::Idle)
        {
            self.stats.way_misses += 1;
            queue
        } else {
            self.stats.way_collisions += 1;
            own
        };
        self.tags[queue] = keys.flow;
        // The queue now stands for another pair of hosts.
        let flow = &mut self.flows[queue];
        let is_bulk = flow.set == Set::Bulk;
        if is_bulk {
            self.hosts.leave_bulk(flow, isolation);
        }
        self.hosts.settle(flow, keys, isolation);
        if is_bulk {
            self.hosts.join_bulk(flow, isolation);
        }
        queue as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::cake::params::{Diffserv, Params};
    use crate::discipline::cake::tin::build;
    use crate::packet::{FlowHash, Host, IpLen};

    fn tin() -> Tin {
        let params = Params {
            diffserv: Diffserv::Besteffort,
            ..Params::default()
        };
        build(&params).0.remove(0)
    }

    fn keys(flow: u32) -> Keys {
        Keys {
            flow,
            source: flow,
            destination: 7,
        }
    }

    #[test]
    fn eight_flows_of_one_set_get_eight_queues_and_the_ninth_shares() {
        let mut shared = tin();
        let mut used = Vec::new();
        for n in 0..9 {
            let queue = shared.queue_for(keys(5 + n * 1_024), Isolation::TripleIsolate);
            shared.flows[usize::from(queue)].set = Set::Sparse;
            used.push(queue);
        }
        assert_eq!(used, [5, 6, 7, 0, 1, 2, 3, 4, 5]);
        assert_eq!(
            (shared.stats.way_misses, shared.stats.way_collisions),
            (8, 1)
        );
        let again = shared.queue_for(keys(5 + 3 * 1_024), Isolation::TripleIsolate);
        assert_eq!((again, shared.stats.way_hits), (0, 1));
    }

    #[test]
    fn what_a_flow_may_send_is_divided_by_the_bulk_flows_of_its_busier_host() {
        let mut shared = tin();
        let mut rng = fastrand::Rng::with_seed(1);
        for n in 0..4 {
            let mut packet = Packet::new(n, IpLen::new(1_500), FlowHash(n));
            packet.source = Host(n);
            packet.destination = Host(9);
            let key = Keys::of(&packet, Isolation::TripleIsolate, 0);
            let queue = shared.queue_for(key, Isolation::TripleIsolate);
            shared.flows[usize::from(queue)].set = Set::Sparse;
            shared.sparse += 1;
            shared.become_bulk(queue, &Params::default());
        }
        let queue = shared.queue_for(
            Keys::of(
                &Packet {
                    destination: Host(9),
                    ..Packet::new(0, IpLen::new(1), FlowHash(0))
                },
                Isolation::TripleIsolate,
                0,
            ),
            Isolation::TripleIsolate,
        );
        let mut mean = |isolation| {
            let params = Params {
                isolation,
                ..Params::default()
            };
            (0..1_000)
                .map(|_| shared.quantum_of(queue, &params, &mut rng))
                .sum::<i32>()
                / 1_000
        };
        assert_eq!(mean(Isolation::TripleIsolate), 1_514 / 4);
        assert!((mean(Isolation::DualSource) - 1_514).abs() <= 1);
    }
}
