//! Clients that mean harm.

mod common;

use common::Running;
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::{Duration, Instant};
use unbloat_irtt::wire::Key;
use unbloat_irtt::{Client, Clocks, Event, Plan, Poll};
use unbloat_server::{Limits, Options};
use unbloat_testkit::until;
use unbloat_units::Delta;

fn impatient() -> Running {
    let limits = Limits {
        header_time: Delta::ms(300),
        idle: Delta::ms(300),
        transfer_time: Delta::ms(500),
        ..Limits::default()
    };
    Running::new(&Options {
        limits,
        ..Options::loopback()
    })
}

/// Whether the other side closes, while `each` goes on being sent.
fn is_closed(
    mut stream: TcpStream,
    mut each: impl FnMut(&mut TcpStream) -> std::io::Result<()>,
) -> bool {
    stream
        .set_read_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(20) {
        if each(&mut stream).is_err() {
            return true;
        }
        match stream.read(&mut [0; 4096]) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return true,
        }
    }
    false
}

#[test]
fn who_sends_a_header_byte_by_byte_is_sent_away() {
    let server = impatient();
    for at in [server.plain(), server.at.tls] {
        let mut stream = TcpStream::connect(at).unwrap();
        stream.write_all(b"GET /small HTTP/1.1\r\nx: ").unwrap();
        assert!(is_closed(stream, |s| s.write_all(b"y")), "{at}");
        let silent = TcpStream::connect(at).unwrap();
        assert!(is_closed(silent, |_| Ok(())), "{at}");
    }
    until("all gone", || server.counts().connections == 0);
}

#[test]
fn who_reads_nothing_is_sent_away_and_takes_no_memory() {
    let server = impatient();
    let mut stream = server.connect();
    stream
        .write_all(b"GET /large HTTP/1.1\r\nhost: a\r\n\r\n")
        .unwrap();
    until("begun", || server.counts().connections == 1);
    until("ended", || server.counts().connections == 0);
    assert!(server.counts().down_bytes < 64 << 20);
}

#[test]
fn long_headers_and_queries_are_refused() {
    let server = Running::new(&Options::loopback());
    let long = format!(
        "GET /small HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n",
        "y".repeat(1 << 20)
    );
    let reply = server.send(long.as_bytes());
    assert!(matches!(reply.status, 0 | 431), "{}", reply.status);
    let many = format!(
        "GET /small HTTP/1.1\r\nhost: a\r\n{}\r\n",
        "x: y\r\n".repeat(200)
    );
    assert_eq!(server.send(many.as_bytes()).status, 431);
    assert_eq!(
        server
            .ask("GET", &format!("/large?{}", "x".repeat(5000)))
            .status,
        400
    );
    assert_eq!(server.ask("GET", "/small").status, 200);
}

/// A frame of HTTP/2 (RFC 9113, 4.1).
fn frame(kind: u8, flags: u8, stream: u32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap().to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(body);
    bytes
}

fn http2(server: &Running) -> TcpStream {
    let mut stream = server.connect();
    stream
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        .unwrap();
    stream.write_all(&frame(4, 0, 0, &[])).unwrap();
    stream
}

/// `GET /large`, with fields of the static table and literals (RFC 7541).
fn request(stream: u32) -> Vec<u8> {
    let mut block = vec![0x82, 0x86, 0x41, 1, b'a', 0x44, 6];
    block.extend(b"/large");
    frame(1, 5, stream, &block)
}

#[test]
fn who_opens_and_resets_streams_without_end_is_sent_away() {
    let server = Running::new(&Options::loopback());
    let mut number = 1;
    let closed = is_closed(http2(&server), |stream| {
        let mut burst = Vec::new();
        for _ in 0..200 {
            burst.extend(request(number));
            burst.extend(frame(3, 0, number, &[0, 0, 0, 8]));
            number += 2;
        }
        stream.write_all(&burst)
    });
    assert!(closed);
    assert_eq!(server.ask("GET", "/small").status, 200);
}

#[test]
fn floods_of_settings_and_pings_hold_nobody_up() {
    let server = Running::new(&Options::loopback());
    let flood = std::thread::spawn({
        let mut stream = http2(&server);
        // Nobody reads the answers.
        stream
            .set_write_timeout(Some(Duration::from_millis(500)))
            .unwrap();
        move || {
            let mut burst = frame(4, 0, 0, &[]);
            burst.extend(frame(6, 0, 0, &[0; 8]));
            let burst = burst.repeat(500);
            (0..2000)
                .take_while(|_| stream.write_all(&burst).is_ok())
                .count()
        }
    });
    for _ in 0..20 {
        assert_eq!(server.ask("GET", "/small").status, 200);
    }
    flood.join().unwrap();
}

#[test]
fn a_header_that_never_ends_is_refused() {
    let server = Running::new(&Options::loopback());
    let mut begun = false;
    let closed = is_closed(http2(&server), |stream| {
        let kind = if begun { 9 } else { 1 };
        begun = true;
        // A literal field without an index, again and again.
        let mut field = vec![0, 1, b'x', 0x7f, 0xa1, 0x7e];
        field.extend([b'y'; 16_288]);
        stream.write_all(&frame(kind, 0, 1, &field))
    });
    assert!(closed);
}

#[test]
fn garbage_is_survived_everywhere() {
    let server = Running::new(&Options::loopback());
    let mut random = 7_u64;
    for round in 0..100 {
        let bytes: Vec<u8> = std::iter::repeat_with(|| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 56) as u8
        })
        .take(1 + round * 13)
        .collect();
        for at in [server.plain(), server.at.tls] {
            let mut stream = TcpStream::connect(at).unwrap();
            // The server may close at the first byte.
            let _ = stream.write_all(&bytes);
        }
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.send_to(&bytes, server.at.echo.unwrap()).unwrap();
    }
    assert_eq!(server.ask("GET", "/small").status, 200);
}

#[test]
fn an_unproven_address_gets_no_more_from_the_echo_than_came_from_it() {
    let server = Running::new(&Options::loopback());
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(server.at.echo.unwrap()).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_millis(30)))
        .unwrap();
    // irtt's open: magic, flag, version 1.
    let open = [0x14, 0xa7, 0x5b, 1, 1, 2];
    let (mut sent, mut answered) = (0, 0);
    for _ in 0..30 {
        sent += socket.send(&open).unwrap();
        while let Ok(came) = socket.recv(&mut [0; 2048]) {
            answered += came;
        }
        assert!(answered <= sent, "{answered} bytes out for {sent} in");
    }
    assert!(answered > 0, "in the end it is answered");
}

/// Sends each packet so many times and says how many bytes went and came.
fn repeat(socket: &UdpSocket, packets: &[&[u8]], times: usize) -> (usize, usize) {
    let (mut sent, mut answered) = (0, 0);
    for packet in std::iter::repeat_n(packets, times).flatten() {
        sent += socket.send(packet).unwrap();
        while let Ok(came) = socket.recv(&mut [0; 2048]) {
            answered += came;
        }
        assert!(answered <= sent, "{answered} bytes out for {sent} in");
    }
    (sent, answered)
}

#[test]
fn who_replays_the_authenticated_packets_of_another_gets_no_more_than_it_sends() {
    let server = Running::new(&Options {
        tokens: vec!["tulip".to_owned()],
        ..Options::loopback()
    });
    let socket = || {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(server.at.echo.unwrap()).unwrap();
        let patience = Duration::from_millis(10);
        socket.set_read_timeout(Some(patience)).unwrap();
        socket
    };
    let own = socket();
    own.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut client = Client::new(Plan {
        key: Some(Key::new(b"tulip")),
        ..Plan::default()
    });
    let now = Clocks::default();
    let mut packet = Vec::new();
    let mut seen = Vec::new();
    for expected in [Event::Opened, Event::Reply { seq: 0 }] {
        assert_eq!(client.poll(now, &mut packet), Poll::Send);
        own.send(&packet).unwrap();
        let mut answer = [0; 2048];
        let came = own.recv(&mut answer).unwrap();
        assert_eq!(client.on_packet(&answer[..came], now), Ok(expected));
        seen.push(packet.clone());
    }
    let [open, echo] = &seen[..] else {
        panic!("two packets were sent");
    };
    let other = socket();
    let (_, answered) = repeat(&other, &[echo], 20);
    assert_eq!(answered, 0, "its token was given to another address");
    repeat(&other, &[open, echo], 20);
    own.set_read_timeout(Some(Duration::from_millis(10)))
        .unwrap();
    repeat(&own, &[echo, open], 20);
}

/// The handshake of ndt7's upload, as far as the status.
fn ndt7(server: &Running) -> (u16, TcpStream) {
    let mut stream = server.connect();
    let request = "GET /ndt/v7/upload HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-protocol: net.measurementlab.ndt.v7\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    let status = std::str::from_utf8(&head[9..]).unwrap().parse().unwrap();
    (status, stream)
}

#[test]
fn an_address_gets_a_few_of_the_places_of_ndt7() {
    let server = Running::new(&Options::loopback());
    let all: Vec<_> = (0..8).map(|_| ndt7(&server)).collect();
    let statuses: Vec<u16> = all.iter().map(|(status, _)| *status).collect();
    assert_eq!(statuses, [101, 101, 101, 101, 429, 429, 429, 429]);
}

#[test]
fn a_message_of_any_length_is_counted_as_it_comes() {
    let server = Running::new(&Options::loopback());
    let (status, mut stream) = ndt7(&server);
    assert_eq!(status, 101);
    // A binary message of 4 GiB, of which 8 MiB come: more than is ever to be held, and no message that ends.
    let mut bytes = vec![0x82, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4];
    bytes.resize(bytes.len() + (8 << 20), 7);
    stream.write_all(&bytes).unwrap();
    until("counted", || server.counts().up_bytes == 8 << 20);
}

#[test]
fn uploads_that_wait_for_the_rate_wait_at_the_client() {
    let limits = Limits {
        rate: Some(unbloat_units::Rate::kbps(100)),
        ..Limits::default()
    };
    let server = Running::new(&Options {
        limits,
        ..Options::loopback()
    });
    // SETTINGS_INITIAL_WINDOW_SIZE is how much may be on its way for one stream (RFC 9113, 6.5.2).
    let mut stream = http2(&server);
    let mut head = [0; 9];
    stream.read_exact(&mut head).unwrap();
    assert_eq!(head[3], 4, "SETTINGS come first");
    let mut settings = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
    stream.read_exact(&mut settings).unwrap();
    let window = settings.chunks(6).find(|setting| setting[..2] == [0, 4]);
    let window = window.map_or(65_535, |setting| {
        u32::from_be_bytes(setting[2..].try_into().unwrap())
    });
    assert!(window <= 64 << 10, "{window}");
}

/// Connections from this address that say nothing.
fn silent(server: &Running, from: std::net::Ipv4Addr, count: usize) -> Vec<socket2::Socket> {
    let connect = |_| {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
        let socket = socket.unwrap();
        let from = std::net::SocketAddr::from((from, 0));
        socket.bind(&from.into()).unwrap();
        socket.connect(&server.plain().into()).unwrap();
        socket
    };
    (0..count).map(connect).collect()
}

#[test]
fn those_who_say_nothing_keep_nobody_out() {
    let server = Running::new(&Options {
        limits: Limits {
            connections: 64,
            ..Limits::default()
        },
        ..Options::loopback()
    });
    // Four times as many as there are places, each address in a network of its own.
    let mut all = Vec::new();
    for network in 0..64 {
        all.extend(silent(&server, [127, 2, network, 1].into(), 4));
    }
    // Whoever connects has a second to say something.
    std::thread::sleep(Duration::from_millis(1200));
    for network in 64..84 {
        let begun = Instant::now();
        assert_eq!(server.ask("GET", "/small").status, 200, "{network}");
        assert!(begun.elapsed() < Duration::from_secs(2), "{network}");
        // They come back, too.
        all.extend(silent(&server, [127, 2, network, 1].into(), 1));
    }
    assert!(server.counts().connections < all.len());
}
