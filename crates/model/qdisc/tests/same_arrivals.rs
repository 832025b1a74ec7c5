//! Our CoDel and FQ-CoDel against the kernel's, given the same arrivals: the same drops.
//!
//! The referee sends UDP packets at given times and writes down when each arrived and left. Ours is given
//! the arrivals, and asked for a packet whenever one left.

use unbloat_qdisc::{Config, Context, FlowHash, IpLen, Packet, Queue};
use unbloat_uml::{Arrival, Outcome, PacketFate, Scenario, referee};
use unbloat_units::{Delta, Rate, Time};

/// Four flows that ask for 1.3 times the rate for two seconds of three, and for 0.6 in the third.
fn arrivals(rng: &mut fastrand::Rng) -> Vec<Arrival> {
    let (mut arrivals, mut at_ns) = (Vec::new(), 0.0);
    while at_ns < 10e9 {
        let load = if at_ns as u64 / 1_000_000_000 % 3 == 2 {
            0.6
        } else {
            1.3
        };
        at_ns += -(1.0 - rng.f64()).ln() * 1e6 / load;
        arrivals.push(Arrival {
            at_ns: at_ns as u64,
            flow: rng.u16(..4),
            ip_bytes: [1500, 1500, 1500, 576, 100][rng.usize(..5)],
            ecn: 0,
        });
    }
    arrivals
}

fn kernels(queue: &str) -> Outcome {
    let rate = Rate::mbps(8);
    let mut scenario = Scenario::new(rate, Delta::ms(1), queue, Delta::secs(11));
    scenario.arrivals = arrivals(&mut fastrand::Rng::with_seed(5));
    scenario.list_packets = true;
    scenario.framing_bytes = 14;
    let outcome = referee(&scenario).unwrap();
    for (fate, asked) in outcome.packets.iter().zip(&scenario.arrivals) {
        let late = fate.arrived_ns - asked.at_ns;
        assert!(late < 2_000, "{asked:?} came {late} ns late");
    }
    assert_eq!(outcome.packets.len(), scenario.arrivals.len());
    outcome
}

/// What ours drops, and what it sends at each of the kernel's departures.
fn ours(config: &Config, outcome: &Outcome) -> (Vec<u32>, Vec<u32>) {
    let begin = i64::try_from(outcome.begin_monotonic_ns).unwrap();
    let time = |ns: u64| Time::from_ns(begin + i64::try_from(ns).unwrap());
    let (mut queue, mut rng, mut observer) =
        (config.build(), fastrand::Rng::with_seed(1), Vec::new());
    let mut cx = Context {
        rng: &mut rng,
        observer: &mut observer,
    };
    let mut waiting = (0..).zip(&outcome.packets).peekable();
    let mut sent = Vec::new();
    for (_, left_ns) in departures(&outcome.packets) {
        while let Some((number, fate)) = waiting.next_if(|(_, fate)| fate.arrived_ns <= left_ns) {
            let length = IpLen::new(fate.ip_bytes.into());
            let packet = Packet::new(number, length, FlowHash(fate.flow.into()));
            queue.enqueue(time(fate.arrived_ns), packet, &mut cx);
        }
        sent.extend(
            queue
                .dequeue(time(left_ns), &mut cx)
                .map(|packet| packet.handle),
        );
    }
    let dropped = observer.iter().map(|(_, event)| match event {
        unbloat_qdisc::Event::Dropped { packet, .. } => packet.handle,
        unbloat_qdisc::Event::Marked { packet, .. } => panic!("{packet:?} is not ECN-capable"),
    });
    let mut dropped: Vec<_> = dropped.collect();
    dropped.sort_unstable();
    (dropped, sent)
}

/// Number and time of the packets that left, in order of time.
fn departures(packets: &[PacketFate]) -> Vec<(u32, u64)> {
    let numbered = (0..).zip(packets);
    let mut left: Vec<_> = numbered
        .filter_map(|(number, fate)| Some((number, fate.left_ns?)))
        .collect();
    left.sort_by_key(|&(_, left_ns)| left_ns);
    left
}

fn agree(name: &str) {
    let outcome = kernels(name);
    let (dropped, sent) = ours(&Config::named(name).unwrap(), &outcome);
    let fates = (0..).zip(&outcome.packets);
    let lost: Vec<u32> = fates
        .filter(|(_, fate)| fate.left_ns.is_none())
        .map(|(n, _)| n)
        .collect();
    assert!(lost.len() > 100, "{} drops prove little", lost.len());
    assert_eq!(dropped, lost);
    let left: Vec<_> = departures(&outcome.packets)
        .into_iter()
        .map(|(n, _)| n)
        .collect();
    assert_eq!(sent, left);
}

fn codel_drops_the_same_packets() {
    agree("codel");
}

fn fq_codel_drops_the_same_packets_and_sends_in_the_same_order() {
    agree("fq_codel");
}

unbloat_testkit::main! {
    kernel() => [
        codel_drops_the_same_packets,
        fq_codel_drops_the_same_packets_and_sends_in_the_same_order,
    ],
}
