//! What happened between two sights: differences of counters, made into waits and rates. Pure.

use crate::counts::{Counts, Key};
use crate::devices::Device;
use crate::differences::{estimated_round_trip, interface, least, measured, rates, socket_layer};
use crate::flow::{Filter, Flow, Protocol};
use crate::layers::{FlowLayers, InterfaceLayers, Layers, RoundTrip, Wait};
use crate::sockets::{SocketState, TcpState};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use unbloat_units::{Delta, Time};

/// Flows that are told of: those that wait longest.
const MOST_FLOWS: usize = 1_000;

/// All counters at one time.
#[derive(Default)]
pub(crate) struct Sight {
    pub(crate) at: Time,
    pub(crate) devices: BTreeMap<u32, Device>,
    /// What the programs in the kernel have counted, if they are there.
    pub(crate) counted: Option<BTreeMap<Key, Counts>>,
    pub(crate) sockets: BTreeMap<Flow, SocketState>,
}

impl Sight {
    /// The socket that sends this flow: its own, or one that sends to many.
    fn socket(&self, flow: &Flow) -> Option<&SocketState> {
        let unconnected = |address: IpAddr| Flow {
            protocol: flow.protocol,
            from: SocketAddr::new(address, flow.from.port()),
            to: SocketAddr::new(unspecified(address), 0),
        };
        // A socket of IPv6 may speak IPv4 too.
        let any_version = IpAddr::from([0u8; 16]);
        let keys = [
            *flow,
            unconnected(flow.from.ip()),
            unconnected(unspecified(flow.from.ip())),
            unconnected(any_version),
        ];
        keys.iter().find_map(|key| self.sockets.get(key))
    }
}

fn unspecified(like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => [0u8; 4].into(),
        IpAddr::V6(_) => [0u8; 16].into(),
    }
}

/// The last sight, and the shortest round trips so far.
#[derive(Default)]
pub(crate) struct Account {
    last: Sight,
    floors: BTreeMap<Flow, Delta>,
}

/// One flow by one device, and what of it is within the span.
struct Part {
    flow: Flow,
    ifindex: Option<u32>,
    counts: Option<Counts>,
}

impl Account {
    /// The inode of the socket of a flow in the last sight.
    pub(crate) fn inode(&self, flow: &Flow) -> Option<u32> {
        let inode = self.last.socket(flow)?.inode;
        (inode > 0).then_some(inode)
    }

    /// What happened since the last sight. `way` tells by which device packets to an address leave.
    pub(crate) fn settle(
        &mut self,
        sight: Sight,
        filter: &Filter,
        way: impl FnMut(IpAddr) -> Option<u32>,
    ) -> Layers {
        let span = sight.at.since(self.last.at);
        let parts = match &sight.counted {
            Some(counted) => self.counted(counted),
            None => self.estimated(&sight, way),
        };
        let interfaces = self.interfaces(&sight, &parts, span, filter);
        let mut flows = Vec::new();
        for part in parts.iter().filter(|part| filter.takes(&part.flow)) {
            let layers = self.flow(&sight, part, &interfaces, span);
            if layers
                .interface
                .as_deref()
                .map_or(filter.interface.is_none(), |name| {
                    filter.takes_interface(name)
                })
            {
                flows.push(layers);
            }
        }
        flows.sort_by_key(|layers| (std::cmp::Reverse(layers.total()), layers.flow));
        let more_flows = flows.len().saturating_sub(MOST_FLOWS) as u64;
        flows.truncate(MOST_FLOWS);
        self.floors
            .retain(|flow, _| sight.sockets.contains_key(flow));
        let at = sight.at;
        self.last = sight;
        let mut interfaces: Vec<InterfaceLayers> = interfaces.into_values().collect();
        interfaces.retain(|interface| filter.takes_interface(&interface.name));
        interfaces.sort_by(|a, b| a.name.cmp(&b.name));
        Layers {
            at,
            span,
            interfaces,
            flows,
            more_flows,
        }
    }

    /// What the programs have counted since the last sight.
    fn counted(&self, counted: &BTreeMap<Key, Counts>) -> Vec<Part> {
        let nothing = Counts::default();
        let last = self.last.counted.as_ref();
        let since = |(key, now): (&Key, &Counts)| {
            let before = last.and_then(|last| last.get(key)).unwrap_or(&nothing);
            let counts = now.since(before);
            (!counts.is_idle()).then(|| Part {
                flow: key.flow(),
                ifindex: Some(key.ifindex),
                counts: Some(counts),
            })
        };
        counted.iter().filter_map(since).collect()
    }

    /// Sockets that have something on the way.
    fn estimated(&self, sight: &Sight, mut way: impl FnMut(IpAddr) -> Option<u32>) -> Vec<Part> {
        let is_active = |state: &&SocketState| {
            let before = self
                .last
                .sockets
                .get(&state.flow)
                .and_then(|before| before.tcp);
            match (state.tcp, before) {
                (Some(now), Some(before)) => now.sent > before.sent || now.queued.as_u64() > 0,
                (Some(now), None) => now.queued.as_u64() > 0,
                (None, _) => state.below.as_u64() > 0 && state.flow.to.port() > 0,
            }
        };
        let active = sight.sockets.values().filter(is_active);
        let part = |state: &SocketState| Part {
            flow: state.flow,
            ifindex: way(state.flow.to.ip()),
            counts: None,
        };
        active.map(part).collect()
    }

    fn interfaces(
        &self,
        sight: &Sight,
        parts: &[Part],
        span: Delta,
        filter: &Filter,
    ) -> BTreeMap<u32, InterfaceLayers> {
        let mut sums: BTreeMap<u32, Counts> = BTreeMap::new();
        for part in parts {
            if let (Some(ifindex), Some(counts)) = (part.ifindex, &part.counts) {
                sums.entry(ifindex).or_default().add(counts);
            }
        }
        let wanted = sight
            .devices
            .iter()
            .filter(|(_, device)| filter.takes_interface(&device.name));
        let all = wanted.map(|(&index, device)| {
            let before = self.last.devices.get(&index);
            let sum = sums.get(&index);
            (index, interface(index, device, before, sum, span))
        });
        all.collect()
    }

    fn flow(
        &mut self,
        sight: &Sight,
        part: &Part,
        interfaces: &BTreeMap<u32, InterfaceLayers>,
        span: Delta,
    ) -> FlowLayers {
        let socket = sight.socket(&part.flow);
        let tcp = socket.and_then(|state| state.tcp);
        let before = self
            .last
            .sockets
            .get(&part.flow)
            .and_then(|before| before.tcp);
        let device = part.ifindex.and_then(|index| sight.devices.get(&index));
        let interface = part.ifindex.and_then(|index| interfaces.get(&index));
        let counts = part.counts.as_ref();
        let qdisc = match counts {
            Some(counts) => measured(&counts.qdisc),
            None => interface.and_then(|interface| interface.qdisc),
        };
        let driver = counts.and_then(|counts| measured(&counts.driver));
        let driver = driver.or_else(|| interface.and_then(|interface| interface.driver));
        let round_trip = match counts {
            Some(counts) => (measured(&counts.rtt_q), measured(&counts.rtt_f)),
            None => estimated_round_trip(tcp.as_ref(), qdisc),
        };
        let round_trip = self.round_trip(part, round_trip, driver, tcp.as_ref());
        let rates = rates(counts, device, tcp.as_ref(), before.as_ref(), span);
        FlowLayers {
            flow: part.flow,
            interface: device.map(|device| device.name.clone()),
            process: None,
            socket: tcp.map(|tcp| socket_layer(&tcp, rates.sent)),
            qdisc,
            driver,
            round_trip,
            rates,
            untimed_packets: counts.map_or(0, |counts| counts.untimed_packets),
            held: socket.map(|state| state.below),
        }
    }

    /// The floor is the least of what TCP has ever seen, which may have waited in our queues, and of the means so far.
    fn round_trip(
        &mut self,
        part: &Part,
        (rtt_q, rtt_f): (Option<Wait>, Option<Wait>),
        driver: Option<Wait>,
        tcp: Option<&TcpState>,
    ) -> RoundTrip {
        let held = driver.map(|wait| wait.mean());
        let behind = rtt_f.map(|wait| least(wait.mean() - held.unwrap_or(Delta::ZERO)));
        let seen = [
            self.floors.get(&part.flow).copied(),
            tcp.and_then(|tcp| tcp.min_rtt),
            behind,
        ];
        let floor = seen.into_iter().flatten().min();
        if let Some(floor) = floor {
            self.floors.insert(part.flow, floor);
        }
        RoundTrip {
            rtt_q,
            rtt_f,
            rtt_b: behind.filter(|_| held.is_some()),
            floor,
            added: behind
                .zip(floor)
                .map(|(behind, floor)| least(behind - floor)),
        }
    }
}

impl Key {
    pub(crate) fn flow(&self) -> Flow {
        Flow {
            protocol: Protocol::new(self.protocol),
            from: self.from().into(),
            to: self.to().into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::Queue;
    use crate::layers::Layer;
    use unbloat_units::{Bytes, Rate};

    fn flow() -> Flow {
        Flow {
            protocol: Protocol::TCP,
            from: "10.0.0.1:4000".parse().unwrap(),
            to: "10.0.0.2:443".parse().unwrap(),
        }
    }

    /// A device that has sent `left` bytes and holds 25 kB, and a connection with as much acknowledged.
    fn sight(ms: i64, left: u64, rtt_ms: i64) -> Sight {
        let queue = Queue {
            kind: "tbf".to_owned(),
            backlog: Bytes::new(25_000),
            packets: 20,
            left: Bytes::new(left),
            dropped: left / 100_000,
        };
        let device = Device {
            name: "wan0".to_owned(),
            queue: Some(queue),
            ..Device::default()
        };
        let tcp = TcpState {
            queued: Bytes::new(40_000),
            unsent: Bytes::new(10_000),
            in_flight: Bytes::new(30_000),
            cwnd: Bytes::new(30_000),
            rtt: Some(Delta::ms(rtt_ms)),
            min_rtt: Some(Delta::ms(20)),
            delivery_rate: None,
            sent: Bytes::new(left),
            acknowledged: Bytes::new(left),
            retransmissions: 0,
        };
        let state = SocketState {
            flow: flow(),
            inode: 7,
            below: Bytes::new(25_000),
            tcp: Some(tcp),
        };
        Sight {
            at: Time::from_ns(ms * 1_000_000),
            devices: [(2, device)].into(),
            counted: None,
            sockets: [(flow(), state)].into(),
        }
    }

    #[test]
    fn without_programs_layers_come_out_of_backlogs_and_rates() {
        let mut account = Account::default();
        let filter = Filter::default();
        account.settle(sight(1_000, 0, 120), &filter, |_| Some(2));
        let layers = account.settle(sight(2_000, 250_000, 120), &filter, |_| Some(2));
        assert_eq!(layers.span, Delta::secs(1));
        let queue = layers.interfaces[0].queue.as_ref().unwrap();
        // 25 kB at 2 Mbit/s.
        assert_eq!((queue.wait, queue.dropped), (Some(Delta::ms(100)), 2));
        let flow = &layers.flows[0];
        assert_eq!(flow.delay(Layer::Socket), Some(Delta::ms(40)));
        assert_eq!(flow.qdisc, Some(Wait::Estimated(Delta::ms(100))));
        assert_eq!(flow.round_trip.rtt_f, Some(Wait::Estimated(Delta::ms(20))));
        assert_eq!(flow.round_trip.added, Some(Delta::ZERO));
        assert_eq!(flow.rates.acknowledged, Some(Rate::mbps(2)));
        assert_eq!(flow.worst(), Some((Layer::Qdisc, Delta::ms(100))));
        assert_eq!(account.inode(&flow.flow), Some(7));
    }

    #[test]
    fn what_takes_longer_than_ever_behind_the_driver_is_below() {
        let mut account = Account::default();
        let filter = Filter::default();
        account.settle(sight(1_000, 0, 120), &filter, |_| Some(2));
        account.settle(sight(2_000, 250_000, 120), &filter, |_| Some(2));
        let layers = account.settle(sight(3_000, 500_000, 420), &filter, |_| Some(2));
        let flow = &layers.flows[0];
        assert_eq!(flow.round_trip.added, Some(Delta::ms(300)));
        assert_eq!(flow.worst(), Some((Layer::Below, Delta::ms(300))));
    }

    #[test]
    fn only_what_is_wanted_is_told_of() {
        let mut account = Account::default();
        let other = Filter {
            interface: Some("lan0".to_owned()),
            ..Filter::default()
        };
        account.settle(sight(1_000, 0, 120), &other, |_| Some(2));
        let layers = account.settle(sight(2_000, 250_000, 120), &other, |_| Some(2));
        assert!(layers.flows.is_empty() && layers.interfaces.is_empty());
    }

    #[test]
    fn a_socket_that_sends_to_many_is_found_by_its_own_end() {
        let mut sight = sight(0, 0, 1);
        let state = sight.sockets.remove(&flow()).unwrap();
        let udp = |from: &str, to: &str| Flow {
            protocol: Protocol::UDP,
            from: from.parse().unwrap(),
            to: to.parse().unwrap(),
        };
        for (bound, peer) in [
            ("0.0.0.0:53", "0.0.0.0:0"),
            ("[::]:53", "[::]:0"),
            ("10.0.0.1:53", "0.0.0.0:0"),
        ] {
            sight.sockets = [(udp(bound, peer), state)].into();
            let flow = udp("10.0.0.1:53", "10.9.9.9:1234");
            assert_eq!(sight.socket(&flow), Some(&state), "{bound}");
            assert_eq!(sight.socket(&udp("10.0.0.1:54", "10.9.9.9:1")), None);
        }
    }
}
