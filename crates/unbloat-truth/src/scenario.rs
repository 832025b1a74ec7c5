//! The named beds, each a value to read from top to bottom.

use crate::core::{AccessLink, Impairment, Outage, PathParams, RadioParams, RateSchedule};
use crate::workload::{Bulk, CongestionControl, Dns, Traffic, Web};
use fastrand::Rng;
use std::time::Duration;
use unbloat_units::{Bytes, Delta, Rate};

/// A path and what runs over it.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub path: PathParams,
    pub traffic: Vec<Traffic>,
}

/// A scenario that can be asked for by name.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    pub name: &'static str,
    /// What it is for, in one line.
    pub purpose: &'static str,
    make: fn(u64) -> Scenario,
}

const fn named(name: &'static str, make: fn(u64) -> Scenario, purpose: &'static str) -> Named {
    Named {
        name,
        purpose,
        make,
    }
}

/// Every scenario.
pub const SCENARIOS: &[Named] = &[
    named(
        "bulk",
        bulk,
        "CUBIC flows fill a 1 MB queue at 10 Mbit/s; tail drops only",
    ),
    named(
        "lossy",
        lossy,
        "random loss and reordering on both sides of the monitor",
    ),
    named(
        "steps",
        steps,
        "the rate steps every 500 ms between 4 and 24 Mbit/s",
    ),
    named(
        "ticks-1",
        |_| ticks(1),
        "clients whose TSval ticks every 1 ms",
    ),
    named(
        "ticks-4",
        |_| ticks(4),
        "clients whose TSval ticks every 4 ms",
    ),
    named(
        "ticks-10",
        |_| ticks(10),
        "clients whose TSval ticks every 10 ms",
    ),
    named(
        "promotion",
        promotion,
        "clients that go idle and wait for the radio",
    ),
    named(
        "rto",
        rto,
        "outages, stalls and deep queues: timeouts, real and spurious",
    ),
    named(
        "mix",
        mix,
        "95 clients browse, idle, look up names and read slowly",
    ),
    named(
        "upload",
        upload,
        "clients send through a 5 Mbit/s uplink with a 300 kB queue",
    ),
];

impl Scenario {
    /// The scenario of that name.
    pub fn named(name: &str, seed: u64) -> Option<Scenario> {
        let found = SCENARIOS.iter().find(|scenario| scenario.name == name)?;
        Some((found.make)(seed))
    }
}

const STEP: Delta = Delta::ms(500);

fn delay(ms: i64) -> Impairment {
    Impairment {
        delay: Delta::ms(ms),
        ..Impairment::default()
    }
}

fn steady(down: Rate, down_queue: Bytes) -> AccessLink {
    AccessLink {
        down: RateSchedule::constant(down),
        up: RateSchedule::constant(Rate::mbps(20)),
        down_queue,
        up_queue: Bytes::new(500_000),
    }
}

/// 20 ms from server to monitor and 15 ms from there to the client, nothing else.
fn plain(clients: Vec<AccessLink>) -> PathParams {
    PathParams {
        clients,
        wan_down: delay(20),
        wan_up: delay(20),
        access_down: delay(15),
        access_up: delay(15),
        radio: None,
        client_tick_ms: 1,
    }
}

fn download(flows: usize, bytes: u64, congestion_control: CongestionControl) -> Bulk {
    Bulk {
        flows,
        download_bytes: bytes,
        upload_bytes: 0,
        stagger: Duration::from_millis(700),
        pause: Duration::from_millis(300),
        congestion_control,
    }
}

fn bulk(_: u64) -> Scenario {
    let link = steady(Rate::mbps(10), Bytes::new(1_000_000));
    Scenario {
        path: plain(vec![link; 2]),
        traffic: vec![Traffic::Bulk(download(
            3,
            12_000_000,
            CongestionControl::Cubic,
        ))],
    }
}

fn lossy(_: u64) -> Scenario {
    let mut path = plain(vec![steady(Rate::mbps(12), Bytes::new(400_000)); 4]);
    path.wan_down.loss = 0.004;
    path.wan_down.reorder = 0.004;
    path.wan_down.hold = Delta::ms(4);
    path.wan_down.jitter = Delta::ms(2);
    path.access_down.loss = 0.004;
    path.access_down.reorder = 0.002;
    path.access_down.hold = Delta::ms(4);
    path.access_up.loss = 0.002;
    path.wan_up.loss = 0.001;
    Scenario {
        path,
        traffic: vec![
            Traffic::Bulk(download(2, 2_000_000, CongestionControl::Cubic)),
            Traffic::Bulk(download(1, 2_000_000, CongestionControl::Reno)),
            Traffic::Bulk(download(1, 4_000_000, CongestionControl::Bbr)),
            Traffic::Bulk(Bulk {
                upload_bytes: 1_000_000,
                ..download(1, 0, CongestionControl::Cubic)
            }),
        ],
    }
}

fn steps(seed: u64) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let mut link = || AccessLink {
        down: RateSchedule::stepping(STEP, (0..240).map(|_| any_rate(&mut rng)).collect()),
        ..steady(Rate::mbps(12), Bytes::new(800_000))
    };
    Scenario {
        path: plain((0..3).map(|_| link()).collect()),
        traffic: vec![Traffic::Bulk(download(
            1,
            20_000_000,
            CongestionControl::Cubic,
        ))],
    }
}

fn any_rate(rng: &mut Rng) -> Rate {
    Rate::kbps(rng.u64(4_000..=24_000))
}

fn ticks(tick_ms: u32) -> Scenario {
    let link = steady(Rate::mbps(8), Bytes::new(400_000));
    Scenario {
        path: PathParams {
            client_tick_ms: tick_ms,
            ..plain(vec![link; 4])
        },
        traffic: vec![
            Traffic::Bulk(download(1, 6_000_000, CongestionControl::Cubic)),
            Traffic::Bulk(download(2, 300_000, CongestionControl::Cubic)),
        ],
    }
}

fn promotion(_: u64) -> Scenario {
    let link = steady(Rate::mbps(20), Bytes::new(400_000));
    Scenario {
        path: PathParams {
            radio: Some(RadioParams {
                promotion: Delta::ms(400),
                tail: Delta::secs(2),
            }),
            ..plain(vec![link; 60])
        },
        traffic: vec![Traffic::Web(Web {
            idle_clients: 1.0,
            shortest_silence: Duration::from_millis(2_100),
            longest_silence: Duration::from_secs(5),
            big: 0.0,
            slow: 0.0,
            dark: 0.0,
            ..BROWSING
        })],
    }
}

fn rto(seed: u64) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let mut link = || AccessLink {
        down: RateSchedule::stepping(STEP, stalling_rates(&mut rng)),
        ..steady(Rate::mbps(8), Bytes::new(300_000))
    };
    let mut path = plain((0..8).map(|_| link()).collect());
    path.access_down.loss = 0.002;
    path.access_down.outage = Some(Outage {
        every: Delta::secs(6),
        shortest: Delta::ms(80),
        longest: Delta::ms(900),
        loss: 0.97,
    });
    Scenario {
        path,
        traffic: vec![
            Traffic::Bulk(download(1, 4_000_000, CongestionControl::Cubic)),
            Traffic::Bulk(download(1, 400_000, CongestionControl::Reno)),
        ],
    }
}

/// Mostly 4-12 Mbit/s; one step in twelve crawls or stands still for 0.5 to 1.5 s.
fn stalling_rates(rng: &mut Rng) -> Vec<Rate> {
    let mut rates = Vec::new();
    while rates.len() < 240 {
        rates.push(Rate::kbps(rng.u64(4_000..=12_000)));
        if rng.f64() < 1.0 / 12.0 {
            let slow = if rng.bool() {
                Rate::ZERO
            } else {
                Rate::kbps(150)
            };
            rates.extend(vec![slow; rng.usize(1..=3)]);
        }
    }
    rates
}

const BROWSING: Web = Web {
    think: Duration::from_millis(250),
    big: 0.015,
    idle_clients: 0.2,
    shortest_silence: Duration::from_millis(10_500),
    longest_silence: Duration::from_secs(16),
    slow: 0.15,
    late_close: 0.25,
    reset: 0.054,
    dark: 0.085,
    bbr: 0.15,
};

fn mix(seed: u64) -> Scenario {
    let mut rng = Rng::with_seed(seed);
    let mut link = || AccessLink {
        down: RateSchedule::stepping(STEP, wandering_rates(&mut rng)),
        up: RateSchedule::constant(Rate::mbps(8)),
        ..steady(Rate::mbps(25), Bytes::new(400_000))
    };
    let mut path = plain((0..95).map(|_| link()).collect());
    path.wan_down.jitter = Delta::ms(2);
    path.wan_down.reorder = 0.000_3;
    path.wan_down.hold = Delta::ms(3);
    path.wan_down.loss = 0.000_2;
    path.access_down.loss = 0.000_3;
    path.radio = Some(RadioParams {
        promotion: Delta::ms(400),
        tail: Delta::secs(10),
    });
    Scenario {
        path,
        traffic: vec![
            Traffic::Web(BROWSING),
            Traffic::Dns(Dns {
                pause: Duration::from_secs(3),
                unknown: 0.05,
                mute: 0.02,
            }),
        ],
    }
}

/// A random walk around a client's own mean of 12.5 to 37.5 Mbit/s, never beyond twice or an
/// eighth of it.
fn wandering_rates(rng: &mut Rng) -> Vec<Rate> {
    let mean = 25e6 * (0.5 + rng.f64());
    let mut bps = mean;
    let walk = (0..600).map(|_| {
        let factor = (0.3 * (2.0 * rng.f64() - 1.0)).exp();
        bps = (bps * factor).clamp(mean / 8.0, mean * 2.0);
        Rate::from_bps_f64(bps)
    });
    walk.collect()
}

fn upload(_: u64) -> Scenario {
    let link = AccessLink {
        up: RateSchedule::constant(Rate::mbps(5)),
        up_queue: Bytes::new(300_000),
        ..steady(Rate::mbps(20), Bytes::new(400_000))
    };
    let mut path = plain(vec![link; 3]);
    path.access_up.loss = 0.001;
    path.wan_up.loss = 0.001;
    Scenario {
        path,
        traffic: vec![Traffic::Bulk(Bulk {
            upload_bytes: 5_000_000,
            ..download(2, 0, CongestionControl::Cubic)
        })],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_is_found_by_name_and_the_seed_decides_its_rates() {
        for Named { name, .. } in SCENARIOS {
            let scenario = Scenario::named(name, 1).unwrap();
            assert!(!scenario.path.clients.is_empty() && !scenario.traffic.is_empty());
        }
        let rates = |seed| format!("{:?}", steps(seed).path.clients);
        assert_eq!(rates(1), rates(1));
        assert_ne!(rates(1), rates(2));
        assert!(Scenario::named("none", 1).is_none());
    }
}
