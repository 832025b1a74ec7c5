//! Small worlds of clients and servers, as the monitor on their path sees them.
//!
//! A world is a list of steps, each of one flow: so a failing one shrinks to the few that matter.
//! What the monitor did not capture is a step of its own (`Hole`), as are copies and swaps.

use super::frames::{self, Tcp};
use super::steps::{Deed, FLOWS, Step};
use std::net::IpAddr;
use unbloat_capture::Record;
use unbloat_units::Time;
use unbloat_wire::{LinkType, TcpFlags};

/// A captured packet of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    pub time_ns: i64,
    pub link: u16,
    pub data: Vec<u8>,
    pub wire_len: u32,
}

impl Packet {
    pub fn record(&self) -> Record<'_> {
        Record {
            time: Time::from_ns(self.time_ns),
            link: LinkType::from(self.link),
            wire_len: self.wire_len,
            data: &self.data,
        }
    }
}

/// Who the flows' clients and servers are.
#[derive(Clone, Debug)]
pub struct Addresses {
    pub clients: [IpAddr; 4],
    pub servers: [IpAddr; 4],
}

impl Addresses {
    /// The last of each are IPv6.
    pub fn usual() -> Addresses {
        Addresses {
            clients: ["10.45.0.2", "10.45.0.3", "10.45.7.9", "2001:db8::2"]
                .map(|a| a.parse().unwrap()),
            servers: ["192.0.2.1", "192.0.2.2", "198.51.100.7", "2001:db8:1::1"]
                .map(|a| a.parse().unwrap()),
        }
    }
}

/// A flow's protocol and ports; who takes part follows from its number.
struct Place {
    udp: bool,
    client_port: u16,
    server_port: u16,
}

const fn place(udp: bool, client_port: u16, server_port: u16) -> Place {
    Place {
        udp,
        client_port,
        server_port,
    }
}

/// Well-known services, a client below its server's port, several flows of one pair, and UDP.
const PLACES: [Place; FLOWS / 4] = [
    place(false, 40_000, 80),
    place(false, 40_001, 443),
    place(false, 20, 50_000),
    place(true, 40_000, 53),
    place(true, 40_001, 443),
    place(false, 40_002, 80),
];

/// One direction's sender: where its stream stands, and its window.
#[derive(Clone, Copy)]
struct Sender {
    isn: u32,
    next: u32,
    /// Highest byte of the other side that it has acknowledged.
    acked: u32,
    window: u16,
}

struct Flow {
    /// Server's, then client's.
    senders: [Sender; 2],
    last: Option<(Vec<u8>, u32)>,
    ids: u16,
    syns: u32,
}

/// Plays the steps out.
pub fn packets(steps: &[Step], addresses: &Addresses) -> Vec<Packet> {
    let mut flows: Vec<Flow> = (0..FLOWS).map(Flow::new).collect();
    let mut time_ns = 1_700_000_000_000_000_000;
    let mut packets = Vec::new();
    for step in steps {
        time_ns += step.gap_us * 1000;
        let flow = &mut flows[step.flow];
        if let Some((packet, cut)) = flow.play(step.flow, &step.deed, time_ns, addresses) {
            packets.push(captured(step.flow, time_ns, packet, cut));
        }
    }
    packets
}

/// Half of the flows in Ethernet; the bytes of payloads that no analysis reads are not stored.
fn captured(flow: usize, time_ns: i64, packet: Vec<u8>, cut: u32) -> Packet {
    let framed = flow.is_multiple_of(2) && packet.first().is_some_and(|b| matches!(b >> 4, 4 | 6));
    let (link, mut data) = if framed {
        (1, frames::vlan(&packet))
    } else {
        (101, packet)
    };
    let wire_len = data.len() as u32;
    data.truncate(data.len() - cut as usize);
    Packet {
        time_ns,
        link,
        data,
        wire_len,
    }
}

impl Flow {
    /// Every fourth flow's numbers wrap soon.
    fn new(number: usize) -> Flow {
        let isn = |side: u32| match number % 4 {
            0 => u32::MAX - 20_000 * (side + 1),
            n => 1_000_000_007u32.wrapping_mul(n as u32 * 2 + side),
        };
        Flow {
            senders: [Sender::new(isn(0)), Sender::new(isn(1))],
            last: None,
            ids: 1,
            syns: 0,
        }
    }

    /// The packet that the monitor sees, if any, and how many of its bytes it does not store.
    fn play(
        &mut self,
        number: usize,
        deed: &Deed,
        time_ns: i64,
        addresses: &Addresses,
    ) -> Option<(Vec<u8>, u32)> {
        let place = &PLACES[number / 4];
        let packet = match deed {
            Deed::Copy => self.last.clone()?,
            Deed::Garbage(bytes) => return Some((bytes.clone(), 0)),
            Deed::Hole { up, len } => {
                self.sender(*up).advance(u32::from(*len));
                return None;
            }
            deed => {
                let (up, head, payload, stored) = if place.udp {
                    datagram(deed, self.ids, place.server_port == 53)
                } else {
                    self.segment(deed, time_ns)
                };
                self.ids = self.ids.wrapping_add(1);
                let bytes = pack(place, number, up, &head, &payload, self.ids, addresses);
                (bytes, if stored { 0 } else { payload.len() as u32 })
            }
        };
        self.last = Some(packet.clone());
        Some(packet)
    }

    fn sender(&mut self, up: bool) -> &mut Sender {
        &mut self.senders[usize::from(up)]
    }

    /// Direction, header, payload, and whether the payload is stored.
    fn segment(&mut self, deed: &Deed, time_ns: i64) -> (bool, Tcp, Vec<u8>, bool) {
        let (up, flags, len) = match *deed {
            Deed::Syn => (true, TcpFlags::SYN, 0),
            Deed::SynAck => (false, TcpFlags::SYN | TcpFlags::ACK, 0),
            Deed::Data { up, len } | Deed::Resend { up, len, .. } => (up, TcpFlags::ACK, len),
            Deed::Fin { up } => (up, TcpFlags::FIN | TcpFlags::ACK, 0),
            Deed::Rst { up } => (up, TcpFlags::RST, 0),
            Deed::Ack { up, .. } | Deed::Sack { up } | Deed::CloseWindow { up } => {
                (up, TcpFlags::ACK, 0)
            }
            Deed::Head { up } => (up, TcpFlags::ACK | TcpFlags::PSH, 0),
            Deed::Copy | Deed::Hole { .. } | Deed::Garbage(_) => unreachable!("no segments"),
        };
        let came = self.sender(!up).next;
        self.sender(up).window = 1000;
        let mut payload = vec![b'.'; usize::from(len)];
        let mut seq = self.sender(up).next;
        let mut options = timestamps(time_ns, up);
        match *deed {
            Deed::Syn | Deed::SynAck => {
                if up {
                    self.reopen();
                }
                seq = self.sender(up).isn;
                self.sender(up).next = seq.wrapping_add(1);
                options.extend([2, 4, 5, 180, 4, 2, 3, 3, 7]);
            }
            Deed::Ack { behind, .. } => {
                self.sender(up).acked = came.wrapping_sub(u32::from(behind));
            }
            Deed::Sack { .. } => {
                let left = self.sender(up).acked.wrapping_add(1448);
                options.extend([1, 1, 5, 10]);
                options.extend(left.to_be_bytes());
                options.extend(came.to_be_bytes());
            }
            Deed::Resend { back, .. } => seq = seq.wrapping_sub(u32::from(back)),
            Deed::CloseWindow { .. } => self.sender(up).window = 0,
            Deed::Head { .. } => payload = http(up).to_vec(),
            _ => self.sender(up).acked = came,
        }
        if !matches!(deed, Deed::Resend { .. }) {
            self.sender(up)
                .advance(payload.len() as u32 + u32::from(flags & TcpFlags::FIN));
        }
        let sender = *self.sender(up);
        let head = Tcp {
            flags,
            seq,
            ack: sender.acked,
            window: sender.window,
            options,
        };
        (up, head, payload, matches!(deed, Deed::Head { .. }))
    }

    /// Two SYNs in a row are copies of one another; every third begins a new connection.
    fn reopen(&mut self) {
        self.syns += 1;
        if self.syns.is_multiple_of(3) {
            for sender in &mut self.senders {
                *sender = Sender::new(sender.next.wrapping_add(123_456));
            }
        }
    }
}

impl Sender {
    fn new(isn: u32) -> Sender {
        Sender {
            isn,
            next: isn.wrapping_add(1),
            acked: 0,
            window: 1000,
        }
    }

    fn advance(&mut self, bytes: u32) {
        self.next = self.next.wrapping_add(bytes);
    }
}

/// Milliseconds by each end's clock; what is echoed is 30 ms old.
fn timestamps(time_ns: i64, up: bool) -> Vec<u8> {
    let clock = |own: bool| (time_ns / 1_000_000) as u32 ^ if own { 0x5555_0000 } else { 0 };
    let mut option = vec![8, 10];
    option.extend(clock(up).to_be_bytes());
    option.extend(clock(!up).wrapping_sub(30).to_be_bytes());
    option
}

fn http(up: bool) -> &'static [u8] {
    if up {
        b"GET /a HTTP/1.1\r\nHost: example.org\r\nRange: bytes=0-99\r\n\r\n"
    } else {
        b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 9000\r\n\r\n"
    }
}

/// UDP's share of the deeds: DNS messages on its port, else bytes.
fn datagram(deed: &Deed, id: u16, is_dns: bool) -> (bool, Tcp, Vec<u8>, bool) {
    let (up, len) = match *deed {
        Deed::Data { up, len } | Deed::Resend { up, len, .. } => (up, len),
        Deed::Head { up } | Deed::Ack { up, .. } | Deed::Sack { up } => (up, 40),
        _ => (true, 0),
    };
    if is_dns {
        return (up, Tcp::default(), frames::dns(id / 2, !up), true);
    }
    (up, Tcp::default(), vec![0x40; usize::from(len)], false)
}

fn pack(
    place: &Place,
    number: usize,
    up: bool,
    head: &Tcp,
    payload: &[u8],
    id: u16,
    addresses: &Addresses,
) -> Vec<u8> {
    // IPv6 clients talk to the IPv6 server, the others to servers that they share.
    let (client, server) = match number % 4 {
        3 => (3, 3),
        n => (n, (n + number / 4) % 3),
    };
    let mut ends = (addresses.clients[client], addresses.servers[server]);
    let mut ports = (place.client_port, place.server_port);
    if !up {
        (ends, ports) = ((ends.1, ends.0), (ports.1, ports.0));
    }
    if place.udp {
        frames::ip(ends, 17, id, &frames::udp(ports, payload))
    } else {
        frames::ip(ends, 6, id, &frames::tcp(ports, head, payload))
    }
}
