//! Laws that every discipline in the registry keeps, under arrivals drawn at random.

use fastrand::Rng;
use serde::de::{DeserializeOwned, IntoDeserializer};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use unbloat_params::{Limit, LinkSettings, Settings};
use unbloat_qdisc::{
    AnyQueue, Backlog, Config, Context, Dscp, Ecn, Event, FlowHash, Host, IpLen, NAMES, Observer,
    Packet, Queue, Reason,
    discipline::{cake, dualpi2, red},
};
use unbloat_units::{Bytes, Delta, Rate, Time};

/// What stands in the queue by our own count, and whether every packet is told of just once.
#[derive(Default)]
struct Ledger {
    inside: BTreeMap<u32, Packet>,
    log: Vec<(Time, Event)>,
    now: Time,
    dropped: u64,
    marked: u64,
}

impl Ledger {
    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.inside.len() as u32,
            bytes: self.inside.values().map(|p| p.len.bytes()).sum::<Bytes>(),
        }
    }

    fn take(&mut self, packet: &Packet) -> Packet {
        self.inside
            .remove(&packet.handle)
            .unwrap_or_else(|| panic!("packet {} leaves twice", packet.handle))
    }
}

impl Observer for Ledger {
    fn event(&mut self, now: Time, event: Event) {
        assert_eq!(now, self.now, "events carry the time of the call");
        self.log.push((now, event));
        match event {
            Event::Dropped { packet, .. } => {
                self.take(&packet);
                self.dropped += 1;
            }
            Event::Marked { packet, .. } => {
                let known = &self.inside[&packet.handle];
                assert!(known.ecn.is_capable(), "marked without ECN");
                assert_eq!(packet.ecn, Ecn::Ce);
                self.marked += 1;
            }
        }
    }
}

/// A discipline as it is by default, and one that marks if it can.
struct Case {
    name: String,
    config: Config,
    marking: Config,
    marks: bool,
}

/// The disciplines of the registry, and settings that reach their other branches.
fn cases() -> Vec<Case> {
    let named = NAMES.iter().map(|name| {
        let config = Config::named(name).expect("named in the registry");
        assert_eq!(config.name(), *name);
        let mut settings = WithEcn::default();
        let marking = Config::read(name, &mut settings).expect("good settings");
        Case {
            name: (*name).to_owned(),
            marks: settings.is_asked || ALWAYS_MARK.contains(name),
            config,
            marking: marking.expect("named in the registry"),
        }
    });
    let cake = |rate| cake::Params {
        rate: Some(Rate::mbps(rate)),
        ..cake::Params::default()
    };
    let adaptive = red::Params {
        gentle: true,
        adaptive: true,
        ..red::Params::default()
    };
    let marking_red = red::Params {
        ecn: true,
        ..adaptive
    };
    let more = [
        ("cake at 8 Mbit/s", Config::Cake(cake(8)), None),
        (
            "cake with ATM, ACK filter and little memory",
            Config::Cake(cake::Params {
                cells: unbloat_units::Cells::Atm,
                overhead: Some(44),
                ack_filter: cake::AckFilter::Aggressive,
                diffserv: cake::Diffserv::Diffserv8,
                memory_limit: Some(Bytes::new(60_000)),
                wash: true,
                ..cake(6)
            }),
            None,
        ),
        (
            "cake at ingress",
            Config::Cake(cake::Params {
                ingress: true,
                diffserv: cake::Diffserv::Diffserv4,
                ..cake(6)
            }),
            None,
        ),
        (
            "adaptive gentle red",
            Config::Red(adaptive),
            Some(Config::Red(marking_red)),
        ),
        (
            "dualpi2 without drops on overload",
            Config::DualPi2(dualpi2::Params {
                drop_on_overload: false,
                limit_packets: 200,
                ..dualpi2::Params::default()
            }),
            None,
        ),
    ];
    let more = more.map(|(name, config, marking)| Case {
        name: name.to_owned(),
        marking: marking.unwrap_or_else(|| config.clone()),
        config,
        marks: true,
    });
    named.chain(more).collect()
}

/// Disciplines in which marking is no option but always on.
const ALWAYS_MARK: [&str; 2] = ["cake", "dualpi2"];

/// Settings that turn marking on and leave all else at its default.
#[derive(Default)]
struct WithEcn {
    is_asked: bool,
}

impl Settings for WithEcn {
    type Error = serde::de::value::Error;

    fn maybe<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<Option<T>, Self::Error> {
        match name {
            "ecn" => {
                self.is_asked = true;
                T::deserialize(true.into_deserializer()).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn maybe_within<T>(
        &mut self,
        _: &'static str,
        _: &RangeInclusive<T>,
    ) -> Result<Option<T>, Self::Error>
    where
        T: DeserializeOwned + PartialOrd + fmt::Display,
    {
        Ok(None)
    }

    fn maybe_fraction(&mut self, _: &'static str) -> Result<Option<f64>, Self::Error> {
        Ok(None)
    }

    fn fault(&self, message: String) -> Self::Error {
        serde::de::Error::custom(message)
    }
}

impl LinkSettings for WithEcn {
    fn maybe_limit(&mut self, _: &'static str) -> Result<Option<Limit>, Self::Error> {
        Ok(None)
    }

    fn rate(&self) -> Rate {
        Rate::mbps(10)
    }
}

fn draw_packet(handle: u32, rng: &mut Rng, ecn: Option<Ecn>) -> Packet {
    let len = if rng.bool() {
        1_500
    } else {
        rng.u32(40..1_500)
    };
    let flow = rng.u32(..12);
    let any = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][rng.usize(..4)];
    Packet {
        source: Host(flow / 4),
        destination: Host(flow % 3),
        dscp: Dscp(rng.u8(..64)),
        ecn: ecn.unwrap_or(any),
        ..Packet::new(handle, IpLen::new(len), FlowHash(flow))
    }
}

/// A link of 10 Mbit/s under bursts and pauses; checks the ledger after every call.
fn run(config: &Config, seed: u64, load: f64, ecn: Option<Ecn>) -> (Ledger, Vec<(Time, Packet)>) {
    let mut queue = config.build();
    let mut ledger = Ledger::default();
    let mut rng = Rng::with_seed(seed);
    let mut arrivals = Rng::with_seed(!seed);
    let mut sent = Vec::new();
    let mut next_arrival = Time::from_ns(0);
    let mut idle_at = Time::from_ns(0);
    let mut handle = 0;
    loop {
        let due = ready(&queue, ledger.now).map(|at| at.max(idle_at));
        let arrives = handle < 8_000 && due.is_none_or(|due| next_arrival <= due);
        if arrives {
            ledger.now = next_arrival;
            let packet = draw_packet(handle, &mut arrivals, ecn);
            ledger.inside.insert(handle, packet);
            enqueue(&mut queue, packet, &mut rng, &mut ledger);
            handle += 1;
            let pause = if arrivals.u32(..400) == 0 {
                300_000_000
            } else {
                0
            };
            let mean = 900_000.0 / load;
            let gap = -mean * (1.0 - arrivals.f64()).ln();
            next_arrival += Delta::ns(gap as i64 + pause);
        } else if let Some(due) = due {
            ledger.now = due;
            if let Some(packet) = dequeue(&mut queue, &mut rng, &mut ledger) {
                let known = ledger.take(&packet);
                assert_eq!((packet.len, packet.flow), (known.len, known.flow));
                assert!(packet.enqueued <= ledger.now);
                idle_at = ledger.now + packet.len.bytes() / Rate::mbps(10);
                // What the queue washed is of interest to the tests.
                let dscp = known.dscp;
                sent.push((ledger.now, Packet { dscp, ..packet }));
            }
        } else {
            break;
        }
        assert_eq!(queue.backlog(), ledger.backlog(), "backlog");
    }
    assert!(dequeue(&mut queue, &mut rng, &mut ledger).is_none());
    assert_eq!(sent.len() as u64 + ledger.dropped, 8_000, "conservation");
    (ledger, sent)
}

fn ready(queue: &AnyQueue, now: Time) -> Option<Time> {
    let ready = queue.ready_at(now);
    assert_eq!(ready.is_some(), queue.backlog().packets > 0);
    ready.inspect(|at| assert!(*at >= now, "ready in the past"))
}

fn enqueue(queue: &mut AnyQueue, packet: Packet, rng: &mut Rng, ledger: &mut Ledger) {
    let now = ledger.now;
    let mut cx = Context {
        rng,
        observer: ledger,
    };
    queue.enqueue(now, packet, &mut cx);
}

fn dequeue(queue: &mut AnyQueue, rng: &mut Rng, ledger: &mut Ledger) -> Option<Packet> {
    let now = ledger.now;
    let mut cx = Context {
        rng,
        observer: ledger,
    };
    queue.dequeue(now, &mut cx)
}

#[test]
fn packets_are_conserved_and_the_backlog_is_the_truth() {
    for case in cases() {
        let name = &case.name;
        for (seed, load) in [(1, 0.6), (2, 1.2), (3, 3.0)] {
            println!("{name}, load {load}");
            let (ledger, sent) = run(&case.marking, seed, load, None);
            assert!(ledger.inside.is_empty());
            let times: Vec<Time> = sent.iter().map(|(at, _)| *at).collect();
            assert!(times.is_sorted(), "time never goes back");
        }
    }
}

#[test]
fn packets_of_one_flow_and_class_keep_their_order() {
    for case in cases() {
        let (name, config) = (&case.name, &case.config);
        let (_, sent) = run(config, 4, 1.1, Some(Ecn::NotEct));
        let mut last = BTreeMap::new();
        for (_, packet) in sent {
            let before = last.insert((packet.flow, packet.dscp), packet.handle);
            assert!(before.is_none_or(|handle| handle < packet.handle), "{name}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_events() {
    for case in cases() {
        let (name, config) = (&case.name, &case.config);
        let (a, a_sent) = run(config, 7, 1.5, None);
        let (b, b_sent) = run(config, 7, 1.5, None);
        assert!(a.log == b.log && a_sent == b_sent, "{name}");
    }
}

#[test]
fn an_empty_queue_gives_nothing_and_is_never_ready() {
    for case in cases() {
        let (name, config) = (&case.name, &case.config);
        let mut queue = config.build();
        let mut rng = Rng::with_seed(1);
        let mut ledger = Ledger::default();
        for ms in [0, 1, 10, 1_000, 1_000_000] {
            ledger.now = Time::from_ns(0) + Delta::ms(ms);
            assert!(
                dequeue(&mut queue, &mut rng, &mut ledger).is_none(),
                "{name}"
            );
            assert_eq!(queue.ready_at(ledger.now), None, "{name}");
            assert_eq!(queue.backlog(), Backlog::default());
        }
        assert!(ledger.log.is_empty(), "{name}: nothing happened");
    }
}

#[test]
fn capable_packets_are_marked_where_marking_is_defined() {
    for case in cases() {
        let name = &case.name;
        let (ledger, _) = run(&case.marking, 5, 1.15, Some(Ecn::Ect0));
        assert_eq!(ledger.marked > 0, case.marks, "{name}");
        let dropped_by_law = ledger.log.iter().filter(|(_, event)| {
            matches!(
                event,
                Event::Dropped {
                    reason: Reason::Sojourn | Reason::Forced,
                    ..
                }
            )
        });
        assert_eq!(
            dropped_by_law.count(),
            0,
            "{name}: what can be marked is not dropped"
        );
        let (without, _) = run(&case.marking, 5, 1.15, Some(Ecn::NotEct));
        assert_eq!(without.marked, 0, "{name}");
    }
}

#[test]
fn a_packet_comes_when_it_is_said_to_be_ready_and_not_before() {
    for case in cases() {
        let (name, config) = (&case.name, &case.config);
        // What a shaper charges for drops may send it back to waiting.
        if name == "cake at ingress" {
            continue;
        }
        let mut queue = config.build();
        let mut rng = Rng::with_seed(9);
        let mut arrivals = Rng::with_seed(10);
        let mut ledger = Ledger::default();
        for handle in 0..400 {
            let packet = draw_packet(handle, &mut arrivals, None);
            ledger.inside.insert(handle, packet);
            enqueue(&mut queue, packet, &mut rng, &mut ledger);
        }
        while let Some(at) = ready(&queue, ledger.now) {
            if at > ledger.now {
                ledger.now = at - Delta::ns(1);
                let early = dequeue(&mut queue, &mut rng, &mut ledger);
                assert!(early.is_none(), "{name}: before it is ready");
            }
            ledger.now = at;
            let packet = dequeue(&mut queue, &mut rng, &mut ledger);
            let packet = packet.unwrap_or_else(|| panic!("{name}: not ready at {at:?}"));
            ledger.take(&packet);
            ledger.now += Delta::us(100);
        }
    }
}

#[test]
fn names_are_unique_and_build_what_they_say() {
    let mut names = NAMES.to_vec();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), NAMES.len());
    assert_eq!(Config::named("no such queue"), None);
    for reason in Reason::ALL {
        assert!(
            Reason::ALL
                .iter()
                .filter(|r| r.name() == reason.name())
                .count()
                == 1
        );
    }
}
