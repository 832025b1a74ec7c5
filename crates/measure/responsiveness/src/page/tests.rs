use super::*;
use crate::verdict::Kind;
use unbloat_units::Rate;

const INTERVAL_MS: f64 = 20.0;

/// Idle 4 s, then 7 s of each load; a message takes what `rtt` says of its time and lane.
fn run(rtt: impl Fn(f64, u16) -> f64) -> PageRun {
    let stage = |name, start_ms, end_ms| PageStage {
        name,
        start_ms,
        end_ms,
    };
    let samples = (0..1250u16).map(|k| {
        let sent = f64::from(k) * INTERVAL_MS;
        (k % 8, sent, rtt(sent, k % 8))
    });
    let line = |bps: f64| {
        (0..=500)
            .map(|k| (f64::from(k) * 50.0, f64::from(k) * 50.0 * bps / 8e3))
            .collect()
    };
    PageRun {
        stages: vec![
            stage(PageLoad::Idle, 0.0, 4_000.0),
            stage(PageLoad::Down, 4_000.0, 11_000.0),
            stage(PageLoad::Up, 11_000.0, 18_000.0),
            stage(PageLoad::Both, 18_000.0, 25_000.0),
        ],
        samples: samples.collect(),
        unanswered: Vec::new(),
        down: line(20e6),
        up: line(5e6),
        round_trips: Vec::new(),
        watched: Watched {
            lanes: 8,
            interval_ms: INTERVAL_MS,
            connections: 16,
            ..Watched::default()
        },
    }
}

/// 100 ms added by downloads and 400 by uploads.
fn bloated() -> PageRun {
    run(|sent, _| match sent {
        ..4_000.0 => 20.0,
        ..11_000.0 => {
            if sent < 6_000.0 {
                999.0
            } else {
                120.0
            }
        }
        ..18_000.0 => {
            if sent < 13_000.0 {
                999.0
            } else {
                420.0
            }
        }
        _ => 520.0,
    })
}

#[test]
fn messages_are_on_the_line_with_their_headers_and_acknowledgments() {
    let found = judge_page(&bloated());
    // 50 a second, of 32 bytes down and 36 up.
    for (of, load_kbps, bytes, headers) in [(0, 20_000.0, 32.0, 52.0), (1, 5_000.0, 36.0, 104.0)] {
        let payload = load_kbps + 50.0 * 8e-3 * bytes;
        let line = payload * 1500.0 / 1448.0 + 50.0 * 8e-3 * headers;
        let said = found.verdict.directions[of].line.as_bps_f64() / 1e3;
        assert!((said / line - 1.0).abs() < 1e-3, "{said} {line}");
    }
}

#[test]
fn the_page_gets_the_verdict_of_the_same_code() {
    let found = judge_page(&bloated());
    assert_eq!(
        found.verdict.headline,
        "Bufferbloat: grade F. Uploads add 400 ms, downloads 100 ms; calls break up while someone uploads."
    );
    assert_eq!(
        found.verdict.advice[0].text,
        verdict(found.verdict.directions.clone(), Vec::new()).advice[0].text
    );
    assert_eq!(
        found.verdict.of(Direction::Up).unwrap().delivered,
        // And 50 messages a second of 36 bytes.
        Rate::bps(5_014_400)
    );
    assert_eq!(found.verdict.doubts, []);
    assert_eq!(found.summary.base, Some(Delta::ms(20)));
    let clean = judge_page(&run(|_, _| 21.0));
    assert_eq!(
        (clean.verdict.kind, clean.verdict.grade.as_deref()),
        (Kind::Clean, Some("A+"))
    );
}

#[test]
fn the_ramp_does_not_count_and_less_than_idle_is_no_added_delay() {
    let found = judge_page(&run(|sent, _| if sent < 4_000.0 { 20.0 } else { 15.0 }));
    let down = &found.summary.stages[1];
    assert_eq!(
        (down.seconds, down.samples, down.p95()),
        (5.0, 250, Some(Delta::ZERO))
    );
}

#[test]
fn what_a_lost_packet_held_back_in_one_lane_is_left_out() {
    let one_lane = |sent: f64, lane: u16| {
        let is_stuck = lane == 3 && (7_000.0..7_500.0).contains(&sent);
        if is_stuck { 8_000.0 - sent } else { 20.0 }
    };
    let found = judge_page(&run(one_lane));
    let down = &found.summary.stages[1];
    assert!(
        down.held >= 3 && down.p95() == Some(Delta::ZERO),
        "{down:?}"
    );
    // A path that stands still as a whole holds all lanes.
    let pause = |sent: f64, _| {
        if (7_000.0..8_000.0).contains(&sent) {
            8_020.0 - sent
        } else {
            20.0
        }
    };
    assert_eq!(judge_page(&run(pause)).summary.stages[1].held, 0);
}

#[test]
fn where_most_lanes_wait_for_retransmissions_the_queue_is_not_told() {
    // Half of the lanes stand still, in turns.
    let many = |sent: f64, lane: u16| {
        let turn = (sent / 1_750.0) as u16;
        let is_stuck = (4_000.0..11_000.0).contains(&sent) && (lane + turn) % 8 < 4;
        if is_stuck {
            1_750.0 * f64::from(turn + 1) + 20.0 - sent
        } else {
            20.0
        }
    };
    let verdict = judge_page(&run(many)).verdict;
    assert_eq!((verdict.kind, verdict.grade), (Kind::Unknown, None));
    assert!(
        verdict.headline.contains("retransmissions"),
        "{}",
        verdict.headline
    );
}

type Change = fn(&mut PageRun);

#[test]
fn what_makes_a_run_worthless_takes_the_grade_away_and_lesser_doubts_do_not() {
    let with = |change: Change| {
        let mut run = bloated();
        change(&mut run);
        judge_page(&run).verdict
    };
    let fatal: [Change; 6] = [
        // The browser stood still for two thirds of the idle stage.
        |run| run.samples.retain(|sample| sample.1 > 2_700.0),
        |run| run.watched.hidden_ms = 4_000.0,
        |run| run.watched.late_p95_ms = 80.0,
        |run| run.watched.network_changed = true,
        |run| run.up.iter_mut().for_each(|reading| reading.1 = 0.0),
        |run| run.samples.retain(|sample| sample.1 < 4_000.0),
    ];
    for change in fatal {
        let verdict = with(change);
        assert!(
            verdict.grade.is_none() && verdict.kind == Kind::Unknown,
            "{verdict:?}"
        );
    }
    let lesser: [(Change, &str); 4] = [
        (|run| run.watched.late_p95_ms = 20.0, "busy"),
        (
            |run| run.watched.lanes_lost = 1,
            "connections that measure delay",
        ),
        (
            |run| run.watched.limit_bps = Some(21e6),
            "server's own limit",
        ),
        (
            |run| run.watched.failures = vec!["429".into(), "429".into()],
            "429",
        ),
    ];
    for (change, word) in lesser {
        let verdict = with(change);
        assert_eq!(verdict.kind, Kind::Bloated, "{word}");
        assert!(
            verdict
                .doubts
                .iter()
                .any(|doubt| doubt.reason.contains(word)),
            "{verdict:?}"
        );
    }
    let growing = judge_page(&run(|sent, _| 20.0 + (sent - 11_000.0).max(0.0) / 20.0));
    assert!(
        growing
            .verdict
            .doubts
            .iter()
            .any(|doubt| doubt.reason.contains("still grew"))
    );
}

#[test]
fn a_rate_that_changes_is_not_steady() {
    let mut run = bloated();
    for (at, bytes) in &mut run.up {
        // 1 Mbit/s and 9 Mbit/s, second by second.
        let (whole, part) = ((*at / 1e3).floor(), *at % 1e3);
        let fast = (whole / 2.0).floor();
        let rate = if whole % 2.0 == 1.0 { 9.0 } else { 1.0 };
        *bytes = ((fast * 9.0 + (whole - fast) * 1.0) * 1e3 + part * rate) * 125.0;
    }
    let verdict = judge_page(&run).verdict;
    assert!(!verdict.of(Direction::Up).unwrap().is_steady);
    assert!(verdict.of(Direction::Down).unwrap().is_steady);
}

#[test]
fn a_rate_that_changes_within_a_second_is_not_steady_where_a_queue_stands() {
    let with = |run: &mut PageRun| {
        for (at, bytes) in &mut run.up {
            // 3 and 7 Mbit/s by half seconds: every second is like the other.
            let (whole, part) = ((*at / 1e3).floor(), *at % 1e3);
            *bytes = (whole * 5e3 + part * 3.0 + (part - 500.0).max(0.0) * 4.0) * 125.0;
        }
        let verdict = judge_page(run).verdict;
        verdict.of(Direction::Up).unwrap().is_steady
    };
    assert!(!with(&mut bloated()));
    // Without a queue it is TCP that varies.
    assert!(with(&mut run(|_, _| 20.0)));
}

#[test]
fn hostile_input_is_judged_without_a_panic() {
    let texts = [
        r#"{"stages":[],"samples":[],"unanswered":[],"down":[],"up":[],"watched":{"hidden_ms":0,"late_p95_ms":0,"failures":[],"lanes":0,"lanes_lost":0,"interval_ms":0,"network_changed":false,"connections":0,"congestion_control":null,"limit_bps":null}}"#,
        r#"{"stages":[{"name":"idle","start_ms":1e308,"end_ms":-1e308},{"name":"down","start_ms":-1e308,"end_ms":1e308}],"samples":[[0,1e308,1e308],[1,-1e308,1e308]],"unanswered":[1e308],"down":[[0,0],[0,1e308],[1e308,1e308]],"up":[[5,5],[1,1]],"watched":{"hidden_ms":0,"late_p95_ms":0,"failures":[],"lanes":4294967295,"lanes_lost":0,"interval_ms":1e-300,"network_changed":false,"connections":0,"congestion_control":null,"limit_bps":-1}}"#,
    ];
    for text in texts {
        let run: PageRun = serde_json::from_str(text).unwrap();
        let found = judge_page(&run);
        assert!(serde_json::to_string(&found).is_ok());
    }
}

#[test]
fn a_queue_that_stood_before_is_not_the_baseline() {
    // Somebody downloads all the time; his queue runs empty once between two loads.
    let judged = judge_page(&run(|sent, _| match sent {
        10_900.0..11_100.0 => 30.0,
        _ => 190.0,
    }));
    assert_eq!(judged.summary.base, Some(Delta::ms(30)));
    assert_eq!(judged.verdict.grade.as_deref(), Some("C"));
    let doubts = &judged.verdict.doubts;
    assert!(
        doubts
            .iter()
            .any(|doubt| doubt.reason.contains("160 ms stood before")),
        "{doubts:?}"
    );
}

#[test]
fn what_single_lanes_wait_for_is_not_the_queue() {
    // Every third answer waits for a retransmission or for a busy browser, in any lane.
    let judged = judge_page(&run(|sent, lane| match (sent / 20.0) as u64 % 3 {
        0 if sent > 4_000.0 => 55.0 + f64::from(lane),
        _ => 20.0,
    }));
    assert_eq!(judged.verdict.grade.as_deref(), Some("A+"));
}

/// What the server's kernel measures during the download: 18 ms and what `added_ms` is.
fn kernel(added_ms: f64) -> Vec<(f64, f64)> {
    let times = (0..100).map(|k| 4_000.0 + f64::from(k) * 70.0);
    let of = |at| if at < 6_000.0 { 18.0 } else { 18.0 + added_ms };
    times.map(|at| (at, of(at))).collect()
}

#[test]
fn messages_that_wait_in_the_browser_and_not_on_the_path_give_no_grade() {
    let doubt_at = |added_ms| {
        let found = judge_page(&PageRun {
            round_trips: kernel(added_ms),
            ..bloated()
        });
        let doubts = found.verdict.doubts.into_iter();
        let fatal = doubts
            .filter(|doubt| doubt.is_fatal)
            .map(|doubt| doubt.reason);
        fatal.collect::<Vec<_>>()
    };
    // Messages say 100 ms.
    assert!(
        doubt_at(12.0)[0].contains("88 ms longer"),
        "{:?}",
        doubt_at(12.0)
    );
    assert_eq!(doubt_at(90.0), Vec::<String>::new());
    // A load with a queue of its own waits longer than others.
    assert_eq!(doubt_at(400.0), Vec::<String>::new());
}

/// Another keeps the queue filled until the load is reset, so that no round trip of the load is that of the empty path.
#[test]
fn a_floor_that_only_messages_met_is_the_kernel_s_too() {
    let mut shared = run(|sent, _| match sent {
        ..4_000.0 => 210.0,
        ..25_000.0 => 250.0,
        _ => 0.0,
    });
    shared
        .samples
        .extend((0..8).map(|lane| (lane, 25_500.0, 30.0)));
    shared.round_trips = (0..500).map(|k| (f64::from(k) * 50.0, 245.0)).collect();
    let found = judge_page(&shared);
    assert_eq!(
        found.verdict.fatal().collect::<Vec<_>>(),
        Vec::<&str>::new()
    );
    assert_eq!(found.summary.base, Some(Delta::ms(30)));
    assert_eq!(
        found.verdict.of(Direction::Up).unwrap().added,
        Delta::ms(220)
    );
}
