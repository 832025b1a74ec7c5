//! What a packet costs in each discipline: nanoseconds for one enqueue and one dequeue together.
//!
//! `cargo run --release -p unbloat-qdisc --example queue_speed`

use fastrand::Rng;
use std::hint::black_box;
use unbloat_qdisc::{
    Config, Context, Event, FlowHash, Host, IpLen, NAMES, Observer, Packet, Queue, discipline::cake,
};
use unbloat_units::{Delta, Rate, Time};

#[derive(Default)]
struct Count(u64);

impl Observer for Count {
    fn event(&mut self, _now: Time, event: Event) {
        self.0 += u64::from(matches!(event, Event::Dropped { .. }));
    }
}

/// Two swings of the queue.
const CHUNK: u32 = 4_000;
const CHUNKS: u32 = 300;
const FLOWS: u32 = 20;

/// A link of 100 Mbit/s, offered 9 % too much and 9 % too little in turns of 1,000 packets: the queue
/// swings between 0 and 11 ms. The median of many short stretches, as others use the machine too.
#[expect(clippy::disallowed_methods, reason = "measures itself")]
fn measure(name: &str, config: &Config) {
    let mut queue = config.build();
    let mut rng = Rng::with_seed(1);
    let mut drops = Count::default();
    let mut cx = Context {
        rng: &mut rng,
        observer: &mut drops,
    };
    let service = Delta::us(120);
    let (mut arrival, mut departure) = (Time::from_ns(0), Time::from_ns(0));
    let mut stretch = |first: u32| {
        let began = std::time::Instant::now();
        for k in first..first + CHUNK {
            let flow = k % FLOWS;
            let packet = Packet {
                source: Host(flow % 3),
                destination: Host(flow % 5),
                ..Packet::new(k, IpLen::new(1_500), FlowHash(flow))
            };
            queue.enqueue(arrival, packet, &mut cx);
            let is_peak = k / 1_000 % 2 == 0;
            arrival += Delta::us(if is_peak { 109 } else { 131 });
            while departure <= arrival {
                black_box(queue.dequeue(departure, &mut cx));
                departure += service;
            }
        }
        began.elapsed().as_nanos() as f64 / f64::from(CHUNK)
    };
    let mut ns: Vec<f64> = (0..CHUNKS).map(|n| stretch(n * CHUNK)).collect();
    ns.sort_by(f64::total_cmp);
    let share = drops.0 as f64 / f64::from(CHUNK * CHUNKS) * 100.0;
    let median = ns[ns.len() / 2];
    println!("{name:<20} {median:6.1} ns a packet, {share:.2} % dropped");
}

fn main() {
    for name in NAMES {
        if let Some(config) = Config::named(name) {
            measure(name, &config);
        }
    }
    let shaped = cake::Params {
        rate: Some(Rate::mbps(102)),
        ..cake::Params::default()
    };
    measure("cake 102 Mbit/s", &Config::Cake(shaped));
}
