//! What clients may and what they cannot get.

use super::*;
use crate::wire::{
    ReceivedStats, Reply, StampAt, StampClock, decode_reply, encode_close, encode_echo, encode_open,
};
use std::collections::BTreeMap;

const SECRET: [u8; 32] = [7; 32];

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn clocks(ms: i64) -> Clocks {
    Clocks {
        wall: Time::from_ns(1_700_000_000_000_000_000) + Delta::ms(ms),
        mono: Time::from_ns(0) + Delta::ms(ms),
    }
}

fn asked() -> Params {
    Params {
        version: 1,
        duration: Delta::secs(60),
        interval: Delta::ms(10),
        length: 100,
        received_stats: ReceivedStats::BOTH,
        stamp_at: StampAt::Both,
        clock: StampClock::BOTH,
        dscp: 0xb8,
        fill: Vec::new(),
    }
}

/// A server and what it was sent.
struct Bed {
    server: Server,
    out: Vec<u8>,
}

impl Bed {
    fn new(limits: Limits) -> Bed {
        Bed::with_keys(limits, Vec::new())
    }

    fn with_keys(limits: Limits, keys: Vec<Key>) -> Bed {
        Bed {
            server: Server::new(limits, keys, SECRET),
            out: Vec::new(),
        }
    }

    fn send(&mut self, from: &str, packet: &[u8], ms: i64) -> Result<Answer, Denial> {
        let now = || clocks(ms + 1);
        self.server
            .handle(address(from), packet, clocks(ms), now, &mut self.out)
    }

    /// The token, opened with a request that is long enough.
    fn open(&mut self, from: &str, ms: i64) -> u64 {
        self.send(from, &open(&asked(), 128), ms).unwrap();
        match self.reply(None) {
            Reply::Open {
                token,
                closed: false,
                ..
            } => token,
            other => panic!("{other:?}"),
        }
    }

    fn echo(&mut self, from: &str, token: u64, seq: u32, ms: i64) -> Result<Answer, Denial> {
        self.send(from, &echo(token, seq), ms)
    }

    fn reply(&self, key: Option<&Key>) -> Reply {
        decode_reply(&self.out, key, Layout::new(&asked(), key)).unwrap()
    }

    fn echoed(&self) -> EchoReply {
        match self.reply(None) {
            Reply::Echo(reply) => reply,
            other => panic!("{other:?}"),
        }
    }
}

fn open(params: &Params, padded_to: usize) -> Vec<u8> {
    let mut packet = Vec::new();
    encode_open(params, padded_to, None, &mut packet);
    packet
}

fn echo(token: u64, seq: u32) -> Vec<u8> {
    let mut packet = Vec::new();
    let layout = Layout::new(&asked(), None);
    encode_echo(token, seq, 100, layout, None, &mut packet);
    packet
}

const A: &str = "192.0.2.1:1000";
const B: &str = "192.0.2.2:1000";

#[test]
fn an_echo_carries_both_times_by_both_clocks_and_what_came() {
    let mut bed = Bed::new(Limits::default());
    let token = bed.open(A, 0);
    assert_eq!(bed.echo(A, token, 0, 20), Ok(Answer::Send { tos: 0xb8 }));
    let reply = bed.echoed();
    assert_eq!((reply.seq, reply.last), (0, false));
    assert_eq!(reply.received.mono, Some(clocks(20).mono));
    assert_eq!(reply.received.wall, Some(clocks(20).wall));
    assert_eq!(reply.sent.mono, Some(clocks(21).mono));
    assert_eq!(bed.out.len(), 100);
    // 1 is lost, 3 comes before 2, 3 comes twice.
    for (seq, count, window) in [
        (3, 2, 0b1001),
        (2, 3, 0b101),
        (3, 4, 0b1011),
        (4, 5, 0b10111),
    ] {
        bed.echo(A, token, seq, 40 + 10 * i64::from(count)).unwrap();
        let told = bed.echoed();
        assert_eq!(told.received_count, Some(count), "{seq}");
        assert_eq!(told.received_window, Some(window), "{seq}");
    }
}

#[test]
fn the_window_survives_any_jump() {
    let mut bed = Bed::new(Limits::default());
    let token = bed.open(A, 0);
    let told = [
        (5, 1),
        (u32::MAX - 3, 1),
        (2, 0b1000001),
        (2 + 64, 1 << 61 | 1),
        (66 + 63, 1 << 63 | 1),
    ];
    for (k, (seq, window)) in (1..).zip(told) {
        bed.echo(A, token, seq, 100 * k).unwrap();
        let reply = bed.echoed();
        assert_eq!(reply.received_window, Some(window), "{seq}");
    }
}

#[test]
fn irtts_open_is_answered_at_its_second_try() {
    let mut bed = Bed::new(Limits::default());
    let request = open(&asked(), 0);
    assert_eq!(bed.send(A, &request, 0), Err(Denial::Unproven));
    assert!(bed.out.is_empty());
    assert_eq!(bed.send(A, &request, 1_000), Ok(Answer::Send { tos: 0xb8 }));
    assert!(bed.out.len() <= 2 * request.len());
    // Credit is spent, and does not last.
    assert_eq!(bed.send(B, &request, 2_000), Err(Denial::Unproven));
    assert_eq!(bed.send(B, &request, 60_000), Err(Denial::Unproven));
}

#[test]
fn parameters_are_restricted_and_told() {
    let mut bed = Bed::new(Limits::default());
    let greedy = Params {
        duration: Delta::secs(100_000),
        interval: Delta::us(1),
        length: 65_000,
        fill: b"rand".to_vec(),
        ..asked()
    };
    bed.send(A, &open(&greedy, 128), 0).unwrap();
    let Reply::Open { params, .. } = bed.reply(None) else {
        panic!("no open");
    };
    let limits = Limits::default();
    assert_eq!(params.duration, limits.max_duration);
    assert_eq!(params.interval, limits.min_interval);
    assert_eq!(params.length, limits.max_length);
    assert_eq!(params.fill, b"none");
    let slow = Params {
        interval: Delta::secs(1_000),
        ..asked()
    };
    bed.send(A, &open(&slow, 128), 0).unwrap();
    let Reply::Open { params: agreed, .. } = bed.reply(None) else {
        panic!("no open");
    };
    assert_eq!(agreed.interval, Delta::secs(15));
}

#[test]
fn opens_take_no_memory_however_many_come_from_wherever() {
    let mut bed = Bed::new(Limits::default());
    for k in 0..50_000_u32 {
        let from = SocketAddr::from((std::net::Ipv4Addr::from(k), 9));
        let padded = if k % 2 == 0 { 128 } else { 0 };
        let packet = open(&asked(), padded);
        let _ = bed.send(&from.to_string(), &packet, i64::from(k / 100));
    }
    assert_eq!(bed.server.clients(), 0);
    assert!(bed.server.credit.addresses() <= 2 * 4096);
    // And a client that is there still gets in.
    let token = bed.open(A, 600);
    assert!(bed.echo(A, token, 0, 610).is_ok());
}

#[test]
fn a_token_works_only_from_its_address_and_for_half_a_minute() {
    let mut bed = Bed::new(Limits::default());
    let token = bed.open(A, 0);
    assert_eq!(bed.echo(B, token, 0, 10), Err(Denial::Token));
    assert_eq!(bed.echo("192.0.2.1:1001", token, 0, 10), Err(Denial::Token));
    assert_eq!(bed.echo(A, token ^ 1, 0, 10), Err(Denial::Token));
    assert_eq!(bed.echo(A, token ^ (1 << 40), 0, 10), Err(Denial::Token));
    assert_eq!(bed.echo(A, token, 0, 40_000), Err(Denial::Token));
    // Used in time, it lasts as long as its session.
    let used = bed.open(A, 50_000);
    for k in 0..10 {
        assert!(
            bed.echo(A, used, k as u32, 50_000 + 20_000 * k).is_ok(),
            "{k}"
        );
    }
    assert_eq!(bed.echo(B, used, 10, 231_000), Err(Denial::Token));
}

#[test]
fn a_second_session_from_one_address_begins_to_count_anew() {
    let mut bed = Bed::new(Limits::default());
    let first = bed.open(A, 0);
    bed.echo(A, first, 0, 10).unwrap();
    let second = bed.open(A, 1_000);
    assert_ne!(first, second);
    bed.echo(A, second, 0, 1_010).unwrap();
    assert_eq!(bed.echoed().received_count, Some(1));
}

#[test]
fn requests_faster_than_agreed_are_dropped_after_a_burst() {
    let mut bed = Bed::new(Limits::default());
    let token = bed.open(A, 0);
    let answered = (0..1_000).filter(|&k| bed.echo(A, token, k, i64::from(k)).is_ok());
    let answered = answered.count();
    // One every 10 ms of a second, and five at once.
    assert!((100..=106).contains(&answered), "{answered}");
    let refusal = bed.echo(A, token, 1_000, 1_000);
    assert!(matches!(refusal, Ok(_) | Err(Denial::Interval { .. })));
}

#[test]
fn copies_that_the_network_makes_cost_no_request_its_answer() {
    let mut bed = Bed::new(Limits::default());
    let token = bed.open(A, 0);
    for k in 0..500 {
        let ms = 10 * i64::from(k);
        assert!(bed.echo(A, token, k, ms).is_ok(), "{k}");
        let copy = bed.echo(A, token, k, ms + 1);
        assert!(copy.is_ok(), "{k}: {copy:?}");
    }
    // They are no way around the limit.
    let copies = (0..1_000).filter(|&k| bed.echo(A, token, 499, 5_000 + k).is_ok());
    assert!(copies.count() <= 110);
}

#[test]
fn too_long_and_too_short_requests_are_dropped() {
    let mut bed = Bed::new(Limits::default());
    let token = bed.open(A, 0);
    let mut long = echo(token, 0);
    long.resize(1_473, 0);
    let denied = Denial::Long {
        len: 1_473,
        max: 1_472,
    };
    assert_eq!(bed.send(A, &long, 0), Err(denied));
    let short = &echo(token, 0)[..59];
    let too_short = Denial::Short {
        len: 59,
        needed: 60,
    };
    assert_eq!(bed.send(A, short, 0), Err(too_short));
}

#[test]
fn a_full_server_refuses_and_has_room_again_when_clients_go_or_fall_silent() {
    /// Of another network.
    const B: &str = "198.51.100.2:1000";
    let limits = Limits {
        clients: 3,
        clients_per_host: 2,
        ..Limits::default()
    };
    let mut bed = Bed::new(limits);
    let first = bed.open("192.0.2.1:1", 0);
    let second = bed.open("192.0.2.1:2", 0);
    let third = bed.open("192.0.2.1:3", 0);
    bed.echo("192.0.2.1:1", first, 0, 10).unwrap();
    bed.echo("192.0.2.1:2", second, 0, 10).unwrap();
    // Its host has two already: it is told with its first echo, and next time when it opens.
    bed.echo("192.0.2.1:3", third, 0, 10).unwrap();
    assert!(bed.echoed().last);
    assert_eq!(bed.server.clients(), 2);
    bed.send("192.0.2.1:3", &open(&asked(), 128), 10).unwrap();
    assert!(matches!(
        bed.reply(None),
        Reply::Open {
            closed: true,
            token: 0,
            ..
        }
    ));
    let other = bed.open(B, 10);
    bed.echo(B, other, 0, 20).unwrap();
    bed.send("203.0.113.9:1", &open(&asked(), 128), 20).unwrap();
    assert!(matches!(bed.reply(None), Reply::Open { closed: true, .. }));
    let mut close = Vec::new();
    encode_close(other, None, &mut close);
    assert_eq!(bed.send("203.0.113.9:1", &close, 30), Err(Denial::Token));
    assert_eq!(bed.send(B, &close, 30), Ok(Answer::Closed));
    bed.open("203.0.113.9:1", 40);
    bed.open("203.0.113.9:1", 61_000);
    assert_eq!(bed.server.clients(), 0);
    assert_eq!(bed.server.tally().refused, 2);
}

#[test]
fn a_network_has_an_eighth_of_all_clients() {
    let limits = Limits {
        clients: 16,
        clients_per_host: 1,
        ..Limits::default()
    };
    let mut bed = Bed::new(limits);
    for from in ["192.0.2.1:1", "192.0.2.2:1"] {
        let token = bed.open(from, 0);
        bed.echo(from, token, 0, 10).unwrap();
    }
    bed.send("192.0.2.3:1", &open(&asked(), 128), 20).unwrap();
    assert!(matches!(bed.reply(None), Reply::Open { closed: true, .. }));
    bed.send("192.0.3.3:1", &open(&asked(), 128), 20).unwrap();
    assert!(matches!(bed.reply(None), Reply::Open { closed: false, .. }));
}

#[test]
fn a_network_of_64_bits_is_one_host() {
    assert_eq!(
        host("2001:db8::1".parse().unwrap()),
        host("2001:db8::ffff:1".parse().unwrap())
    );
    assert_ne!(
        host("2001:db8::1".parse().unwrap()),
        host("2001:db8:0:1::1".parse().unwrap())
    );
    assert_eq!(
        host("::ffff:192.0.2.1".parse().unwrap()),
        host("192.0.2.1".parse().unwrap())
    );
}

#[test]
fn a_session_past_its_duration_is_told_and_ended() {
    let limits = Limits {
        max_duration: Delta::secs(60),
        ..Limits::default()
    };
    let mut bed = Bed::new(limits);
    let token = bed.open(A, 0);
    for k in 0..=62 {
        bed.echo(A, token, k, 1_000 * i64::from(k)).unwrap();
        assert!(!bed.echoed().last);
    }
    bed.echo(A, token, 63, 63_000).unwrap();
    assert!(bed.echoed().last);
    assert_eq!(bed.echo(A, token, 64, 64_000), Err(Denial::Token));
}

#[test]
fn another_version_and_a_mere_question_get_parameters_and_no_session() {
    let mut bed = Bed::new(Limits::default());
    let later = Params {
        version: 2,
        ..asked()
    };
    bed.send(A, &open(&later, 128), 0).unwrap();
    let Reply::Open {
        closed,
        params,
        token,
    } = bed.reply(None)
    else {
        panic!("no open");
    };
    assert_eq!((closed, params.version, token), (true, 1, 0));
    let mut question = open(&asked(), 128);
    question[3] |= 4;
    bed.send(A, &question, 0).unwrap();
    assert!(matches!(bed.reply(None), Reply::Open { closed: true, .. }));
}

#[test]
fn with_keys_only_who_has_one_is_answered_and_with_the_same() {
    let keys = ["tulip", "rose"].map(|k| Key::new(k.as_bytes()));
    let mut bed = Bed::with_keys(Limits::default(), keys.to_vec());
    let mut packet = Vec::new();
    let rose = &keys[1];
    encode_open(&asked(), 128, Some(rose), &mut packet);
    bed.send(A, &packet, 0).unwrap();
    let Reply::Open { token, .. } = bed.reply(Some(rose)) else {
        panic!("no open");
    };
    let with = |key: &Key| {
        let mut request = Vec::new();
        let layout = Layout::new(&asked(), Some(key));
        encode_echo(token, 0, 100, layout, Some(key), &mut request);
        request
    };
    // A token belongs to its key too.
    assert_eq!(bed.send(A, &with(&keys[0]), 10), Err(Denial::Token));
    assert!(bed.send(A, &with(rose), 10).is_ok());
    assert!(matches!(bed.reply(Some(rose)), Reply::Echo(_)));
    let stranger = with(&Key::new(b"weed"));
    assert_eq!(bed.send(A, &stranger, 20), Err(WireError::Hmac.into()));
    let denied = bed.send(A, &open(&asked(), 128), 20);
    assert_eq!(denied, Err(WireError::Unauthenticated.into()));
}

/// Whatever is sent, in whatever order, from wherever: no address ever gets more bytes than came from it.
#[test]
fn no_address_ever_gets_more_than_it_sent() {
    let mut rng = fastrand::Rng::with_seed(9);
    let mut bed = Bed::new(Limits {
        clients: 8,
        ..Limits::default()
    });
    let mut balance: BTreeMap<String, i64> = BTreeMap::new();
    let mut tokens = vec![0_u64];
    let mut ms = 0;
    for _ in 0..60_000 {
        ms += rng.i64(0..12);
        let from = format!("192.0.2.{}:{}", rng.u8(1..5), rng.u16(1..4));
        let token = tokens[rng.usize(..tokens.len())];
        let mut packet = match rng.u8(..10) {
            0 => open(&asked(), 128),
            1 | 2 => open(&asked(), rng.usize(..40)),
            3 => open(
                &Params {
                    length: 1472,
                    fill: b"rand".to_vec(),
                    ..asked()
                },
                0,
            ),
            4 => {
                let mut close = Vec::new();
                encode_close(token, None, &mut close);
                close
            }
            _ => echo(token, rng.u32(..200)),
        };
        if rng.u8(..5) == 0 {
            let at = rng.usize(..packet.len());
            packet[at] = rng.u8(..);
            packet.truncate(rng.usize(..=packet.len()));
        }
        let answer = bed.send(&from, &packet, ms);
        let balance = balance.entry(from).or_default();
        *balance += packet.len() as i64 - bed.out.len() as i64;
        assert!(*balance >= 0);
        assert_eq!(
            bed.out.is_empty(),
            !matches!(answer, Ok(Answer::Send { .. }))
        );
        if let Ok(Reply::Open {
            token: given,
            closed: false,
            ..
        }) = decode_reply(&bed.out, None, Layout::new(&asked(), None))
        {
            tokens.push(given);
            if tokens.len() > 20 {
                tokens.remove(0);
            }
        }
        assert!(bed.server.clients() <= 8);
    }
    let tally = bed.server.tally();
    assert!(
        tally.echoed > 1_000 && tally.opened > 500 && tally.closed > 10,
        "{tally:?}"
    );
    assert!(tally.bytes_out <= tally.bytes_in);
}
