//! Packets parsed per second on one core, by kind of packet: `cargo bench -p unbloat-wire`.
//!
//! Each sample parses one full batch, so that writing the headers is part of the cost. `Mitem/s` is
//! millions of packets per second.

use divan::{Bencher, counter::ItemsCount};
use etherparse::PacketBuilder;
use unbloat_units::Time;
use unbloat_wire::{Batch, FlowHasher, LinkType, Parser, ParserParams};

fn main() {
    divan::main();
}

const KINDS: [&str; 5] = ["timestamps", "bare", "sack", "ipv6", "gtp"];
const PACKETS: usize = Batch::PACKETS as usize;

#[divan::bench(args = KINDS)]
fn headers_only(bencher: Bencher<'_, '_>, kind: &str) {
    let packets: Vec<Vec<u8>> = (0..PACKETS).map(|n| packet(kind, n as u32)).collect();
    let parser = Parser::new(ParserParams::default(), FlowHasher::with_seed(1));
    let mut batch = Batch::default();
    bencher
        .counter(ItemsCount::new(PACKETS))
        .bench_local(move || {
            batch.restart(0);
            for (n, packet) in packets.iter().enumerate() {
                let time = Time::from_ns(n as i64);
                parser.push(&mut batch, LinkType::Ethernet, packet, 1500, time);
            }
            assert_eq!(batch.headers.len(), PACKETS);
            divan::black_box(batch.headers.last().map(|header| header.flow_hash))
        });
}

fn packet(kind: &str, n: u32) -> Vec<u8> {
    let ethernet = PacketBuilder::ethernet2([2; 6], [4; 6]);
    let [_, _, high, low] = n.to_be_bytes();
    let (src, dst) = ([10, 0, high, low], [192, 168, 1, 1]);
    let timestamps = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    let sack = [
        1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1, 5, 10, 0, 0, 0, 5, 0, 0, 0, 9,
    ];
    let options: &[u8] = match kind {
        "bare" => &[],
        "sack" => &sack,
        _ => &timestamps,
    };
    let mut bytes = Vec::new();
    if kind == "ipv6" {
        let mut v6 = [0; 16];
        v6[..4].copy_from_slice(&src);
        ethernet
            .ipv6(v6, [7; 16], 64)
            .tcp(40_000, 443, n, 65_535)
            .ack(1)
            .options_raw(options)
            .expect("options fit")
            .write_to_vec(&mut bytes, &[])
            .expect("a vector takes all");
        return bytes;
    }
    let tcp = |start: etherparse::PacketBuilderStep<etherparse::IpHeaders>| {
        let mut inner = Vec::new();
        start
            .tcp(40_000, 443, n, 65_535)
            .ack(1)
            .options_raw(options)
            .expect("options fit")
            .write_to_vec(&mut inner, &[])
            .expect("a vector takes all");
        inner
    };
    if kind != "gtp" {
        return tcp(ethernet.ipv4(src, dst, 64));
    }
    let user = tcp(PacketBuilder::ipv4(src, dst, 64));
    // With a PDU session container, as in 5G: the longest form that is usual.
    let len = user.len() as u8 + 8;
    let mut tunnel = vec![0x34, 255, 0, len, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0x10, 9, 0];
    tunnel.extend(user);
    ethernet
        .ipv4([172, 16, 0, 1], [172, 16, 0, 2], 64)
        .udp(2152, 2152)
        .write_to_vec(&mut bytes, &tunnel)
        .expect("a vector takes all");
    bytes
}
