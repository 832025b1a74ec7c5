//! Bytes and parameters from outside: nothing panics, hangs or grows without bound.

use fastrand::Rng;
use unbloat_link::device::{self, modem};
use unbloat_link::element::{burst, delay, detour, hold, jitter, loss, outage};
use unbloat_link::radio::{AirParams, Rates, downlink, rrc, sleep, uplink};
use unbloat_link::service::{self, bucket, constant, markov, steps};
use unbloat_link::trace::{parse_mahimahi, parse_rates};
use unbloat_link::{BottleneckParams, Config, Element, Output, Path};
use unbloat_qdisc::{Event, FlowHash, IpLen, Observer, Packet};
use unbloat_units::{Bytes, Cells, Delta, Framing, Rate, Time};

/// Texts of the alphabet of the two formats, with faults.
fn text(rng: &mut Rng) -> Vec<u8> {
    const PIECES: [&[u8]; 16] = [
        b"0",
        b"1",
        b"42",
        b"4294967295",
        b"4294967296",
        b"\n",
        b"\r\n",
        b",",
        b" ",
        b"-",
        b".",
        b"Mbit/s",
        b"1e9",
        b"\xff",
        b"seconds,rate_kbps\n",
        b"7 Gbit/s\n",
    ];
    let length = rng.usize(0..40);
    (0..length)
        .flat_map(|_| PIECES[rng.usize(0..PIECES.len())])
        .copied()
        .collect()
}

#[test]
fn parsers_take_any_bytes_and_what_they_give_holds_their_promise() {
    let mut rng = Rng::with_seed(1);
    let (mut chances, mut rates) = (0, 0);
    for _ in 0..200_000 {
        let bytes = text(&mut rng);
        match parse_mahimahi(&bytes) {
            Ok(trace) => {
                chances += 1;
                assert!(trace.period() > Delta::ZERO && trace.len() <= bytes.len());
                assert!((1..trace.len()).all(|k| trace.at(k) >= trace.at(k - 1)));
            }
            Err(error) => assert!(error.to_string().len() < 400),
        }
        match parse_rates(&bytes) {
            Ok(steps) => {
                rates += 1;
                assert!(steps.iter().all(|step| step.span > Delta::ZERO));
                assert!(steps.len() <= bytes.len());
            }
            Err(error) => assert!(error.to_string().len() < 400),
        }
    }
    assert!(
        chances > 100 && rates > 10,
        "{chances} {rates} of them are sound"
    );
}

#[derive(Default)]
struct Count(u32);

impl Observer for Count {
    fn event(&mut self, _now: Time, event: Event) {
        self.0 += u32::from(matches!(event, Event::Dropped { .. }));
    }
}

impl Output for Count {
    fn deliver(&mut self, _at: Time, _packet: Packet) {
        self.0 += 1;
    }
}

fn pick<T: Clone>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.usize(0..from.len())].clone()
}

fn span(rng: &mut Rng) -> Delta {
    let spans = [
        0,
        -1,
        1,
        999_999,
        1_000_000,
        40_000_000,
        3_600_000_000_000,
        i64::MAX,
    ];
    Delta::ns(pick(rng, &spans))
}

fn rate(rng: &mut Rng) -> Rate {
    Rate::bps(pick(
        rng,
        &[0, 1, 8_000, 9_999_999, 400_000_000_000, u64::MAX],
    ))
}

fn probability(rng: &mut Rng) -> f64 {
    pick(rng, &[0.0, 1.0, 0.5, -1.0, 7.0, f64::NAN, f64::INFINITY])
}

fn size(rng: &mut Rng) -> Bytes {
    Bytes::new(pick(rng, &[0, 1, 1_500, 1_000_000, u64::MAX]))
}

fn step_list(rng: &mut Rng) -> steps::Params {
    let length = rng.usize(0..4);
    let mut step = || steps::Step {
        span: span(rng),
        rate: rate(rng),
    };
    steps::Params {
        steps: (0..length).map(|_| step()).collect(),
    }
}

fn chain(rng: &mut Rng) -> markov::Params {
    let length = rng.usize(0..4);
    let mut state = || markov::State {
        rate: rate(rng),
        mean_stay: span(rng),
        next: (0..rng.usize(0..4)).map(|_| probability(rng)).collect(),
    };
    markov::Params {
        states: (0..length).map(|_| state()).collect(),
    }
}

fn server(rng: &mut Rng) -> service::Config {
    match rng.u32(0..4) {
        0 => service::Config::Constant(constant::Params { rate: rate(rng) }),
        1 => service::Config::Steps(step_list(rng)),
        2 => service::Config::Markov(chain(rng)),
        _ => service::Config::Bucket(bucket::Params {
            rate: rate(rng),
            burst: size(rng),
            peak: rng.bool().then(|| bucket::Peak {
                rate: rate(rng),
                mtu: size(rng),
            }),
        }),
    }
}

fn air(rng: &mut Rng) -> (Rates, AirParams) {
    let rates = match rng.u32(0..3) {
        0 => Rates::Constant(constant::Params { rate: rate(rng) }),
        1 => Rates::Steps(step_list(rng)),
        _ => Rates::Markov(chain(rng)),
    };
    let air = AirParams {
        bler: probability(rng),
        bler_again: probability(rng),
        transmissions: pick(rng, &[0, 1, 4]),
        status: span(rng),
        resends: pick(rng, &[0, 3]),
    };
    (rates, air)
}

fn control(rng: &mut Rng) -> device::control::Params {
    device::control::Params {
        valve: unbloat_uplink::Params {
            target: span(rng),
            floor: span(rng),
            least: size(rng),
            first: size(rng),
            horizon: span(rng),
            grant: span(rng),
            dip_after: rng.bool().then(|| span(rng)),
        },
        source: match rng.u32(0..3) {
            0 => device::control::Source::Modem { every: span(rng) },
            1 => device::control::Source::Bsr { every: span(rng) },
            _ => device::control::Source::Delay { back: span(rng) },
        },
    }
}

fn element(rng: &mut Rng) -> Config {
    let queue = unbloat_qdisc::Config::named("droptail").unwrap();
    let framing = Framing {
        overhead_bytes: pick(rng, &[-64, 0, 38, i32::MAX]),
        minimum_bytes: pick(rng, &[0, u32::MAX]),
        cells: pick(rng, &[Cells::None, Cells::Atm, Cells::Ptm]),
    };
    let (rates, air) = air(rng);
    let uplink = uplink::Params {
        buffer: size(rng),
        rates: rates.clone(),
        air,
        request_period: span(rng),
        first_grant: size(rng),
        report_period: span(rng),
        report_again: span(rng),
    };
    match rng.u32(0..12) {
        0 => Config::Bottleneck(BottleneckParams {
            queue,
            service: server(rng),
            framing,
        }),
        1 => Config::Delay(delay::Params { delay: span(rng) }),
        2 => Config::Jitter(jitter::Params {
            jitter: span(rng),
            reorders: rng.bool(),
        }),
        11 => Config::Detour(detour::Params {
            routes: vec![(span(rng), span(rng)), (span(rng), span(rng))],
        }),
        3 => Config::Hold(hold::Params {
            share: probability(rng),
            hold: span(rng),
        }),
        4 => Config::Loss(loss::Params {
            loss: probability(rng),
        }),
        5 => Config::Burst(burst::Params::of_loss_and_burst(
            probability(rng),
            probability(rng),
        )),
        6 => Config::Outage(outage::Params {
            when: match rng.bool() {
                true => outage::When::At(vec![(span(rng), span(rng)), (span(rng), span(rng))]),
                false => outage::When::Random {
                    every: span(rng),
                    shortest: span(rng),
                    longest: span(rng),
                },
            },
            effect: match rng.bool() {
                true => outage::Effect::Hold,
                false => outage::Effect::Lose(probability(rng)),
            },
        }),
        7 => Config::LteDownlink(downlink::Params { queue, rates, air }),
        8 => Config::LteUplink(uplink),
        9 => Config::Device(device::Params {
            qdisc: queue,
            ring: device::RingLimit {
                packets: pick(rng, &[0, 1, 256]),
                bytes: rng.bool().then(|| size(rng)),
            },
            modem: match rng.bool() {
                true => modem::Config::LteUplink(uplink),
                false => modem::Config::Line(modem::Line {
                    buffer: size(rng),
                    service: server(rng),
                    framing,
                }),
            },
            control: rng.bool().then(|| control(rng)),
        }),
        _ => Config::Rrc(sleep::Params {
            rrc: rrc::Params {
                promotion: rrc::Promotion::Between(span(rng), span(rng)),
                tail: span(rng),
                paging: span(rng),
                drx: rng.bool().then(|| rrc::Drx {
                    inactivity: span(rng),
                    on: span(rng),
                    short: span(rng),
                    short_for: span(rng),
                    long: span(rng),
                }),
            },
            direction: unbloat_units::Direction::Down,
        }),
    }
}

#[test]
fn elements_with_senseless_parameters_keep_account_of_their_packets() {
    let mut rng = Rng::with_seed(2);
    for round in 0..4_000u32 {
        let config = [element(&mut rng)];
        let mut path = Path::build(&config, Time::from_ns(0), &mut Rng::with_seed(3));
        let mut out = Count::default();
        let mut now = Time::from_ns(0);
        for handle in 0..20 {
            now += Delta::ns(pick(&mut rng, &[0, 1, 1_000, 700_000, 5_000_000]));
            // A bounded number of wakes, as of a driver that ends in time.
            for _ in 0..50 {
                match path.next_at() {
                    Some(at) if at <= now => path.advance(at, &mut out),
                    _ => break,
                }
            }
            let len = IpLen::new(pick(&mut rng, &[0, 1, 40, 1_500, u32::MAX]));
            path.accept(now, Packet::new(handle, len, FlowHash(0)), &mut out);
        }
        let inside = path.backlog().packets;
        assert_eq!(out.0 + inside, 20, "round {round}: {config:?}");
    }
}
