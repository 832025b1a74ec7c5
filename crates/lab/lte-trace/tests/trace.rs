//! What must hold for every generated trace, read by a parser of its own.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use unbloat_lte_trace::{FlowName, Params, Population, Slice, generate};
use unbloat_units::{Both, Delta, Time};

fn params() -> Params {
    Params {
        users: 5,
        session: Delta::secs(600),
        drain: Delta::secs(300),
        ..Params::default()
    }
}

fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// RFC 1071, of what is complete.
fn sum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| match pair {
        [high, low] => u32::from(u16::from_be_bytes([*high, *low])),
        rest => u32::from(rest[0]) << 8,
    });
    let sum: u32 = words.sum();
    let folded = (sum >> 16) + (sum & 0xffff);
    ((folded >> 16) + (folded & 0xffff)) as u16
}

fn address(bytes: &[u8], at: usize) -> Ipv4Addr {
    Ipv4Addr::new(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3])
}

/// Client and server of a frame whose headers are all right, and whether it goes down. None for UDP.
fn read(data: &[u8], wire_len: u32) -> Option<(FlowName, bool)> {
    assert_eq!(be16(data, 12), 0x0800);
    let (outer, rest) = data[14..].split_at(20);
    assert_eq!((outer[0], outer[9], sum(outer)), (0x45, 17, 0xffff));
    assert_eq!(u32::from(be16(outer, 2)) + 14, wire_len);
    let (udp, rest) = rest.split_at(8);
    assert_eq!((be16(udp, 0), be16(udp, 2)), (2_152, 2_152));
    assert_eq!(u32::from(be16(udp, 4)) + 20 + 14, wire_len);
    let (gtp, inner) = rest.split_at(8);
    assert_eq!(
        (gtp[0], gtp[1]),
        (0x30, 255),
        "version 1, a packet of the user"
    );
    assert_eq!(u32::from(be16(gtp, 2)) + 8 + 8 + 20 + 14, wire_len);
    let ip = &inner[..20];
    assert_eq!((ip[0], sum(ip)), (0x45, 0xffff));
    assert_eq!(be16(ip, 2), be16(gtp, 2));
    let is_down = address(outer, 12) == Ipv4Addr::new(10, 201, 0, 1);
    let transport = &inner[20..];
    let length = be16(ip, 2) - 20;
    let mut all = ip[12..20].to_vec();
    all.extend([0, ip[9]]);
    all.extend(length.to_be_bytes());
    all.extend(transport);
    assert_eq!(sum(&all), 0xffff, "what is cut off is zeros");
    let ends = [
        (address(ip, 12), be16(transport, 0)),
        (address(ip, 16), be16(transport, 2)),
    ];
    let [client, server] = if is_down { [ends[1], ends[0]] } else { ends };
    let name = FlowName {
        client: client.0,
        client_port: client.1,
        server: server.0,
        server_port: server.1,
    };
    assert!(name.client < Ipv4Addr::new(10, 65, 0, 0));
    (ip[9] == 6).then_some((name, is_down))
}

#[test]
fn the_capture_holds_every_packet_that_passed_the_monitor_once_and_in_order() {
    let mut counts: BTreeMap<FlowName, Both<u64>> = BTreeMap::new();
    let mut last = Time::MIN;
    let truth = generate(&params(), 7, &mut |frame| {
        assert!(frame.at >= last, "in order");
        last = frame.at;
        if let Some((name, is_down)) = read(frame.data, frame.wire_len) {
            let count = counts.entry(name).or_default();
            *(if is_down {
                &mut count.down
            } else {
                &mut count.up
            }) += 1;
        }
    });
    let flows = truth.iter().flat_map(|user| &user.flows);
    let sent = flows.filter(|flow| flow.packets != Both::default());
    let sent: BTreeMap<FlowName, Both<u64>> = sent.map(|flow| (flow.name, flow.packets)).collect();
    assert!(sent.len() > 100);
    assert_eq!(counts, sent);
}

fn frames(shares: u32) -> Vec<(Time, Vec<u8>)> {
    let mut populations: Vec<Population> = (0..shares)
        .map(|share| Population::new(&params(), 3, share, shares))
        .collect();
    let mut slices = vec![Slice::default(); shares as usize];
    let mut all = Vec::new();
    loop {
        let mut is_over = false;
        for (population, slice) in populations.iter_mut().zip(&mut slices) {
            is_over |= !population.next(slice);
        }
        if is_over {
            return all;
        }
        let mut merged: Vec<_> = slices
            .iter()
            .flat_map(|slice| (0..slice.len()).map(move |i| (slice.key(i), slice.frame(i))))
            .collect();
        merged.sort_by_key(|(key, _)| *key);
        all.extend(
            merged
                .iter()
                .map(|(_, frame)| (frame.at, frame.data.to_vec())),
        );
    }
}

#[test]
fn a_trace_does_not_depend_on_how_users_are_shared_out() {
    assert!(frames(1) == frames(3));
}

#[test]
fn each_seed_has_a_trace_of_its_own() {
    let first = |seed| {
        let mut bytes: Vec<u8> = Vec::new();
        let short = Params {
            session: Delta::secs(60),
            drain: Delta::ZERO,
            ..params()
        };
        generate(&short, seed, &mut |frame| bytes.extend(frame.data));
        bytes
    };
    assert!(first(1) == first(1));
    assert!(first(1) != first(2));
}
