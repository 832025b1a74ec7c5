//! The recorded traces in `traces/`, driven by a backlog.

use fastrand::Rng;
use std::io::Read;
use std::sync::Arc;
use unbloat_link::service::{self, chances};
use unbloat_link::trace::{Chances, parse_mahimahi};
use unbloat_link::{Bottleneck, BottleneckParams, Element, Output};
use unbloat_qdisc::discipline::droptail;
use unbloat_qdisc::{Event, FlowHash, IpLen, Observer, Packet};
use unbloat_units::{Framing, Time};

fn load(name: &str) -> Arc<Chances> {
    let root = env!("CARGO_MANIFEST_DIR");
    let path = format!("{root}/../../../traces/mahimahi/{name}.gz");
    let packed = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(&packed[..])
        .read_to_end(&mut text)
        .unwrap();
    Arc::new(parse_mahimahi(&text).unwrap())
}

#[derive(Default)]
struct Departures(Vec<Time>);

impl Observer for Departures {
    fn event(&mut self, _now: Time, event: Event) {
        panic!("nothing is dropped: {event:?}");
    }
}

impl Output for Departures {
    fn deliver(&mut self, at: Time, _packet: Packet) {
        self.0.push(at);
    }
}

/// When packets of 1500 bytes leave that have all been there from the start.
fn saturate(trace: &Arc<Chances>, packets: u32) -> Vec<Time> {
    let params = BottleneckParams {
        queue: unbloat_qdisc::Config::DropTail(droptail::Params {
            limit_bytes: None,
            limit_packets: None,
        }),
        service: service::Config::Chances(chances::Params {
            trace: Arc::clone(trace),
        }),
        framing: Framing::default(),
    };
    let start = Time::from_ns(0);
    let mut link = Bottleneck::build(&params, start, &mut Rng::with_seed(0));
    let mut out = Departures::default();
    for handle in 0..packets {
        let packet = Packet::new(handle, IpLen::new(1500), FlowHash(0));
        link.accept(start, packet, &mut out);
    }
    link.advance(start + trace.period() * 3, &mut out);
    out.0
}

#[test]
fn a_backlog_takes_every_chance_of_two_passes() {
    for name in [
        "Verizon-LTE-short.down",
        "Verizon-LTE-short.up",
        "Verizon-EVDO-driving.down",
    ] {
        let trace = load(name);
        // Chances at time zero pass before anything can have come.
        let missed = (0..trace.len())
            .take_while(|k| trace.at(*k).as_ns() == 0)
            .count();
        let pass = |base: Time| (0..trace.len()).map(|k| base + trace.at(k)).collect();
        let first: Vec<Time> = pass(Time::from_ns(0));
        let second: Vec<Time> = pass(Time::from_ns(0) + trace.period());
        let expected = [&first[missed..], &second].concat();
        let left = saturate(&trace, expected.len() as u32);
        assert!(left == expected, "{name}");
    }
}

#[test]
fn the_traces_are_those_of_the_table() {
    for (name, chances, seconds, mbps, gap_ms) in [
        ("Verizon-LTE-short.down", 58_655, 140, 5.03, 1_447),
        ("Verizon-LTE-short.up", 69_367, 140, 5.95, 1_718),
        ("Verizon-EVDO-driving.down", 46_065, 1_062, 0.52, 11_567),
    ] {
        let trace = load(name);
        assert_eq!(trace.len(), chances);
        assert_eq!(trace.period().as_ns() / 1_000_000_000, seconds);
        let mean = trace.len() as f64 * 12_000.0 / trace.period().as_secs() / 1e6;
        assert!((mean - mbps).abs() < 0.006, "{name}: {mean}");
        let gaps = (1..trace.len()).map(|k| trace.at(k) - trace.at(k - 1));
        assert_eq!(gaps.max().unwrap().as_ns() / 1_000_000, gap_ms);
    }
}
