//! The plane with devices in memory: what comes in comes out, whole and at its time.

use crate::gate::{Gate, Valve};
use crate::ip::TCP;
use crate::plane::Plane;
use crate::tcp::{FIN, FLAGS, PSH, seq};
use crate::testing::{Pipe, Tcp, at_us, is_sound, plane, tcp, turn, unpacked};
use fastrand::Rng;
use std::io;
use std::sync::{Arc, Mutex};
use unbloat_link::element::delay;
use unbloat_link::service::{self, constant};
use unbloat_link::{BottleneckParams, Config};
use unbloat_qdisc::Packet;
use unbloat_qdisc::discipline::{codel, droptail};
use unbloat_units::{Both, Bytes, Delta, Direction, Framing, Rate, Time};

const ACK: u8 = 0x10;
const CWR: u8 = 0x80;

fn bottleneck(rate: Rate, queue: unbloat_qdisc::Config) -> Config {
    Config::Bottleneck(BottleneckParams {
        queue,
        service: service::Config::Constant(constant::Params { rate }),
        framing: Framing::default(),
    })
}

fn fifo(limit: u64) -> unbloat_qdisc::Config {
    unbloat_qdisc::Config::DropTail(droptail::Params {
        limit_packets: None,
        limit_bytes: Some(Bytes::new(limit)),
    })
}

/// Counts how often it is opened; none: it cannot be.
struct Counted(Arc<Mutex<Option<u32>>>);

impl Valve for Counted {
    fn open(&mut self) -> io::Result<()> {
        let mut count = self.0.lock().unwrap();
        let opened = count.as_mut().ok_or(io::ErrorKind::NotFound)?;
        *opened += 1;
        Ok(())
    }
}

/// A plane whose downlink sends 1,500 bytes in 1 ms, each asked for.
fn gated() -> (Plane<Pipe>, Arc<Mutex<Option<u32>>>) {
    let mut plane = plane(&[bottleneck(Rate::mbps(12), fifo(100_000))], true);
    let opened = Arc::new(Mutex::new(Some(0)));
    let gate = Gate {
        port: 1,
        valve: Box::new(Counted(opened.clone())),
    };
    plane.paths.down.feed();
    plane.set_gates(Both::new(Some(gate), None));
    (plane, opened)
}

#[test]
fn a_link_asks_for_the_next_packet_when_it_has_sent_one() {
    let (mut plane, opened) = gated();
    let packet = || {
        let data = Tcp {
            payload: 1448,
            ..Tcp::default()
        };
        tcp(data)
    };
    let opened = || opened.lock().unwrap().unwrap();
    send(&plane, packet());
    turn(&mut plane, at_us(0));
    assert_eq!((opened(), plane.kept()), (0, 1));
    // Three more stand in front of the gate; a look that is late by much lets all go at their times.
    for _ in 0..3 {
        send(&plane, packet());
    }
    plane.catch_up(at_us(999));
    assert_eq!(opened(), 0);
    plane.catch_up(at_us(3_000));
    assert_eq!(opened(), 3);
    turn(&mut plane, at_us(4_000));
    assert_eq!((received(&plane).len(), plane.kept()), (4, 0));
    // Nobody is left to pass: it stands open for whoever comes, and is opened anew for who is not for the path.
    assert_eq!(opened(), 4);
    send(&plane, vec![0; 40]);
    turn(&mut plane, at_us(5_000));
    assert_eq!(opened(), 5);
    plane.check().unwrap();
}

#[test]
fn a_gate_that_fails_is_told() {
    let (mut plane, opened) = gated();
    let data = Tcp::default();
    send(&plane, tcp(data));
    turn(&mut plane, at_us(0));
    *opened.lock().unwrap() = None;
    plane.catch_up(at_us(2_000));
    let error = plane.check().unwrap_err().to_string();
    assert!(error.contains("port 1"), "{error}");
}

fn send(plane: &Plane<Pipe>, packet: Vec<u8>) {
    plane.devices[1].waiting.borrow_mut().push_back(packet);
}

/// What was written to the client since last asked.
fn received(plane: &Plane<Pipe>) -> Vec<Vec<u8>> {
    plane.devices[0].written.take()
}

/// Makes the plane carry bulk.
fn hurry(plane: &mut Plane<Pipe>) {
    plane.bulk.carried(Bytes::new(1_000_000_000));
    plane.bulk.update(at_us(1_000_000));
    assert!(plane.bulk.is_on());
}

/// Sequence number and payload of each segment, large ones split.
fn stream(packets: &[Vec<u8>]) -> Vec<(u32, Vec<u8>)> {
    let mut stream = Vec::new();
    for bytes in packets {
        let (vnet, ip, packet) = unpacked(bytes);
        assert!(
            is_sound(&vnet, &ip, packet),
            "checksums and lengths are right"
        );
        let (head, payload) = packet[ip.len..].split_at(32);
        let size = vnet
            .gso
            .map_or(payload.len().max(1), |gso| usize::from(gso.segment));
        for (nth, piece) in payload.chunks(size).enumerate() {
            stream.push((seq(head) + (nth * size) as u32, piece.to_vec()));
        }
    }
    stream
}

#[test]
fn a_large_packet_is_so_many_packets_of_the_model() {
    for is_v6 in [false, true] {
        let mut plane = plane(&[bottleneck(Rate::mbps(12), fifo(1 << 20))], true);
        let shape = Tcp {
            is_v6,
            payload: 10 * 1448 + 7,
            gso: Some(1448),
            flags: ACK | PSH,
            ..Tcp::default()
        };
        if is_v6 {
            let net = "::ffff:10.45.0.1/128".parse::<ipnet::IpNet>().unwrap();
            assert!(
                plane.routes.down.add(net, 0).is_err(),
                "the same address in the other form"
            );
        }
        send(&plane, tcp(shape));
        turn(&mut plane, at_us(0));
        assert!(received(&plane).is_empty(), "none has been sent yet");
        assert_eq!(plane.inside(at_us(0)).down.packets, 11);
        turn(&mut plane, at_us(20_000));
        let packets = received(&plane);
        assert_eq!(
            packets.len(),
            11,
            "nothing is merged below the rate of bulk"
        );
        assert_eq!(stream(&packets), stream(&[tcp(shape)]));
        let flags = packets
            .iter()
            .map(|bytes| unpacked(bytes))
            .map(|(_, ip, packet)| packet[ip.len + FLAGS]);
        let expected = [ACK; 10].into_iter().chain([ACK | PSH]);
        assert!(flags.eq(expected), "PSH stays with the last");
        assert_eq!(plane.books.paths.down.delivered_packets, 11);
    }
}

#[test]
fn identifiers_count_up_and_cwr_stays_with_the_first() {
    let mut plane = plane(&[], true);
    send(
        &plane,
        tcp(Tcp {
            payload: 3000,
            gso: Some(1000),
            flags: ACK | CWR | FIN,
            ..Tcp::default()
        }),
    );
    turn(&mut plane, at_us(0));
    let packets = received(&plane);
    let fields = packets.iter().map(|bytes| {
        let (_, ip, packet) = unpacked(bytes);
        (
            u16::from_be_bytes([packet[4], packet[5]]),
            packet[ip.len + FLAGS],
        )
    });
    let expected = [(0xfffe, ACK | CWR), (0xffff, ACK), (0, ACK | FIN)];
    assert_eq!(fields.collect::<Vec<_>>(), expected);
}

#[test]
fn bulk_leaves_as_it_came() {
    let mut plane = plane(&[], true);
    hurry(&mut plane);
    let large = tcp(Tcp {
        payload: 20 * 1448,
        gso: Some(1448),
        flags: ACK | PSH,
        ..Tcp::default()
    });
    send(&plane, large.clone());
    turn(&mut plane, at_us(1_000_000));
    let packets = received(&plane);
    assert_eq!(packets.len(), 1);
    assert_eq!(packets[0], large);
}

#[test]
fn packets_that_came_alone_are_joined_up_to_a_gap_or_an_end() {
    let mut plane = plane(&[], true);
    hurry(&mut plane);
    let part = |number: u32, flags| {
        tcp(Tcp {
            seq: 1000 + number * 1448,
            flags,
            ..Tcp::default()
        })
    };
    for (number, flags) in [(0, ACK), (1, ACK | PSH), (2, ACK), (4, ACK), (5, ACK)] {
        send(&plane, part(number, flags));
    }
    turn(&mut plane, at_us(1_000_000));
    let packets = received(&plane);
    let sizes = packets.iter().map(|bytes| unpacked(bytes).1.total - 52);
    assert_eq!(sizes.collect::<Vec<_>>(), [2 * 1448, 1448, 2 * 1448]);
    assert_eq!(stream(&packets).len(), 5);
}

#[test]
fn a_mark_is_written_into_the_packet_and_its_checksum() {
    for is_v6 in [false, true] {
        let mut law = codel::Params::default();
        law.law.ce_threshold = Some(Delta::us(1));
        let mut plane = plane(
            &[bottleneck(
                Rate::mbps(12),
                unbloat_qdisc::Config::Codel(law),
            )],
            true,
        );
        let shape = Tcp {
            is_v6,
            payload: 2 * 1448,
            gso: Some(1448),
            traffic_class: 0xb9,
            ..Tcp::default()
        };
        send(&plane, tcp(shape));
        turn(&mut plane, at_us(0));
        turn(&mut plane, at_us(5_000));
        let packets = received(&plane);
        let classes = packets.iter().map(|bytes| unpacked(bytes).1.traffic_class);
        assert_eq!(
            classes.collect::<Vec<_>>(),
            [0xb9, 0xbb],
            "the second had to wait"
        );
        assert_eq!(stream(&packets), stream(&[tcp(shape)]));
    }
}

#[test]
fn devices_without_vnet_header_get_finished_checksums() {
    let mut rng = Rng::with_seed(5);
    for _ in 0..200 {
        let mut plane = plane(&[], true);
        plane.devices[0].has_header = false;
        let payload = rng.usize(0..4000);
        send(
            &plane,
            tcp(Tcp {
                payload,
                gso: Some(1447),
                ..Tcp::default()
            }),
        );
        turn(&mut plane, at_us(0));
        for packet in received(&plane) {
            let with_header: Vec<u8> = [0; 10].into_iter().chain(packet).collect();
            let (vnet, ip, bytes) = unpacked(&with_header);
            assert!(is_sound(&vnet, &ip, bytes), "{payload}");
        }
    }
}

/// Remembers logical departures.
struct Departures(Arc<Mutex<Vec<Time>>>);

impl crate::Witness for Departures {
    fn delivered(&mut self, _: Direction, at: Time, _: &Packet, _: crate::Parts<'_>) {
        self.0.lock().unwrap().push(at);
    }
}

#[test]
fn a_thread_that_oversleeps_delays_no_packet_but_those_that_were_due() {
    let mut plane = plane(
        &[
            bottleneck(Rate::mbps(12), fifo(1 << 20)),
            Config::Delay(delay::Params {
                delay: Delta::ms(10),
            }),
        ],
        true,
    );
    let seen = Arc::new(Mutex::new(Vec::new()));
    plane.books.witness = Some(Box::new(Departures(seen.clone())));
    for number in 0..60 {
        send(
            &plane,
            tcp(Tcp {
                seq: number * 1448,
                ..Tcp::default()
            }),
        );
    }
    turn(&mut plane, at_us(0));
    // Late for the first, asleep for 20 ms in the middle, and for 55 ms at the end.
    for us in [12_000, 13_500, 14_000, 34_000, 34_500, 90_000] {
        turn(&mut plane, at_us(us));
    }
    let spaced = (1..=60).map(|number| at_us(10_000 + number * 1_000));
    assert_eq!(*seen.lock().unwrap(), spaced.collect::<Vec<_>>());
    assert_eq!(plane.books.lateness_us.max(), Some(55_000.0));
}

#[test]
fn what_is_offered_is_delivered_dropped_or_inside_and_memory_is_given_back() {
    let mut rng = Rng::with_seed(11);
    let mut plane = plane(
        &[
            bottleneck(Rate::mbps(100), fifo(100_000)),
            Config::Delay(delay::Params {
                delay: Delta::ms(3),
            }),
        ],
        true,
    );
    for step in 0..3_000 {
        let payload = rng.usize(1..30_000);
        send(
            &plane,
            tcp(Tcp {
                seq: rng.u32(..),
                payload,
                gso: Some(rng.u16(500..1449)),
                ..Tcp::default()
            }),
        );
        let now = at_us(step * 700);
        turn(&mut plane, now);
        let inside = plane.inside(now).down.packets;
        let record = &plane.books.paths.down;
        let known = record.delivered_packets + record.dropped_packets + u64::from(inside);
        assert_eq!(record.offered_packets, known);
        assert_eq!(plane.kept(), inside as usize);
        plane.devices[0].written.take();
    }
    let record = &plane.books.paths.down;
    assert!(record.dropped_packets > 0 && record.delivered_packets > 0);
    turn(&mut plane, at_us(10_000_000));
    assert_eq!(plane.kept(), 0);
}

#[test]
fn hostile_bytes_are_counted_and_do_no_harm() {
    let mut rng = Rng::with_seed(3);
    for has_header in [true, false] {
        let mut plane = plane(&[], has_header);
        for round in 0..40_000_u64 {
            let mut bytes = tcp(Tcp {
                is_v6: rng.bool(),
                payload: rng.usize(0..3000),
                gso: rng.bool().then(|| rng.u16(..)),
                ..Tcp::default()
            });
            if !has_header {
                bytes.drain(..10);
            }
            for _ in 0..rng.usize(0..6) {
                let at = rng.usize(0..bytes.len().min(80));
                bytes[at] = rng.u8(..);
            }
            if rng.u8(0..4) == 0 {
                bytes.truncate(rng.usize(0..=bytes.len()));
            }
            send(&plane, bytes);
            if round % 1000 == 0 {
                plane.bulk.carried(Bytes::new(rng.u64(0..20_000_000)));
            }
            turn(&mut plane, at_us(round as i64 * 10));
            received(&plane);
        }
        let counts = plane.books.counts;
        assert_eq!(counts.reads, 40_000);
        assert!(
            counts.foreign > 10_000 && counts.handed > 1_000,
            "{counts:?}"
        );
        assert_eq!(plane.kept(), 0);
    }
}

#[test]
fn nothing_but_tcp_is_split() {
    let mut plane = plane(&[], true);
    let mut bytes = tcp(Tcp {
        gso: Some(100),
        ..Tcp::default()
    });
    bytes[10 + 9] = 17;
    assert_ne!(bytes[10 + 9], TCP);
    send(&plane, bytes);
    turn(&mut plane, at_us(0));
    assert_eq!(plane.books.counts.foreign, 1);
}
