//! What the tests of this crate share: packets, and devices and a clock in memory.

use crate::books::Books;
use crate::clock::Clock;
use crate::ip::Header;
use crate::plane::Plane;
use crate::port::{Device, Side, of_ip};
use crate::routes::Routes;
use crate::vnet::{self, Gso, VnetHeader};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice};
use unbloat_experiment::outcome::Route;
use unbloat_link::Config;
use unbloat_os::checksum::{fold, sum};
use unbloat_units::{Both, Delta, Direction, Time};

pub(crate) const CLIENT: &str = "10.45.0.1";
pub(crate) const SERVER: &str = "10.99.0.1";

/// A clock that is set.
pub(crate) struct Hand(pub Cell<Time>);

impl Clock for Hand {
    fn now(&self) -> Time {
        self.0.get()
    }
}

/// A device whose packets are put in and taken out by a test.
#[derive(Default)]
pub(crate) struct Pipe {
    pub has_header: bool,
    pub waiting: RefCell<VecDeque<Vec<u8>>>,
    pub written: RefCell<Vec<Vec<u8>>>,
}

impl Device for Pipe {
    fn has_header(&self) -> bool {
        self.has_header
    }

    fn read(&self, room: &mut [u8]) -> io::Result<usize> {
        let packet = self.waiting.borrow_mut().pop_front();
        let packet = packet.ok_or(ErrorKind::WouldBlock)?;
        let len = packet.len().min(room.len());
        room[..len].copy_from_slice(&packet[..len]);
        Ok(len)
    }

    fn write(&self, parts: &[IoSlice<'_>], _due: Time) -> bool {
        self.written
            .borrow_mut()
            .push(parts.iter().flat_map(|part| part.iter().copied()).collect());
        true
    }
}

/// A plane between a client and a server, the path the same in both directions.
pub(crate) fn plane(configs: &[Config], has_header: bool) -> Plane<Pipe> {
    let mut rng = fastrand::Rng::with_seed(1);
    let start = Time::from_ns(0);
    let hops = [configs.to_vec().into()];
    let paths = Both::of(|direction| Route::new(direction, &hops, start, start, &mut rng));
    let mut routes = Both::<Routes>::default();
    for (direction, address, number) in [(Direction::Down, CLIENT, 0), (Direction::Up, SERVER, 1)] {
        let net = format!("{address}/32").parse().unwrap();
        routes[direction].add(net, number).unwrap();
    }
    let device = || Pipe {
        has_header,
        ..Pipe::default()
    };
    let books = Books::new(Time::from_ns(0), None);
    let devices = vec![device(), device()];
    Plane::new(
        devices,
        vec![Side::Client, Side::Server],
        routes,
        paths,
        books,
    )
}

/// Lets a plane work at a time, as its thread would.
pub(crate) fn turn(plane: &mut Plane<Pipe>, now: Time) {
    let clock = Hand(Cell::new(now));
    plane.bulk.update(now);
    for device in 0..plane.devices.len() {
        plane.read(device, &clock);
    }
    plane.catch_up(now);
    plane.flush(&clock);
}

/// What a TCP segment is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tcp {
    pub is_v6: bool,
    pub seq: u32,
    pub flags: u8,
    pub payload: usize,
    pub traffic_class: u8,
    /// Of segments of a large packet.
    pub gso: Option<u16>,
}

impl Default for Tcp {
    fn default() -> Tcp {
        Tcp {
            is_v6: false,
            seq: 1000,
            flags: 0x10,
            payload: 1448,
            traffic_class: 0,
            gso: None,
        }
    }
}

/// A packet from server to client as the kernel hands it over, with its vnet header and an unfinished checksum.
pub(crate) fn tcp(shape: Tcp) -> Vec<u8> {
    let len = 32 + shape.payload;
    let mut ip = match shape.is_v6 {
        true => {
            let mut ip = vec![
                0x60 | shape.traffic_class >> 4,
                shape.traffic_class << 4,
                0,
                0,
            ];
            ip.extend((len as u16).to_be_bytes());
            ip.extend([6, 64]);
            for address in [SERVER, CLIENT] {
                ip.extend(of_ip(address.parse().unwrap()).to_be_bytes());
            }
            ip
        }
        false => {
            let mut ip = vec![0x45, shape.traffic_class];
            ip.extend(((20 + len) as u16).to_be_bytes());
            ip.extend([0xff, 0xfe, 0x40, 0, 64, 6, 0, 0, 10, 99, 0, 1, 10, 45, 0, 1]);
            let checksum = !fold(sum(&ip));
            ip[10..12].copy_from_slice(&checksum.to_be_bytes());
            ip
        }
    };
    let header = Header::parse_alone(&ip).unwrap();
    let start = ip.len() as u16;
    ip.extend(5001u16.to_be_bytes());
    ip.extend(40_000u16.to_be_bytes());
    ip.extend(shape.seq.to_be_bytes());
    ip.extend([0, 0, 0, 9, 0x80, shape.flags, 1, 0]);
    ip.extend(header.pseudo_sum(6, len).to_be_bytes());
    ip.extend([0, 0, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
    ip.extend((0..shape.payload).map(|at| (shape.seq as usize + at) as u8));
    let vnet = VnetHeader {
        needs_csum: true,
        csum_start: start,
        csum_offset: 16,
        header_len: start + 32,
        gso: shape.gso.map(|segment| Gso {
            is_v6: shape.is_v6,
            segment,
        }),
        ..VnetHeader::default()
    };
    vnet.bytes().into_iter().chain(ip).collect()
}

/// The vnet header and the packet behind it.
pub(crate) fn unpacked(bytes: &[u8]) -> (VnetHeader, Header, &[u8]) {
    let vnet = VnetHeader::parse(*bytes.first_chunk().unwrap()).unwrap();
    let packet = &bytes[vnet::LEN..];
    (vnet, Header::parse(packet).unwrap(), packet)
}

/// Whether the checksums of a packet are right; of an unfinished one, that of its pseudo-header.
pub(crate) fn is_sound(vnet: &VnetHeader, ip: &Header, packet: &[u8]) -> bool {
    let is_ip_sound = ip.is_v6 || fold(sum(&packet[..ip.len])) == 0xffff;
    let segment = &packet[ip.len..];
    let pseudo = ip.pseudo_sum(6, segment.len());
    let is_tcp_sound = match vnet.needs_csum {
        true => u16::from_be_bytes([segment[16], segment[17]]) == pseudo,
        false => fold(u64::from(pseudo) + sum(segment)) == 0xffff,
    };
    is_ip_sound && is_tcp_sound && packet.len() == ip.total
}

pub(crate) fn at_us(us: i64) -> Time {
    Time::from_ns(0) + Delta::us(us)
}
