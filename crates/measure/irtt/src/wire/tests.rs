//! Against packets of irtt itself, and against anything.

use super::*;
use crate::echo::Stamp;
use crate::error::WireError;
use crate::{Clocks, wire::packet};
use unbloat_units::{Delta, Time};

const CAPTURED: &str = include_str!("../../vectors/irtt-0.9.0.hex");
const SECRET: &[u8] = b"opensesame";

/// A packet of the capture.
struct Captured {
    session: &'static str,
    is_reply: bool,
    bytes: Vec<u8>,
}

fn captured() -> Vec<Captured> {
    let lines = CAPTURED.lines().filter(|line| !line.starts_with('#'));
    let packet = |line: &'static str| {
        let mut words = line.split(' ');
        let mut word = || words.next().unwrap();
        Captured {
            session: word(),
            is_reply: word() == "server",
            bytes: unhex(word()),
        }
    };
    lines.map(packet).collect()
}

fn unhex(hex: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

fn key_of(session: &str) -> Option<Key> {
    (session != "plain").then(|| Key::new(SECRET))
}

fn params_of(session: &str) -> Params {
    let mut params = Params {
        version: 1,
        duration: Delta::ms(60),
        interval: Delta::ms(20),
        length: 100,
        received_stats: ReceivedStats::BOTH,
        stamp_at: StampAt::Both,
        clock: StampClock::BOTH,
        ..Params::default()
    };
    match session {
        "midpoint" => {
            params.length = 90;
            params.received_stats.window = false;
            params.stamp_at = StampAt::Midpoint;
            params.clock.wall = false;
        }
        "window" => {
            params.length = 72;
            params.received_stats.count = false;
            params.stamp_at = StampAt::Receive;
            params.clock.mono = false;
            params.fill = b"rand".to_vec();
        }
        "asked" => {
            params.duration = Delta::secs(60);
            params.interval = Delta::secs(1);
            params.length = 0;
        }
        _ => {}
    }
    params
}

#[test]
fn requests_of_irtt_are_read_and_ours_are_the_same_bytes() {
    let mut kinds = [0; 3];
    for packet in captured().iter().filter(|p| !p.is_reply) {
        let key = key_of(packet.session);
        let params = params_of(packet.session);
        let mut out = Vec::new();
        match decode_request(&packet.bytes, key.as_ref()).unwrap() {
            Request::Open {
                params: asked,
                ask_only,
            } => {
                assert_eq!(asked, params);
                assert_eq!(ask_only, packet.session == "asked");
                encode_open(&asked, 0, key.as_ref(), &mut out);
                kinds[0] += 1;
                if ask_only {
                    continue;
                }
            }
            Request::Echo { token, seq } => {
                let layout = Layout::new(&params, key.as_ref());
                let len = usize::from(params.length);
                encode_echo(token, seq, len, layout, key.as_ref(), &mut out);
                kinds[1] += 1;
                // irtt fills this session's requests at random.
                if packet.session == "window" {
                    continue;
                }
            }
            Request::Close { token } => {
                encode_close(token, key.as_ref(), &mut out);
                kinds[2] += 1;
            }
        }
        assert_eq!(out, packet.bytes, "{}", packet.session);
    }
    assert_eq!(kinds, [4, 9, 3]);
}

#[test]
fn replies_of_irtt_are_read_and_ours_are_the_same_bytes() {
    let mut kinds = [0; 2];
    for packet in captured().iter().filter(|p| p.is_reply) {
        let key = key_of(packet.session);
        let params = params_of(packet.session);
        let layout = Layout::new(&params, key.as_ref());
        let mut out = Vec::new();
        match decode_reply(&packet.bytes, key.as_ref(), layout).unwrap() {
            Reply::Open {
                token,
                closed,
                params: agreed,
            } => {
                assert_eq!(agreed, params);
                assert_eq!(closed, packet.session == "asked");
                encode_open_reply(token, closed, &agreed, key.as_ref(), &mut out);
                kinds[0] += 1;
            }
            Reply::Echo(reply) => {
                assert_eq!(reply.received_count.is_some(), layout.received_stats.count);
                let [received, sent] = [reply.received, reply.sent].map(clocks);
                let received = match layout.stamp_at {
                    StampAt::Midpoint => sent,
                    _ => received,
                };
                let payload = &packet.bytes[layout.header_len()..];
                reply.encode(layout, received, || sent, payload, key.as_ref(), &mut out);
                kinds[1] += 1;
            }
        }
        assert_eq!(out, packet.bytes, "{}", packet.session);
    }
    assert_eq!(kinds, [4, 9]);
}

fn clocks(stamp: Stamp) -> Clocks {
    Clocks {
        wall: stamp.wall.unwrap_or_default(),
        mono: stamp.mono.unwrap_or_default(),
    }
}

#[test]
fn what_irtt_counted_is_what_is_read() {
    let replies = captured().into_iter().filter(|p| p.is_reply);
    let layout = Layout::new(&params_of("plain"), None);
    let mut last = Time::MIN;
    let mut seqs = Vec::new();
    for packet in replies.filter(|p| p.session == "plain") {
        let Reply::Echo(reply) = decode_reply(&packet.bytes, None, layout).unwrap() else {
            continue;
        };
        seqs.push(reply.seq);
        assert_eq!(reply.received_count, Some(reply.seq + 1));
        assert_eq!(reply.received_window, Some((1 << (reply.seq + 1)) - 1));
        let (received, sent) = (reply.received.mono.unwrap(), reply.sent.mono.unwrap());
        assert!(last < received && received < sent);
        last = sent;
    }
    assert_eq!(seqs, [0, 1, 2]);
}

#[test]
fn a_wrong_key_or_none_or_one_too_many_is_told() {
    let with_key = captured().into_iter().find(|p| p.session == "window");
    let with_key = with_key.unwrap().bytes;
    let without = captured().into_iter().find(|p| p.session == "plain");
    let without = without.unwrap().bytes;
    let wrong = Key::new(b"sesame");
    let right = Key::new(SECRET);
    assert_eq!(
        decode_request(&with_key, Some(&wrong)),
        Err(WireError::Hmac)
    );
    assert_eq!(
        decode_request(&with_key, None),
        Err(WireError::UnexpectedHmac)
    );
    assert_eq!(
        decode_request(&without, Some(&right)),
        Err(WireError::Unauthenticated)
    );
}

#[test]
fn any_change_of_a_packet_with_a_code_is_noticed() {
    let key = Key::new(SECRET);
    for packet in captured()
        .iter()
        .filter(|p| p.session != "plain" && !p.is_reply)
    {
        for at in 0..packet.bytes.len() {
            let mut changed = packet.bytes.clone();
            changed[at] ^= 0x20;
            assert!(decode_request(&changed, Some(&key)).is_err(), "byte {at}");
        }
    }
}

#[test]
fn damaged_and_cut_packets_are_packets_or_an_error() {
    let mut rng = fastrand::Rng::with_seed(5);
    let captured = captured();
    for _ in 0..30_000 {
        let mut bytes = captured[rng.usize(..captured.len())].bytes.clone();
        for _ in 0..rng.usize(..6) {
            let at = rng.usize(..bytes.len());
            bytes[at] = rng.u8(..);
        }
        bytes.truncate(rng.usize(..=bytes.len()));
        let session = ["plain", "midpoint", "window", "asked"][rng.usize(..4)];
        let layout = Layout::new(&params_of(session), None);
        let _ = decode_request(&bytes, None);
        let _ = packet::decode_reply(&bytes, None, layout);
        let key = key_of(session);
        let _ = decode_request(&bytes, key.as_ref());
    }
}
