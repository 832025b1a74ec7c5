//! Synthetic captures with one fault each, and with none: what is reported, and that the figures hold.

use crate::support::frames::{self, Tcp};
use crate::support::tables::Tables;
use crate::support::world::Packet;
use crate::support::{play, settings};
use std::net::IpAddr;
use unbloat_health::{Health, ProblemKind};
use unbloat_wire::TcpFlags;

const MS: i64 = 1_000_000;

/// A packet as seen `at_ms`, sent `sent_ms`.
struct Seen {
    up: bool,
    at_ms: i64,
    sent_ms: i64,
    seq: u32,
    ack: u32,
    echo_ms: i64,
    len: usize,
    id: u16,
}

impl Seen {
    fn packet(&self) -> Packet {
        let client: IpAddr = [10, 45, 0, 2].into();
        let server: IpAddr = [192, 0, 2, 1].into();
        let clock = |up: bool, ms: i64| (ms + if up { 5_000_000 } else { 77 }) as u32;
        let mut options = vec![1, 1, 8, 10];
        options.extend(clock(self.up, self.sent_ms).to_be_bytes());
        options.extend(clock(!self.up, self.echo_ms).to_be_bytes());
        let head = Tcp {
            flags: TcpFlags::ACK,
            seq: self.seq,
            ack: self.ack,
            window: 4000,
            options,
        };
        let (ends, ports) = if self.up {
            ((client, server), (40_000, 443))
        } else {
            ((server, client), (443, 40_000))
        };
        let segment = frames::tcp(ports, &head, &vec![b'.'; self.len]);
        let data = frames::ip(ends, 6, self.id, &segment);
        Packet {
            time_ns: 1_700_000_000_000 * MS + self.at_ms * MS,
            link: 101,
            wire_len: data.len() as u32,
            data,
        }
    }
}

/// A download of four seconds in segments 5 ms apart, each acknowledged 30 ms after it passed.
fn download() -> Vec<Packet> {
    let mut seen: Vec<Seen> = Vec::new();
    for i in 0..800_i64 {
        let (at_ms, seq) = (20 + i * 5, 1 + i as u32 * 1000);
        seen.push(Seen {
            up: false,
            at_ms,
            sent_ms: at_ms - 20,
            seq,
            ack: 1,
            echo_ms: at_ms - 50,
            len: 1000,
            id: 1 + i as u16,
        });
        seen.push(Seen {
            up: true,
            at_ms: at_ms + 30,
            sent_ms: at_ms + 15,
            seq: 1,
            ack: seq + 1000,
            echo_ms: at_ms - 20,
            len: 0,
            id: 9000 + i as u16,
        });
    }
    seen.sort_by_key(|packet| packet.at_ms);
    seen.iter().map(Seen::packet).collect()
}

fn is_up(packet: &Packet) -> bool {
    packet.data[12] == 10
}

fn analysed(packets: &[Packet]) -> (Tables, Health) {
    let (tables, outcome) = play(packets, &settings());
    (tables, outcome.health)
}

fn kinds(health: &Health) -> Vec<ProblemKind> {
    health.problems().iter().map(|p| p.kind).collect()
}

/// What one flow's rows must say whatever befell the capture.
fn holds(tables: &Tables) {
    for (column, expected) in [
        ("rtt_down_min_ms", 30.0),
        ("rtt_down_max_ms", 30.0),
        ("retransmitted_down_packets", 0.0),
        ("dup_acks_down", 0.0),
        ("payload_down_bytes", 800_000.0),
        ("in_flight_down_max_bytes", 7000.0),
    ] {
        let found = tables.column("flows", column).as_f64(0);
        let near = found.is_some_and(|value| (value - expected).abs() <= 0.2 * expected);
        assert!(near, "{column}: {found:?}, not {expected}");
    }
}

#[test]
fn a_sound_capture_has_nothing_to_tell() {
    let (tables, health) = analysed(&download());
    assert_eq!(kinds(&health), []);
    assert_eq!(health.packets, 1600);
    holds(&tables);
}

#[test]
fn a_capture_of_everything_twice_gives_the_same_figures() {
    for late_ms in [0, 3, 45] {
        let mut packets = download();
        let copies = packets.clone().into_iter().map(|mut packet| {
            packet.time_ns += late_ms * MS;
            packet
        });
        packets.extend(copies);
        packets.sort_by_key(|packet| packet.time_ns);
        let (tables, health) = analysed(&packets);
        assert_eq!(kinds(&health), [ProblemKind::CapturedTwice], "{late_ms} ms");
        assert_eq!(health.copied.down.copies, 800);
        assert_eq!(tables.sum("flows", "duplicated_down_packets"), 800);
        holds(&tables);
    }
}

#[test]
fn copies_of_one_direction_are_told_as_such() {
    let mut packets = download();
    let copies: Vec<Packet> = packets.iter().filter(|p| is_up(p)).cloned().collect();
    packets.extend(copies);
    packets.sort_by_key(|packet| packet.time_ns);
    let (tables, health) = analysed(&packets);
    assert_eq!(
        (health.copied.down.copies, health.copied.up.copies),
        (0, 800)
    );
    holds(&tables);
}

#[test]
fn steps_of_the_capture_clock_do_not_reach_the_figures() {
    for (step_ms, back_ms) in [(300, 0), (-2000, 0), (3_600_000, -300)] {
        let mut packets = download();
        let start = packets[0].time_ns;
        for packet in &mut packets {
            let since = packet.time_ns - start;
            packet.time_ns += if since > 1000 * MS { step_ms * MS } else { 0 };
            packet.time_ns += if since > 2500 * MS { back_ms * MS } else { 0 };
        }
        let (tables, health) = analysed(&packets);
        assert_eq!(kinds(&health), [ProblemKind::ClockStep], "{step_ms} ms");
        assert_eq!(health.clock.steps, 1 + u64::from(back_ms != 0));
        holds(&tables);
        let lasted = tables.column("flows", "duration_ms").as_f64(0);
        assert!(
            lasted.is_some_and(|ms| (ms - 4025.0).abs() < 10.0),
            "{lasted:?}"
        );
    }
}

#[test]
fn one_direction_alone_has_no_bytes_in_flight() {
    for up in [true, false] {
        let mut packets = download();
        packets.retain(|packet| is_up(packet) == up);
        let (tables, _) = analysed(&packets);
        for side in ["up", "down"] {
            let column = format!("in_flight_{side}_max_bytes");
            assert_eq!(tables.column("flows", &column).as_f64(0), None, "{column}");
        }
    }
}

#[test]
fn packets_that_the_capture_missed_are_holes_and_no_losses() {
    let mut packets = download();
    let mut n = 0;
    packets.retain(|packet| {
        n += 1;
        is_up(packet) || n % 41 != 1
    });
    let (tables, _) = analysed(&packets);
    assert!(tables.sum("flows", "missing_down_bytes") > 10_000);
    assert_eq!(tables.sum("flows", "retransmitted_down_packets"), 0);
}

#[test]
fn what_is_cut_or_cannot_be_read_is_told() {
    let mut packets = download();
    // Ethernet, IP and TCP as usual take 66 bytes: 60 cut the timestamps, raw IP begins at 14.
    packets
        .iter_mut()
        .for_each(|packet| packet.data.truncate(46));
    let (_, health) = analysed(&packets);
    assert!(
        kinds(&health).contains(&ProblemKind::OptionsCut),
        "{health:?}"
    );
    let mut radio = download();
    radio.iter_mut().for_each(|packet| packet.link = 127);
    let (_, unread) = analysed(&radio);
    assert_eq!(kinds(&unread), [ProblemKind::UnreadLinkType]);
    assert_eq!(unread.unread_links[0].number, 127);
    assert_eq!(unread.unread_links[0].packets, 1600);
}

#[test]
fn merged_segments_are_told() {
    let mut large = download();
    large.retain(is_up);
    for i in 0..200_i64 {
        let len = 2000 + (i as usize % 7) * 1000;
        let merged = Seen {
            up: false,
            at_ms: 20 + i * 20,
            sent_ms: i * 20,
            seq: 1 + i as u32 * 4000,
            ack: 1,
            echo_ms: 0,
            len,
            id: 1 + i as u16,
        };
        large.push(merged.packet());
    }
    large.sort_by_key(|packet| packet.time_ns);
    let (_, health) = analysed(&large);
    assert!(kinds(&health).contains(&ProblemKind::Offload), "{health:?}");
    assert_eq!(health.offload.largest_bytes, 8052);
}

#[test]
fn packets_out_of_time_order_are_told() {
    let mut packets = download();
    for i in (100..1500).step_by(20) {
        packets[i].time_ns -= 15 * MS;
    }
    let (_, health) = analysed(&packets);
    assert_eq!(kinds(&health), [ProblemKind::OutOfOrder]);
    assert!(health.is_doubtful(), "{health:?}");
}
