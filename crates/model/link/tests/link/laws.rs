//! What holds for every element of the registry, and for rows of them.

use fastrand::Rng;
use std::sync::Arc;
use unbloat_link::device::{self, modem};
use unbloat_link::element::{burst, delay, detour, hold, jitter, loss, outage, per_client};
use unbloat_link::radio::{AirParams, Rates, downlink, rrc, sleep, uplink};
use unbloat_link::service::{self, bucket, chances, constant, markov, steps};
use unbloat_link::trace::parse_mahimahi;
use unbloat_link::{BottleneckParams, Config, Element, NAMES, Output, Path};
use unbloat_qdisc::discipline::droptail;
use unbloat_qdisc::{Event, FlowHash, Host, IpLen, Observer, Packet, Reason};
use unbloat_units::{Bytes, Delta, Framing, Rate, Time};

fn at_us(us: i64) -> Time {
    Time::from_ns(us * 1_000)
}

fn queue() -> unbloat_qdisc::Config {
    unbloat_qdisc::Config::DropTail(droptail::Params {
        limit_bytes: Some(Bytes::new(20_000)),
        limit_packets: None,
    })
}

fn bottleneck(service: service::Config) -> Config {
    Config::Bottleneck(BottleneckParams {
        queue: queue(),
        service,
        framing: Framing::default(),
    })
}

fn step(span: Delta, rate: Rate) -> steps::Step {
    steps::Step { span, rate }
}

fn services() -> Vec<service::Config> {
    let trace: String = (1..400).map(|k| format!("{}\n", k + k % 7)).collect();
    let mut lines: Vec<&str> = trace.lines().collect();
    lines.sort_by_key(|line| line.parse::<u32>().unwrap());
    let state = |mbps, ms| markov::State {
        rate: Rate::mbps(mbps),
        mean_stay: Delta::ms(ms),
        next: Vec::new(),
    };
    vec![
        service::Config::Constant(constant::Params {
            rate: Rate::mbps(7),
        }),
        service::Config::Steps(steps::Params {
            steps: Arc::new([
                step(Delta::ms(30), Rate::mbps(3)),
                step(Delta::ms(20), Rate::ZERO),
                step(Delta::ms(50), Rate::mbps(19)),
            ]),
        }),
        service::Config::Chances(chances::Params {
            trace: Arc::new(parse_mahimahi(lines.join("\n").as_bytes()).unwrap()),
        }),
        service::Config::Bucket(bucket::Params {
            rate: Rate::mbps(6),
            burst: Bytes::new(9_000),
            peak: None,
        }),
        service::Config::Markov(markov::Params {
            states: vec![state(2, 40), state(20, 15), state(0, 10)],
        }),
    ]
}

/// Each element with parameters under which it has something to do.
fn elements() -> Vec<Config> {
    let air = AirParams {
        bler: 0.4,
        bler_again: 0.5,
        transmissions: 2,
        resends: 1,
        ..AirParams::default()
    };
    let rates = Rates::Constant(constant::Params {
        rate: Rate::mbps(12),
    });
    let uplink = uplink::Params {
        buffer: Bytes::new(20_000),
        rates: rates.clone(),
        air,
        ..uplink::Params::default()
    };
    let device = |modem| device::Params {
        qdisc: queue(),
        ring: device::RingLimit::default(),
        modem,
        control: None,
    };
    let controlled = |source| {
        let modem = modem::Config::LteUplink(uplink.clone());
        let valve = match source {
            device::control::Source::Delay { .. } => unbloat_uplink::Params::of_delay(),
            _ => unbloat_uplink::Params::default(),
        };
        Config::Device(device::Params {
            control: Some(device::control::Params { valve, source }),
            ..device(modem)
        })
    };
    let every = Delta::ms(5);
    let mut all: Vec<Config> = services().into_iter().map(bottleneck).collect();
    let outage = |effect| {
        Config::Outage(outage::Params {
            when: outage::When::Random {
                every: Delta::ms(90),
                shortest: Delta::ms(5),
                longest: Delta::ms(30),
            },
            effect,
        })
    };
    let jitter = |reorders| {
        Config::Jitter(jitter::Params {
            jitter: Delta::ms(9),
            reorders,
        })
    };
    let more = [
        Config::Delay(delay::Params {
            delay: Delta::us(12_345),
        }),
        jitter(false),
        jitter(true),
        Config::Hold(hold::Params {
            share: 0.2,
            hold: Delta::ms(4),
        }),
        Config::Detour(detour::Params {
            routes: vec![(Delta::ms(2), Delta::ms(3))],
        }),
        Config::Loss(loss::Params { loss: 0.1 }),
        Config::Burst(burst::Params::of_loss_and_burst(0.1, 4.0)),
        Config::Device(device(modem::Config::LteUplink(uplink.clone()))),
        Config::Device(device(modem::Config::Line(modem::Line {
            buffer: Bytes::new(4_000),
            service: services().remove(0),
            framing: Framing::default(),
        }))),
        controlled(device::control::Source::Modem { every }),
        controlled(device::control::Source::Bsr { every }),
        controlled(device::control::Source::Delay { back: every }),
        Config::Rrc(sleep::Params {
            rrc: rrc::Params {
                tail: Delta::ms(150),
                ..rrc::Params::default()
            },
            direction: unbloat_units::Direction::Down,
        }),
        outage(outage::Effect::Lose(0.8)),
        outage(outage::Effect::Hold),
        Config::LteDownlink(downlink::Params {
            queue: queue(),
            rates,
            air,
        }),
        Config::LteUplink(uplink),
        Config::PerClient(per_client::Params {
            direction: unbloat_units::Direction::Down,
            clients: vec![
                (Host(1), vec![all[0].clone(), jitter(false)]),
                (Host(2), vec![outage(outage::Effect::Hold), all[1].clone()]),
            ],
            others: vec![all[3].clone()],
        }),
    ];
    all.extend(more);
    all
}

/// A bottleneck with each of the queue disciplines.
fn disciplines() -> Vec<Config> {
    let with = |name: &&str| {
        Config::Bottleneck(BottleneckParams {
            queue: unbloat_qdisc::Config::named(name).unwrap(),
            service: services().remove(0),
            framing: Framing::default(),
        })
    };
    unbloat_qdisc::NAMES.iter().map(with).collect()
}

/// Each element by itself, and all of them in a row.
fn rows() -> Vec<Vec<Config>> {
    let alone = elements().into_iter().chain(disciplines());
    let mut rows: Vec<Vec<Config>> = alone.map(|one| vec![one]).collect();
    rows.push(elements());
    rows
}

fn names(row: &[Config]) -> String {
    row.iter().map(Config::name).collect::<Vec<_>>().join(", ")
}

fn build(row: &[Config]) -> Path {
    Path::build(row, Time::from_ns(0), &mut Rng::with_seed(77))
}

/// Bursts and pauses, some at whole milliseconds, where ties are.
fn arrivals() -> Vec<(Time, Packet)> {
    let mut rng = Rng::with_seed(31);
    let mut us = 0;
    (0..3_000)
        .map(|handle| {
            us += match rng.u32(0..100) {
                0 => rng.i64(0..200_000),
                1..50 => 0,
                _ => rng.i64(0..2_000),
            };
            if rng.bool() {
                us = (us / 1_000) * 1_000 + 1_000;
            }
            let len = IpLen::new(rng.u32(40..=1_500));
            let packet = Packet {
                destination: Host(handle % 3),
                ..Packet::new(handle, len, FlowHash(1))
            };
            (at_us(us), packet)
        })
        .collect()
}

#[derive(Default, Debug, PartialEq)]
struct Log {
    delivered: Vec<(Time, u32)>,
    dropped: Vec<(Time, u32, Reason)>,
    bytes: u64,
}

impl Observer for Log {
    fn event(&mut self, now: Time, event: Event) {
        if let Event::Dropped { packet, reason } = event {
            self.dropped.push((now, packet.handle, reason));
            self.bytes += u64::from(packet.len.as_u32());
        }
    }
}

impl Output for Log {
    fn deliver(&mut self, at: Time, packet: Packet) {
        self.delivered.push((at, packet.handle));
        self.bytes += u64::from(packet.len.as_u32());
    }
}

fn run_until(path: &mut Path, until: Time, log: &mut Log) {
    while let Some(at) = path.next_at()
        && at <= until
    {
        path.advance(at, log);
    }
}

/// What a driver sees that wakes whenever it is asked to.
fn driven(row: &[Config]) -> Log {
    let (mut path, mut log) = (build(row), Log::default());
    for (at, packet) in arrivals() {
        run_until(&mut path, at, &mut log);
        path.accept(at, packet, &mut log);
    }
    run_until(&mut path, Time::MAX, &mut log);
    log
}

#[test]
fn every_name_of_the_registry_is_here() {
    let elements = elements();
    for name in NAMES {
        assert!(elements.iter().any(|one| one.name() == *name), "{name}");
    }
    for name in service::NAMES {
        assert!(services().iter().any(|one| one.name() == *name), "{name}");
    }
}

#[test]
fn packets_and_bytes_in_are_those_out_dropped_and_inside() {
    for row in rows() {
        let (mut path, mut log) = (build(&row), Log::default());
        let mut bytes = 0;
        for (count, (at, packet)) in (1..).zip(arrivals()) {
            run_until(&mut path, at, &mut log);
            path.accept(at, packet, &mut log);
            bytes += u64::from(packet.len.as_u32());
            let inside = path.backlog();
            let out = log.delivered.len() + log.dropped.len();
            assert_eq!(out + inside.packets as usize, count, "{}", names(&row));
            assert_eq!(log.bytes + inside.bytes.as_u64(), bytes, "{}", names(&row));
        }
        run_until(&mut path, Time::MAX, &mut log);
        assert_eq!(path.backlog().packets, 0, "{} ends empty", names(&row));
        assert!(
            log.delivered.len() > 100,
            "{} lets packets pass",
            names(&row)
        );
    }
}

#[test]
fn a_driver_that_looks_late_sees_the_same() {
    for row in rows() {
        let in_time = driven(&row);
        let (mut path, mut late) = (build(&row), Log::default());
        for (count, (at, packet)) in arrivals().into_iter().enumerate() {
            if count % 50 == 0 {
                path.advance(at, &mut late);
            }
            path.accept(at, packet, &mut late);
        }
        path.advance(at_us(3_600_000_000), &mut late);
        assert_eq!(late.delivered, in_time.delivered, "{}", names(&row));
        let sorted = |log: Log| {
            let mut dropped = log.dropped;
            dropped.sort();
            dropped
        };
        assert_eq!(sorted(late), sorted(in_time), "{}", names(&row));
    }
}

#[test]
fn departures_are_in_order_of_time_and_no_packet_is_faster_than_the_latency() {
    for row in rows() {
        let (log, latency) = (driven(&row), build(&row).latency());
        let arrivals = arrivals();
        assert!(
            log.delivered.is_sorted_by_key(|(at, _)| *at),
            "{}",
            names(&row)
        );
        for (at, handle) in &log.delivered {
            assert!(
                *at >= arrivals[*handle as usize].0 + latency,
                "{}",
                names(&row)
            );
        }
    }
}

#[test]
fn only_what_is_meant_to_reorder_does() {
    for one in elements() {
        let meant = match &one {
            Config::Jitter(params) => params.reorders,
            // Clients pass each other.
            Config::Hold(_) | Config::PerClient(_) => true,
            _ => false,
        };
        let name = one.name();
        let kept = driven(&[one])
            .delivered
            .is_sorted_by_key(|(_, handle)| *handle);
        assert_eq!(kept, !meant, "{name}");
    }
}

#[test]
fn the_same_seed_gives_the_same_log() {
    for row in rows() {
        assert_eq!(driven(&row), driven(&row), "{}", names(&row));
    }
}
