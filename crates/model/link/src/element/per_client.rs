//! Clients that have a stretch of path each to themselves, as the phones of a cell have their own queues and radios.

use crate::path::Path;
use crate::radio::rrc;
use crate::registry::Config;
use crate::seam::{Element, Output, Place};
use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use unbloat_qdisc::{Backlog, Event, Host, Observer, Packet};
use unbloat_units::{Delta, Direction, Time};

#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Which end of a packet is the client's.
    pub direction: Direction,
    /// What packets of each of them meet, in order.
    pub clients: Vec<(Host, Vec<Config>)>,
    /// What packets of all others meet.
    pub others: Vec<Config>,
}

/// A path for each client, and one for the others.
pub struct PerClient {
    direction: Direction,
    /// That of the others is the last.
    paths: Vec<Path>,
    by_host: BTreeMap<Host, usize>,
    /// When each path has something to do.
    due: BTreeSet<(Time, usize)>,
    next: Vec<Option<Time>>,
}

impl PerClient {
    pub(crate) fn build(params: &Params, start: Time, rng: &mut Rng) -> PerClient {
        let clients = params.clients.iter().map(|(_, configs)| configs);
        let configs = clients.chain([&params.others]);
        let paths: Vec<Path> = configs
            .map(|configs| Path::build(configs, start, rng))
            .collect();
        let hosts = params.clients.iter().map(|(host, _)| *host);
        PerClient {
            direction: params.direction,
            by_host: hosts.zip(0..).collect(),
            due: BTreeSet::new(),
            next: vec![None; paths.len()],
            paths,
        }
    }

    /// Both directions of a client's phone use one radio.
    pub(crate) fn share_radio(&mut self, back: &mut PerClient) {
        for (host, number) in &self.by_host {
            if let Some(theirs) = back.by_host.get(host) {
                self.paths[*number].share_radio(&mut back.paths[*theirs]);
            }
        }
        if let (Some(ours), Some(theirs)) = (self.paths.last_mut(), back.paths.last_mut()) {
            ours.share_radio(theirs);
        }
    }

    /// As [`Path::each_radio`], with the clients' names.
    pub(crate) fn each_radio(
        &self,
        from: Time,
        until: Time,
        tell: &mut dyn FnMut(Option<Host>, rrc::Use),
    ) {
        for (host, number) in &self.by_host {
            self.paths[*number].each_radio(from, until, &mut |_, used| tell(Some(*host), used));
        }
        if let Some(others) = self.paths.last() {
            others.each_radio(from, until, tell);
        }
    }

    fn path_of(&self, packet: &Packet) -> usize {
        let client = match self.direction {
            Direction::Down => packet.destination,
            Direction::Up => packet.source,
        };
        let others = self.paths.len() - 1;
        self.by_host.get(&client).copied().unwrap_or(others)
    }

    /// What a path does changes only when it is called.
    fn note(&mut self, number: usize) {
        let next = self.paths[number].next_at();
        let before = std::mem::replace(&mut self.next[number], next);
        if before != next {
            before.map(|at| self.due.remove(&(at, number)));
            next.map(|at| self.due.insert((at, number)));
        }
    }
}

impl Element for PerClient {
    fn accept(&mut self, now: Time, packet: Packet, out: &mut impl Output) {
        self.advance(now, out);
        let number = self.path_of(&packet);
        self.paths[number].accept(now, packet, &mut Any(out));
        self.note(number);
    }

    fn next_at(&self) -> Option<Time> {
        self.due.first().map(|(at, _)| *at)
    }

    /// One path after the other, in the order of time: packets leave in it.
    fn advance(&mut self, now: Time, out: &mut impl Output) {
        while let Some(&(at, number)) = self.due.first()
            && at <= now
        {
            self.paths[number].advance(at, &mut Any(out));
            self.note(number);
        }
    }

    /// That of the shortest path.
    fn latency(&self) -> Delta {
        let latencies = self.paths.iter().map(Element::latency);
        latencies.min().unwrap_or(Delta::ZERO)
    }

    fn is_watched(&self) -> bool {
        self.paths.iter().any(Element::is_watched)
    }

    fn backlog(&self) -> Backlog {
        let inside = self.paths.iter().map(Element::backlog);
        inside.fold(Backlog::default(), |sum, one| Backlog {
            packets: sum.packets + one.packets,
            bytes: sum.bytes + one.bytes,
        })
    }

    fn each_layer(&self, tell: &mut dyn FnMut(Place, Backlog)) {
        let mut sums: Vec<(Place, Backlog)> = Vec::new();
        for path in &self.paths {
            path.each_layer(&mut |place, one| match sums
                .iter_mut()
                .find(|(known, _)| *known == place)
            {
                Some((_, sum)) => {
                    sum.packets += one.packets;
                    sum.bytes += one.bytes;
                }
                None => sums.push((place, one)),
            });
        }
        sums.into_iter()
            .for_each(|(place, backlog)| tell(place, backlog));
    }
}

/// Any output, so that paths within elements of paths are not of ever new types.
struct Any<'a>(&'a mut dyn Output);

impl Observer for Any<'_> {
    fn event(&mut self, now: Time, event: Event) {
        self.0.event(now, event);
    }
}

impl Output for Any<'_> {
    fn deliver(&mut self, at: Time, packet: Packet) {
        self.0.deliver(at, packet);
    }

    fn waited(&mut self, at: Time, place: Place, packet: &Packet, wait: Delta) {
        self.0.waited(at, place, packet, wait);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BottleneckParams;
    use crate::element::delay;
    use crate::radio::{rrc, sleep};
    use crate::service::{self, constant};
    use crate::testing::{Log, at_ms, drive, packet, run_until};
    use unbloat_units::{Framing, Rate};

    fn delay(ms: i64) -> Config {
        let delay = Delta::ms(ms);
        Config::Delay(delay::Params { delay })
    }

    fn line(mbps: u64) -> Config {
        Config::Bottleneck(BottleneckParams {
            queue: unbloat_qdisc::Config::named("droptail").unwrap(),
            service: service::Config::Constant(constant::Params {
                rate: Rate::mbps(mbps),
            }),
            framing: Framing::default(),
        })
    }

    fn build(params: &Params) -> PerClient {
        PerClient::build(params, at_ms(0), &mut Rng::with_seed(1))
    }

    fn to(host: u32, handle: u32) -> Packet {
        Packet {
            destination: Host(host),
            ..packet(handle, 1_500)
        }
    }

    #[test]
    fn a_client_waits_behind_its_own_packets_only_and_all_leave_in_the_order_of_time() {
        let mut each = build(&Params {
            direction: Direction::Down,
            clients: vec![
                (Host(1), vec![line(12), delay(20)]),
                (Host(2), vec![line(4), delay(1)]),
            ],
            others: vec![delay(7)],
        });
        let arrivals: Vec<_> = [1, 1, 2, 2, 3]
            .into_iter()
            .zip(0..)
            .map(|(host, handle)| (at_ms(0), to(host, handle)))
            .collect();
        let mut log = Log::default();
        drive(&mut each, &arrivals, &mut log);
        assert_eq!(each.backlog().packets, 5);
        assert_eq!(each.latency(), Delta::ms(1));
        run_until(&mut each, Time::MAX, &mut log);
        let expected = [(4, 2), (7, 3), (7, 4), (21, 0), (22, 1)];
        let expected = expected.map(|(ms, handle)| (at_ms(ms), handle));
        assert_eq!(log.departures(), expected);
        assert_eq!(each.next_at(), None);
    }

    #[test]
    fn each_phone_wakes_its_own_radio() {
        let radio = |direction| {
            let rrc = rrc::Params::default();
            Config::Rrc(sleep::Params { rrc, direction })
        };
        let phones = |direction| Params {
            direction,
            clients: [1, 2]
                .map(|host| (Host(host), vec![radio(direction)]))
                .to_vec(),
            others: Vec::new(),
        };
        let [mut up, mut down] = [Direction::Up, Direction::Down].map(|way| build(&phones(way)));
        up.share_radio(&mut down);
        assert!(up.is_watched() && down.is_watched());
        let mut log = Log::default();
        let from_first = Packet {
            source: Host(1),
            ..packet(0, 40)
        };
        up.accept(at_ms(0), from_first, &mut log);
        // The first is awake from 260 ms on; the second has to be paged.
        down.accept(at_ms(300), to(1, 1), &mut log);
        down.accept(at_ms(300), to(2, 2), &mut log);
        run_until(&mut up, Time::MAX, &mut log);
        run_until(&mut down, Time::MAX, &mut log);
        let departures = log.departures();
        assert!(departures.contains(&(at_ms(260), 0)));
        assert!(departures.contains(&(at_ms(300), 1)));
        assert!(departures.contains(&(at_ms(1_280 + 260), 2)));
    }
}
