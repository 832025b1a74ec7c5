//! Delays of single flows, on the sender's side of the path.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::IpAddr;
use unbloat_qdisc::Packet;
use unbloat_units::{Delta, Direction, Time};

use crate::ip::Address;
use crate::port::of_ip;

/// Delays the packets between two addresses, in each direction, before they enter the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtraDelay {
    pub client: IpAddr,
    pub server: IpAddr,
    /// Only those from and to this port of the server; none: all.
    pub server_port: Option<u16>,
    pub delay: Delta,
}

/// Packets that wait before the path.
#[derive(Debug, Default)]
pub(crate) struct Delays {
    by_ends: HashMap<(Address, Address, Option<u16>), Delta>,
    waiting: BinaryHeap<Reverse<Waiting>>,
    count: u64,
}

#[derive(Debug)]
struct Waiting {
    enters: Time,
    order: u64,
    direction: Direction,
    packet: Packet,
}

impl Delays {
    pub(crate) fn new(extra: &[ExtraDelay]) -> Delays {
        let by_ends = extra
            .iter()
            .filter(|one| one.delay > Delta::ZERO)
            .map(|one| {
                let [client, server] = [one.client, one.server].map(of_ip);
                ((client, server, one.server_port), one.delay)
            });
        Delays {
            by_ends: by_ends.collect(),
            ..Delays::default()
        }
    }

    /// The delay of a packet between a client and a port of a server.
    #[inline]
    pub(crate) fn of(&self, client: Address, server: Address, port: u16) -> Delta {
        if self.by_ends.is_empty() {
            return Delta::ZERO;
        }
        let of_port = self.by_ends.get(&(client, server, Some(port)));
        let delay = of_port.or_else(|| self.by_ends.get(&(client, server, None)));
        delay.copied().unwrap_or(Delta::ZERO)
    }

    pub(crate) fn put(&mut self, enters: Time, direction: Direction, packet: Packet) {
        self.count += 1;
        self.waiting.push(Reverse(Waiting {
            enters,
            order: self.count,
            direction,
            packet,
        }));
    }

    pub(crate) fn next_at(&self) -> Option<Time> {
        self.waiting.peek().map(|Reverse(first)| first.enters)
    }

    /// The next packet that enters at or before `now`.
    pub(crate) fn take(&mut self, now: Time) -> Option<(Time, Direction, Packet)> {
        self.next_at().filter(|at| *at <= now)?;
        let Reverse(first) = self.waiting.pop()?;
        Some((first.enters, first.direction, first.packet))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Waiting) -> bool {
        self.order == other.order
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Waiting) -> std::cmp::Ordering {
        (self.enters, self.order).cmp(&(other.enters, other.order))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_qdisc::{FlowHash, IpLen};

    fn at_ms(ms: i64) -> Time {
        Time::from_ns(0) + Delta::ms(ms)
    }

    #[test]
    fn a_port_of_a_server_goes_before_all_its_ports() {
        let extra = |server_port, ms| ExtraDelay {
            client: "10.45.0.1".parse().unwrap(),
            server: "10.99.0.1".parse().unwrap(),
            server_port,
            delay: Delta::ms(ms),
        };
        let delays = Delays::new(&[extra(None, 5), extra(Some(80), 30)]);
        let [client, server] = ["10.45.0.1", "10.99.0.1"].map(|text| of_ip(text.parse().unwrap()));
        assert_eq!(delays.of(client, server, 80), Delta::ms(30));
        assert_eq!(delays.of(client, server, 443), Delta::ms(5));
        assert_eq!(delays.of(server, client, 80), Delta::ZERO);
    }

    #[test]
    fn packets_enter_in_the_order_of_time_and_then_of_arrival() {
        let mut delays = Delays::default();
        for (handle, ms) in [(0, 30), (1, 10), (2, 10), (3, 20)] {
            let packet = Packet::new(handle, IpLen::new(100), FlowHash(1));
            delays.put(at_ms(ms), Direction::Down, packet);
        }
        assert_eq!(delays.next_at(), Some(at_ms(10)));
        let mut order = Vec::new();
        while let Some((at, _, packet)) = delays.take(at_ms(25)) {
            order.push((at, packet.handle));
        }
        assert_eq!(order, [(at_ms(10), 1), (at_ms(10), 2), (at_ms(20), 3)]);
    }
}
