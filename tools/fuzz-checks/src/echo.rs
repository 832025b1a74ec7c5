//! irtt's protocol: packets from several addresses to our server, and from a server to our client.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use unbloat_irtt::clock::Correction;
use unbloat_irtt::{Client, Clocks, Limits, Plan, Poll, Server};
use unbloat_units::{Delta, Time};

/// The bytes are packets, each after three of what happens to it: whose it is and where it goes; ms since the one before; length.
/// Nobody gets more bytes than came from its address, and no more clients are kept than allowed.
pub fn echo(mut bytes: &[u8]) {
    let limits = Limits {
        clients: 4,
        clients_per_host: 3,
        ..Limits::default()
    };
    let mut server = Server::new(limits, Vec::new(), [5; 32]);
    let mut client = opened();
    let mut balance: BTreeMap<SocketAddr, i64> = BTreeMap::new();
    let (mut now, mut out) = (Time::from_ns(0), Vec::new());
    let mut token = [0; 8];
    while let [whose, ms, len, rest @ ..] = bytes {
        let (packet, after) = rest.split_at(usize::from(*len).min(rest.len()));
        bytes = after;
        now += Delta::ms(i64::from(*ms));
        let at = clocks(now);
        let mut packet = packet.to_vec();
        // Nobody guesses a token: the last one that was given is put where this bit asks for it.
        if let (true, Some(place)) = (whose & 8 != 0, packet.get_mut(4..12)) {
            place.copy_from_slice(&token);
        }
        if whose & 16 != 0 {
            while client.poll(at, &mut out) == Poll::Send {}
            let _ = client.on_packet(&packet, at);
            continue;
        }
        let from = SocketAddr::from(([192, 0, 2, whose & 3], 1 + u16::from(whose & 4)));
        let _ = server.handle(from, &packet, at, || at, &mut out);
        let balance = balance.entry(from).or_default();
        *balance += packet.len() as i64 - out.len() as i64;
        assert!(*balance >= 0 && server.clients() <= 4);
        if let Some(given) = out.get(4..12).filter(|_| out[3] == 3) {
            token.copy_from_slice(given);
        }
    }
    let account = client.account();
    assert!(account.answered <= account.sent);
    if let Some(correction) = Correction::of(client.echoes()) {
        let _ = correction.error();
    }
}

/// A client that a server of ours has agreed with; its token is 1, as a server would choose that.
fn opened() -> Client {
    let mut client = Client::new(Plan::default());
    let mut out = Vec::new();
    let begin = clocks(Time::from_ns(0));
    assert_eq!(client.poll(begin, &mut out), Poll::Send);
    out.truncate(4);
    out[3] = 3;
    out.extend([1, 0, 0, 0, 0, 0, 0, 0]);
    // Version 1, 10 s, 10 ms, both statistics, both stamps, both clocks.
    out.extend([
        1, 2, 2, 0x80, 0x90, 0xdf, 0xc0, 0x4a, 3, 0x80, 0xda, 0xc4, 9,
    ]);
    out.extend([5, 6, 6, 6, 7, 6]);
    let event = client.on_packet(&out, begin);
    assert_eq!(event, Ok(unbloat_irtt::Event::Opened));
    client
}

fn clocks(at: Time) -> Clocks {
    Clocks { wall: at, mono: at }
}
