//! Every workload on an ideal network: fixed one-way delay, fixed rate for each connection, no loss. What comes out can
//! be told by hand.

use crate::registry::Config;
use crate::workload::{Conn, Happening, Network, Workload};
use fastrand::Rng;
use std::collections::BTreeMap;
use unbloat_units::{Bytes, Delta, Direction, Rate, Time};

struct Ideal {
    now: Time,
    delay: Delta,
    rate: Rate,
    /// Every n-th datagram is lost.
    lose_every: Option<u64>,
    agenda: BTreeMap<(Time, u64), Happening>,
    planned: u64,
    busy: BTreeMap<Conn, Time>,
    rng: Rng,
}

impl Ideal {
    fn new(delay: Delta, rate: Rate) -> Ideal {
        Ideal {
            now: Time::from_ns(0),
            delay,
            rate,
            lose_every: None,
            agenda: BTreeMap::new(),
            planned: 0,
            busy: BTreeMap::new(),
            rng: Rng::with_seed(42),
        }
    }

    fn plan(&mut self, at: Time, happening: Happening) {
        self.planned += 1;
        self.agenda.insert((at, self.planned), happening);
    }

    fn run(&mut self, config: &Config, until: Time) -> BTreeMap<String, f64> {
        let mut workload = config.build();
        workload.start(self.now, self);
        while let Some(entry) = self.agenda.first_entry() {
            let at = entry.key().0;
            if at > until {
                break;
            }
            let happening = entry.remove();
            self.now = at;
            workload.on_happening(at, happening, self);
        }
        workload
            .metrics(Time::from_ns(0), until)
            .into_iter()
            .map(|metric| (metric.name, metric.value))
            .collect()
    }
}

impl Network for Ideal {
    fn exchange(&mut self, conn: Conn, request: Bytes, response: Bytes) {
        let free = self
            .busy
            .get(&conn)
            .copied()
            .unwrap_or(self.now)
            .max(self.now);
        let asked = free + request / self.rate + self.delay;
        // Endless transfers are told in portions of a second, as far as the test looks.
        let portions = [request, response].map(|size| {
            size.as_u64()
                .div_ceil((self.rate * Delta::secs(1)).as_u64())
                .min(100)
        });
        for second in 1..=portions[0] as i64 {
            let bytes = request.min(self.rate * Delta::secs(1));
            self.plan(
                (free + Delta::secs(second)).min(asked),
                Happening::Read {
                    conn,
                    direction: Direction::Up,
                    bytes,
                },
            );
        }
        let done = asked + response / self.rate + self.delay;
        for second in 1..=portions[1] as i64 {
            let bytes = response.min(self.rate * Delta::secs(1));
            self.plan(
                (asked + self.delay + Delta::secs(second)).min(done),
                Happening::Read {
                    conn,
                    direction: Direction::Down,
                    bytes,
                },
            );
        }
        self.plan(done, Happening::Done { conn });
        self.busy.insert(conn, done);
    }

    fn close(&mut self, _conn: Conn) {}

    fn datagram(&mut self, direction: Direction, number: u64, _size: Bytes) {
        if self.lose_every.is_none_or(|n| number % n != n - 1) {
            let delay = self.delay;
            self.plan(
                self.now + delay,
                Happening::Arrived {
                    direction,
                    number,
                    delay,
                },
            );
        }
    }

    /// Each of three hops has the delay of the path.
    fn hops(&self) -> u32 {
        3
    }

    fn probe(&mut self, hops: u32, number: u64, _size: Bytes, _answer: Bytes) {
        if self.lose_every.is_none_or(|n| number % n != n - 1) {
            let at = self.now + self.delay * i64::from(2 * hops);
            self.plan(at, Happening::Answered { number });
        }
    }

    fn wake(&mut self, at: Time, tag: u32) {
        self.plan(at, Happening::Woke { tag });
    }

    fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }
}

fn seconds(s: i64) -> Time {
    Time::from_ns(0) + Delta::secs(s)
}

#[test]
fn a_bulk_transfer_has_the_rate_of_the_network() {
    for direction in Direction::BOTH {
        let config = Config::Bulk(super::bulk::Params { direction });
        let metrics = Ideal::new(Delta::ms(20), Rate::mbps(8)).run(&config, seconds(50));
        assert!((metrics["goodput_bps"] - 8e6).abs() < 0.2e6, "{metrics:?}");
    }
}

#[test]
fn a_file_takes_two_delays_and_its_transmission() {
    let config = Config::Finite(super::finite::Params {
        size: Bytes::new(1_000_000),
        ..Default::default()
    });
    let metrics = Ideal::new(Delta::ms(20), Rate::mbps(8)).run(&config, seconds(50));
    assert!(
        (metrics["completion_ms"] - 1_040.3).abs() < 0.01,
        "{metrics:?}"
    );
    assert_eq!(metrics["unfinished"], 0.0);
}

#[test]
fn web_objects_load_in_the_time_of_their_mean_size_and_as_often_as_asked() {
    let config = Config::Web(Default::default());
    let metrics = Ideal::new(Delta::ms(20), Rate::mbps(8)).run(&config, seconds(5_000));
    // Mean of 8, 16, 32, 64 KiB is 30,720 bytes: 30.72 ms at 8 Mbit/s.
    assert!(
        (metrics["load_time_mean_ms"] - (40.3 + 30.72)).abs() < 1.0,
        "{metrics:?}"
    );
}

#[test]
fn a_page_loads_level_by_level() {
    let params = super::page::Params {
        levels: vec![1, 6, 12],
        object_size: Bytes::new(10_000),
        ..Default::default()
    };
    let metrics = Ideal::new(Delta::ms(20), Rate::mbps(8)).run(&Config::Page(params), seconds(60));
    // One object takes 0.3 + 40 + 10 ms, and on six connections there are four rounds.
    assert!(
        (metrics["page_load_mean_ms"] - 4.0 * 50.3).abs() < 0.01,
        "{metrics:?}"
    );
    assert_eq!(metrics["unfinished"], 0.0);
}

#[test]
fn an_interrupted_poisson_process_sends_its_share() {
    let always = super::onoff::Params {
        rate: Rate::mbps(1),
        ..Default::default()
    };
    let metrics =
        Ideal::new(Delta::ms(20), Rate::mbps(8)).run(&Config::OnOff(always.clone()), seconds(800));
    // 125 datagrams a second; the standard deviation of 100,000 is 316.
    assert!((metrics["sent"] - 100_000.0).abs() < 1_000.0, "{metrics:?}");

    let half = super::onoff::Params {
        on: Some(Delta::ms(50)),
        off: Delta::ms(50),
        ..always
    };
    let interrupted =
        Ideal::new(Delta::ms(20), Rate::mbps(8)).run(&Config::OnOff(half), seconds(800));
    assert!(
        (interrupted["sent"] - 50_000.0).abs() < 3_000.0,
        "{interrupted:?}"
    );
}

#[test]
fn pings_are_answered_after_both_delays_and_losses_are_counted() {
    let mut network = Ideal::new(Delta::ms(20), Rate::mbps(8));
    network.lose_every = Some(10);
    let metrics = network.run(
        &Config::Ping(Default::default()),
        Time::from_ns(0) + Delta::ms(9_950),
    );
    assert_eq!(metrics["rtt_p99_ms"], 40.0);
    // The last one, lost as well, could still be answered.
    assert_eq!(metrics["unanswered"], 9.0);
    assert_eq!(metrics["in_flight"], 1.0);
}

#[test]
fn every_hop_is_probed_in_turn_and_answers_after_its_own_round_trip() {
    let mut network = Ideal::new(Delta::ms(20), Rate::mbps(8));
    network.lose_every = Some(6);
    // Numbers 0 to 89, 30 for each hop; every second probe of the last hop is lost, number 89 at 8.9 s among them.
    let metrics = network.run(
        &Config::Traceroute(Default::default()),
        Time::from_ns(0) + Delta::ms(8_970),
    );
    for hop in 1..=3 {
        let get = |name: &str| metrics[&format!("hop{hop}_{name}")];
        for what in ["min", "mean", "p50", "p99"] {
            assert_eq!(get(&format!("rtt_{what}_ms")), f64::from(hop) * 40.0);
        }
    }
    let counts = |name: &str| [1, 2, 3].map(|hop| metrics[&format!("hop{hop}_{name}")]);
    assert_eq!(counts("unanswered"), [0.0, 0.0, 14.0]);
    // Of the second hop the one of 8.8 s is answered at 8.88 s.
    assert_eq!(counts("in_flight"), [0.0, 0.0, 1.0]);
}

#[test]
fn a_call_without_loss_is_rated_by_its_delay_and_loss_lowers_it() {
    let mut network = Ideal::new(Delta::ms(20), Rate::mbps(8));
    let clean = network.run(&Config::Voice(Default::default()), seconds(10));
    // Mouth to ear: 20 + 60 + 20 ms, below what costs anything.
    assert!((clean["mos"] - 4.41).abs() < 0.01, "{clean:?}");
    network = Ideal::new(Delta::ms(20), Rate::mbps(8));
    network.lose_every = Some(20);
    let lossy = network.run(&Config::Voice(Default::default()), seconds(10));
    assert!(
        (lossy["lost_share_down"] - 0.05).abs() < 0.005 && lossy["mos"] < 4.1,
        "{lossy:?}"
    );
}

#[test]
fn a_game_counts_late_ticks() {
    let metrics = Ideal::new(Delta::ms(120), Rate::mbps(8))
        .run(&Config::Game(Default::default()), seconds(5));
    assert_eq!(
        (metrics["lag_up_p50_ms"], metrics["late_share_up"]),
        (120.0, 1.0)
    );
}

#[test]
fn range_requests_come_at_their_period() {
    let metrics = Ideal::new(Delta::ms(20), Rate::mbps(8))
        .run(&Config::Ranges(Default::default()), seconds(100));
    // 1 MiB at 8 Mbit/s is 1,048.576 ms.
    assert!(
        (metrics["fetch_mean_ms"] - 1_088.876).abs() < 0.01,
        "{metrics:?}"
    );
}

#[test]
fn video_takes_the_highest_rate_that_fits_and_stalls_only_when_none_does() {
    let fast = Ideal::new(Delta::ms(20), Rate::mbps(4))
        .run(&Config::Video(Default::default()), seconds(400));
    assert_eq!(fast["stalls"], 0.0);
    // 0.8 of a little less than 4 Mbit/s allows the 3 Mbit/s rung.
    assert!((fast["bitrate_mean_bps"] - 3e6).abs() < 0.1e6, "{fast:?}");

    let slow = Ideal::new(Delta::ms(20), Rate::kbps(200))
        .run(&Config::Video(Default::default()), seconds(400));
    // Half of real time at the lowest rung: it stalls half of the time.
    assert!(
        slow["stalls"] > 10.0 && (slow["stalled_ms"] - 200e3).abs() < 12e3,
        "{slow:?}"
    );
}

#[test]
fn files_follow_each_other_after_a_pause() {
    for direction in Direction::BOTH {
        let config = Config::Transfers(super::transfers::Params {
            direction,
            size: Bytes::new(1_000_000),
            pause: Delta::ms(500),
        });
        let metrics = Ideal::new(Delta::ms(20), Rate::mbps(8)).run(&config, seconds(60));
        // One second, and the delay of one direction or of both.
        let [least, most] = [1_000.0, 1_060.0];
        assert!(
            (least..most).contains(&metrics["completion_p50_ms"]),
            "{metrics:?}"
        );
        assert!(metrics["unfinished"] <= 1.0);
    }
}

#[test]
fn connections_of_a_phone_go_on_until_the_end() {
    let config = Config::Browse(super::browse::Params {
        silent: 0.5,
        ..super::browse::Params::default()
    });
    let metrics = Ideal::new(Delta::ms(20), Rate::mbps(8)).run(&config, seconds(300));
    let p50 = metrics["load_time_p50_ms"];
    assert!((40.0..100.0).contains(&p50), "{metrics:?}");
    assert!(metrics["unfinished"] <= 5.0, "{metrics:?}");
}
