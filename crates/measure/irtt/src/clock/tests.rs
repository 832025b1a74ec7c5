//! Laws in virtual time: the delays are known, the clocks are wrong, what is found must be what was put in.

use super::*;
use crate::Clocks;
use crate::echo::Fate;
use unbloat_params::defaults;

const TEN_MS: i64 = 10_000_000;

defaults! {
    /// A path and two clocks.
    struct World {
        seconds: i64 = 30;
        drift_ppm: f64 = 0.0;
        /// From half of the time on.
        slewed_ppm: f64 = 0.0;
        /// Idle delays, ms.
        idle: [f64; 2] = [10.0, 10.0];
        /// Queueing delay in ms at a time in s, up and down.
        queue: Box<dyn Fn(f64) -> [f64; 2]> = Box::new(|_| [0.0, 0.0]);
        /// Largest random delay beyond these, us.
        jitter_us: f64 = 30.0;
        loss: f64 = 0.0;
    }
}

/// An echo and the queueing delays that it truly had, ms.
type Lived = (Echo, [f64; 2]);

impl World {
    fn live(&self) -> Vec<Lived> {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut lived = Vec::new();
        for seq in 0..self.seconds * 100 {
            let sent = seq * TEN_MS;
            let truth = (self.queue)(sent as f64 / 1e9);
            let mut delay = |k: usize| {
                let jitter = rng.f64() * self.jitter_us / 1e3;
                ((self.idle[k] + truth[k] + jitter) * 1e6) as i64
            };
            let there = sent + delay(0);
            let back = there + 20_000 + delay(1);
            if rng.f64() < self.loss {
                continue;
            }
            let at = |true_ns: i64| self.server_time(true_ns);
            lived.push((
                echo(seq as u32, sent, at(there), at(there + 20_000), back),
                truth,
            ));
        }
        lived
    }

    fn server_time(&self, true_ns: i64) -> Time {
        let after_half = (true_ns - self.seconds * 500_000_000).max(0);
        let gained = (true_ns as f64 * self.drift_ppm + after_half as f64 * self.slewed_ppm) * 1e-6;
        Time::from_ns(7_777_000_000_000 + true_ns + gained as i64)
    }

    /// The largest error of added delays beyond the jitter in ms, and the correction.
    fn error(&self) -> (f64, Correction) {
        let (worst, correction) = error_of(&self.live());
        ((worst - self.jitter_us / 1e3).max(0.0), correction)
    }
}

fn error_of(lived: &[Lived]) -> (f64, Correction) {
    let echoes: Vec<Echo> = lived.iter().map(|(echo, _)| *echo).collect();
    let correction = Correction::of(&echoes).unwrap();
    let errors = lived.iter().flat_map(|(echo, truth)| {
        let added = correction.added(echo).unwrap();
        [added.up.as_ms() - truth[0], added.down.as_ms() - truth[1]]
    });
    let worst = errors.fold(0.0, |worst: f64, e| worst.max(e.abs()));
    (worst, correction)
}

fn echo(seq: u32, sent: i64, there: Time, leaves: Time, back: i64) -> Echo {
    let clocks = |ns: i64| Clocks {
        wall: Time::from_ns(ns),
        mono: Time::from_ns(ns),
    };
    let stamp = |time: Time| Stamp {
        wall: Some(time),
        mono: Some(time),
    };
    Echo {
        seq,
        sent: clocks(sent),
        received: Some(clocks(back)),
        server_received: stamp(there),
        server_sent: stamp(leaves),
        fate: Fate::Answered,
        late: false,
        duplicates_up: 0,
        duplicates_down: 0,
        received_count: Some(seq + 1),
    }
}

/// Idle, download, pause, upload, pause, both: as a test does. Sawtooth queues that stand and never empty under load.
fn stages(t: f64) -> [f64; 2] {
    let saw = |top: f64| top * (0.6 + 0.4 * (t * 1.7).fract());
    match t {
        3.0..12.0 => [0.0, saw(160.0)],
        13.0..21.0 => [saw(240.0), 0.0],
        22.0..28.0 => [saw(240.0), saw(160.0)],
        _ => [0.0, 0.0],
    }
}

#[test]
fn added_delay_is_found_at_any_drift_within_its_bound() {
    for drift_ppm in [-400.0, -200.0, -20.0, 0.0, 1.0, 50.0, 200.0, 400.0] {
        let world = World {
            drift_ppm,
            queue: Box::new(stages),
            ..World::default()
        };
        let (worst, correction) = world.error();
        assert!(worst < 0.15, "{drift_ppm} ppm: {worst} ms");
        assert!(correction.error() < Delta::us(400), "{:?}", correction);
        assert!(
            worst <= correction.error().as_ms(),
            "{worst} {correction:?}"
        );
        let off = (correction.drift - drift_ppm * 1e-6).abs();
        assert!(off <= correction.drift_error, "{off} {correction:?}");
    }
}

#[test]
fn added_delay_does_not_depend_on_how_long_the_idle_path_is_each_way() {
    for idle in [[10.0, 10.0], [45.0, 5.0], [2.0, 300.0]] {
        let world = World {
            drift_ppm: 200.0,
            idle,
            queue: Box::new(stages),
            ..World::default()
        };
        let (worst, correction) = world.error();
        assert!(worst < 0.15, "{idle:?}: {worst} ms");
        let rtt = idle[0] + idle[1];
        assert!((correction.idle_rtt().as_ms() - rtt).abs() < 0.15);
    }
}

#[test]
fn absolute_delays_are_right_if_the_idle_path_is_symmetric() {
    let world = World {
        drift_ppm: -100.0,
        queue: Box::new(stages),
        ..World::default()
    };
    let lived = world.live();
    let (_, correction) = error_of(&lived);
    for (echo, truth) in lived {
        let one_way = correction.one_way(&echo).unwrap();
        assert!((one_way.up.as_ms() - 10.0 - truth[0]).abs() < 0.15);
        assert!((one_way.down.as_ms() - 10.0 - truth[1]).abs() < 0.15);
    }
}

#[test]
fn one_direction_that_stays_idle_is_enough_when_the_other_never_is() {
    let world = World {
        drift_ppm: 200.0,
        queue: Box::new(|t| [if t < 0.5 { 0.0 } else { 50.0 + 5.0 * t }, 0.0]),
        ..World::default()
    };
    let (worst, correction) = world.error();
    assert!(worst < 0.15, "{worst} ms");
    assert!(worst <= correction.error().as_ms());
}

#[test]
fn without_any_idle_time_the_least_queue_counts_as_path_and_drift_is_found_nevertheless() {
    let world = World {
        drift_ppm: 200.0,
        queue: Box::new(|t| {
            [
                30.0 + 50.0 * (t * 0.7).fract(),
                20.0 + 40.0 * (t * 0.9).fract(),
            ]
        }),
        ..World::default()
    };
    let (worst, correction) = world.error();
    assert!((29.0..31.0).contains(&worst), "{worst}");
    assert!((correction.drift - 200e-6).abs() <= correction.drift_error);
}

#[test]
fn queues_that_grow_alike_in_both_directions_are_no_drift_and_the_doubt_is_told() {
    let world = World {
        queue: Box::new(|t| [5.0 * t, 5.0 * t]),
        ..World::default()
    };
    let (worst, correction) = world.error();
    assert!(correction.error() > Delta::ms(25), "{correction:?}");
    assert!(
        worst <= correction.error().as_ms(),
        "{worst} {correction:?}"
    );
}

#[test]
fn a_route_that_changes_is_added_delay_from_then_on() {
    let world = World {
        drift_ppm: -200.0,
        queue: Box::new(|t| {
            [
                if t < 15.0 { 0.0 } else { 12.0 },
                if t < 15.0 { 0.0 } else { 7.0 },
            ]
        }),
        ..World::default()
    };
    let (worst, correction) = world.error();
    // Both ways are longer from then on: what one line under the early half and one under the later half allow is in doubt.
    assert!(
        worst <= correction.error().as_ms(),
        "{worst} {correction:?}"
    );
}

#[test]
fn loss_and_jitter_cost_little() {
    let world = World {
        drift_ppm: 200.0,
        queue: Box::new(stages),
        jitter_us: 2_000.0,
        loss: 0.3,
        ..World::default()
    };
    let (worst, correction) = world.error();
    assert!(worst < 0.6, "{worst} {correction:?}");
    assert!(
        worst <= correction.error().as_ms(),
        "{worst} {correction:?}"
    );
}

#[test]
fn a_step_of_a_wall_clock_changes_nothing_where_there_are_monotonic_ones() {
    let world = World {
        drift_ppm: 30.0,
        queue: Box::new(stages),
        ..World::default()
    };
    let mut lived = world.live();
    for (echo, _) in lived.iter_mut().skip(1_000) {
        for stamp in [&mut echo.server_received, &mut echo.server_sent] {
            stamp.wall = stamp.wall.map(|at| at - Delta::secs(3600));
        }
        echo.sent.wall += Delta::ms(700);
    }
    let (worst, _) = error_of(&lived);
    assert!(worst < 0.15, "{worst} ms");
}

#[test]
fn a_clock_that_is_slewed_during_the_test_is_told_by_the_error() {
    for slewed_ppm in [-500.0, -50.0, 50.0, 500.0] {
        let world = World {
            slewed_ppm,
            queue: Box::new(stages),
            ..World::default()
        };
        let (worst, correction) = world.error();
        assert!(worst > slewed_ppm.abs() * 1e-3, "{worst}");
        assert!(
            worst <= correction.error().as_ms(),
            "{worst} {correction:?}"
        );
    }
}

/// Idle, then each direction and both loaded in turn by saws of any height that may empty, with pauses; any drift, jitter, loss.
fn any_world(rng: &mut fastrand::Rng) -> World {
    let mut between = |low: f64, high: f64| low + (high - low) * rng.f64();
    let (idle, stage) = (between(1.0, 3.0), between(3.0, 8.0));
    let (tops, rates) = (
        [between(2.0, 500.0), between(2.0, 500.0)],
        [between(0.2, 5.0), between(0.2, 5.0)],
    );
    let least = between(0.0, 0.9);
    let saw = move |k: usize, t: f64| {
        let phase = (t * rates[k]).fract();
        tops[k] * (least + (1.0 - least) * phase)
    };
    let queue = move |t: f64| {
        let into = t - idle;
        let turn = (into / (stage + 0.5)).floor();
        let is_pause = into < 0.0 || into - turn * (stage + 0.5) > stage;
        let loads = match turn as i64 {
            _ if is_pause => [false, false],
            0 => [false, true],
            1 => [true, false],
            2 => [true, true],
            _ => [false, false],
        };
        [0, 1].map(|k| if loads[k] { saw(k, t) } else { 0.0 })
    };
    World {
        seconds: (idle + 3.0 * stage + 3.0) as i64,
        drift_ppm: between(-400.0, 400.0),
        idle: [between(0.1, 100.0), between(0.1, 100.0)],
        jitter_us: between(5.0, 2_000.0),
        loss: between(0.0, 0.3),
        slewed_ppm: 0.0,
        queue: Box::new(queue),
    }
}

#[test]
fn in_any_world_the_error_is_within_its_bound_and_the_bound_is_small() {
    let mut rng = fastrand::Rng::with_seed(17);
    for number in 0..60 {
        let world = any_world(&mut rng);
        let (worst, correction) = world.error();
        let bound = correction.error().as_ms();
        assert!(worst <= bound, "{number}: {worst} {correction:?}");
        assert!(
            bound < 0.1 + world.jitter_us / 1e3,
            "{number}: {bound} {correction:?}"
        );
    }
}

#[test]
fn one_time_read_wrong_moves_nothing() {
    let world = World {
        drift_ppm: 100.0,
        queue: Box::new(stages),
        ..World::default()
    };
    let mut lived = world.live();
    // It came 30 ms sooner than anything can.
    let wrong = &mut lived[1_234].0;
    for stamp in [&mut wrong.server_received, &mut wrong.server_sent] {
        stamp.mono = stamp.mono.map(|at| at - Delta::ms(30));
    }
    let all: Vec<Echo> = lived.iter().map(|(echo, _)| *echo).collect();
    let correction = Correction::of(&all).unwrap();
    for (echo, truth) in lived.iter().filter(|(echo, _)| echo.seq != 1_234) {
        let added = correction.added(echo).unwrap();
        assert!((added.up.as_ms() - truth[0]).abs() < 0.15);
        assert!((added.down.as_ms() - truth[1]).abs() < 0.15);
    }
}

#[test]
fn too_few_or_contradictory_times_give_no_correction() {
    let world = World::default();
    let echoes: Vec<Echo> = world.live().iter().map(|(echo, _)| *echo).collect();
    assert_eq!(Correction::of(&echoes[..5]), None);
    let liar = |echo: &Echo| Echo {
        server_sent: Stamp {
            wall: None,
            mono: Some(Time::MAX),
        },
        ..*echo
    };
    let lies: Vec<Echo> = echoes.iter().map(liar).collect();
    assert_eq!(Correction::of(&lies), None);
}

#[test]
fn any_times_at_all_are_survived() {
    let mut rng = fastrand::Rng::with_seed(3);
    let extremes = [i64::MIN, -1, 0, 1, i64::MAX];
    for _ in 0..200 {
        let mut time = || match rng.u8(..4) {
            0 => extremes[rng.usize(..5)],
            1 => rng.i64(..),
            _ => rng.i64(0..1_000_000_000),
        };
        let echoes: Vec<Echo> = (0..40)
            .map(|seq| {
                let (there, leaves) = (Time::from_ns(time()), Time::from_ns(time()));
                echo(seq, time(), there, leaves, time())
            })
            .collect();
        if let Some(correction) = Correction::of(&echoes) {
            let _ = (correction.error(), correction.idle_rtt());
            for echo in &echoes {
                let _ = correction.one_way(echo);
            }
        }
    }
}
