use super::*;
use crate::place::Located;
use crate::place::Place;
use unbloat_units::Rate;

pub(crate) fn load(direction: Direction, added_ms: i64) -> LoadedDirection {
    LoadedDirection {
        direction,
        delivered: Rate::mbps(10),
        line: Rate::kbps(10_360),
        is_steady: true,
        added: Delta::ms(added_ms),
        added_p95: Delta::ms(added_ms + added_ms / 10),
        idle_rtt: Delta::ms(20),
        unsent: None,
        is_starved: false,
        located: None,
    }
}

fn both(down_ms: i64, up_ms: i64) -> Verdict {
    let loads = vec![load(Direction::Down, down_ms), load(Direction::Up, up_ms)];
    verdict(loads, Vec::new())
}

#[test]
fn the_headline_says_grade_directions_amounts_and_who_feels_it() {
    assert_eq!(
        both(177, 778).headline,
        "Bufferbloat: grade F. Uploads add 778 ms, downloads 177 ms; calls break up while someone uploads."
    );
    assert_eq!(
        both(220, 180).headline,
        "Bufferbloat: grade D. Downloads add 220 ms, uploads 180 ms; calls and games suffer while someone downloads or uploads."
    );
    assert_eq!(
        both(3, 45).headline,
        "Slight bufferbloat: grade B. Uploads add 45 ms, downloads 3.0 ms; games lag while someone uploads."
    );
}

#[test]
fn the_grade_is_the_worse_directions_and_never_a_mean() {
    // Their mean is 20 ms, an A.
    let verdict = both(1, 39);
    assert_eq!(
        (verdict.kind, verdict.grade.as_deref()),
        (Kind::Slight, Some("B"))
    );
    let one = self::verdict(vec![load(Direction::Up, 240)], Vec::new());
    assert_eq!(one.grade.as_deref(), Some("D"));
    assert!(one.headline.contains("the other direction was not tested"));
}

#[test]
fn short_queues_are_no_bufferbloat_even_a_little_below_zero() {
    let verdict = both(12, -1);
    assert_eq!(
        verdict.headline,
        "No bufferbloat: grade A. Downloads add 12 ms, uploads 0.0 ms; nobody notices."
    );
    assert_eq!(verdict.kind, Kind::Clean);
}

#[test]
fn a_run_that_means_nothing_has_no_grade_and_says_why() {
    let doubt = Doubt {
        is_fatal: true,
        reason: "5 % of the probes left late".to_owned(),
    };
    let verdict = verdict(vec![load(Direction::Up, 900)], vec![doubt]);
    assert_eq!((verdict.kind, &verdict.grade), (Kind::Unknown, &None));
    assert_eq!(verdict.headline, "No verdict: 5 % of the probes left late.");
    assert!(
        self::verdict(Vec::new(), Vec::new())
            .headline
            .starts_with("No verdict")
    );
}

#[test]
fn places_are_named_for_directions_that_are_felt() {
    let at = |place| {
        Some(Located {
            place,
            between: "between hop 1 and hop 2".to_owned(),
        })
    };
    let up = LoadedDirection {
        located: at(Place::AccessLine),
        ..load(Direction::Up, 400)
    };
    let down = LoadedDirection {
        located: at(Place::LocalNetwork),
        ..load(Direction::Down, 4)
    };
    assert_eq!(
        verdict(vec![down, up], Vec::new()).places,
        ["The queue of uploads is on the access line, between hop 1 and hop 2."]
    );
}

#[test]
fn what_is_written_is_what_is_read() {
    let verdict = both(177, 778);
    let text = serde_json::to_string(&verdict).unwrap();
    assert!(text.contains(r#""added_ms":778.0"#), "{text}");
    assert_eq!(serde_json::from_str::<Verdict>(&text).unwrap(), verdict);
    let damaged = text.replace(r#""added_ms":778.0"#, r#""added_ms":1e300"#);
    assert!(serde_json::from_str::<Verdict>(&damaged).is_err());
}

#[test]
fn what_is_watched_has_the_words_of_what_is_tested() {
    assert_eq!(
        watched(Place::Qdisc, "eth0", Delta::ms(240)),
        "Bufferbloat in this host's queue discipline (eth0): packets wait 240 ms on average; calls and games suffer while this lasts."
    );
    assert_eq!(
        watched(Place::Driver, "wlan0", Delta::us(400)),
        "No bufferbloat in this host's network driver (wlan0): packets wait 0.4 ms on average; nobody notices."
    );
}
