//! Two made-up weeks of `unbloat monitor`: uploads every evening, a worse line in the second week, and all other kinds of records.

use unbloat_html::MonitorPage;
use unbloat_monitor::{Culprit, Delay, Event, EventKind, LayerDelay, NetworkDelay, Probe, Record};
use unbloat_summary::VerdictKind;
use unbloat_units::{Delta, Direction};

/// 2026-11-24, 22:00 UTC.
const NOW_NS: i64 = 20_781 * 86_400_000_000_000 + 22 * HOUR_NS;
const HOUR_NS: i64 = 3_600_000_000_000;
const DAY_NS: i64 = 24 * HOUR_NS;
const MINUTE_NS: i64 = HOUR_NS / 60;

/// Between 0 and 1, the same for every call.
fn noise(at: i64) -> f64 {
    let mixed = (at as u64)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(31)
        .wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 11) as f64 / (1u64 << 53) as f64
}

/// A queue of the evening's backup, 20:00 to 20:40; 240 ms in the first week, 410 ms in the second.
fn is_backup(at_ns: i64) -> bool {
    let minute = at_ns / MINUTE_NS % 1_440;
    (1_200..1_240).contains(&minute)
}

fn delay(at_ns: i64, span_ns: i64, direction: Direction) -> Record {
    let is_late = at_ns > NOW_NS - 7 * DAY_NS;
    let queue = match (direction, is_backup(at_ns)) {
        (Direction::Up, true) if is_late => 410.0,
        (Direction::Up, true) => 240.0,
        _ => 0.0,
    };
    let sustained = queue + 8.0 * noise(at_ns / MINUTE_NS + direction as i64);
    let is_night = (2..6).contains(&(at_ns / HOUR_NS % 24));
    Record::Delay(Delay {
        start_ns: at_ns,
        span_ms: span_ns as u64 / 1_000_000,
        direction,
        verdict: if queue > 0.0 {
            VerdictKind::Bloated
        } else {
            VerdictKind::Clean
        },
        standing_s: if queue > 0.0 {
            span_ns as f64 / 1e9
        } else {
            0.0
        },
        loaded_s: if is_night {
            0.0
        } else {
            0.4 * span_ns as f64 / 1e9
        },
        sustained_ms: (!is_night).then_some(sustained),
        standing_p50_ms: (queue > 0.0).then_some(0.8 * queue),
        standing_p95_ms: (queue > 0.0).then_some(queue),
        peak_bps: Some(9.4e6),
        flows: 12,
    })
}

fn delays(from_ns: i64, span_ns: i64) -> Vec<Record> {
    let starts = (from_ns..NOW_NS).step_by(span_ns as usize);
    let both = starts.flat_map(|at| Direction::BOTH.map(|way| delay(at, span_ns, way)));
    both.collect()
}

fn event(kind: EventKind, at_ns: i64, text: &str) -> Event {
    Event::other(kind, at_ns, text.to_owned())
}

fn episode(evening: i64) -> Record {
    let start_ns = (NOW_NS / DAY_NS - evening) * DAY_NS + 20 * HOUR_NS;
    let culprit = |client: &str, server: &str, share| Culprit {
        client: client.to_owned(),
        server: server.to_owned(),
        server_port: 443,
        process: None,
        share,
    };
    Record::Event(Event {
        end_ns: start_ns + 40 * MINUTE_NS,
        is_over: true,
        direction: Some(Direction::Up),
        standing_s: Some(2_310.0),
        p50_ms: Some(if evening < 7 { 330.0 } else { 190.0 }),
        p95_ms: Some(if evening < 7 { 410.0 } else { 240.0 }),
        place: Some("beyond_capture_point".to_owned()),
        culprits: vec![
            culprit("192.168.1.34", "backup.example.net", 0.86),
            culprit("2001:db8:1:2:3:4:5:6", "2001:db8:ffff::1", 0.09),
        ],
        waiting: vec!["203.0.113.0/24".to_owned(), "2001:db8:ffff::/48".to_owned()],
        layer: Some("qdisc 3.1".to_owned()),
        ..event(EventKind::Episode, start_ns, "")
    })
}

pub fn page() -> MonitorPage {
    let mut coarse = delays(NOW_NS - 14 * DAY_NS, 10 * MINUTE_NS);
    coarse.extend((0..14).map(episode));
    coarse.extend((0..30).map(|number| {
        Record::Network(NetworkDelay {
            start_ns: NOW_NS - (number + 1) * HOUR_NS,
            span_ms: 600_000,
            direction: Direction::BOTH[number as usize % 2],
            network: format!("198.51.{number}.0/24"),
            flows: 3,
            measured_s: 550.0,
            standing_s: 20.0 * noise(number),
            sustained_ms: Some(300.0 * noise(number)),
        })
    }));
    coarse.push(Record::Layer(LayerDelay {
        start_ns: NOW_NS - HOUR_NS,
        span_ms: 600_000,
        layer: "qdisc".to_owned(),
        mean_ms: 3.1,
        p95_ms: Some(8.0),
        is_measured: true,
    }));
    let probe = |hour: i64, error: Option<&str>| {
        let measured = |value| error.is_none().then_some(value);
        Record::Probe(Probe {
            start_ns: NOW_NS - hour * HOUR_NS,
            server: "test.example.net".to_owned(),
            error: error.map(str::to_owned),
            grade: error.is_none().then(|| "D".to_owned()),
            added_down_ms: measured(31.0),
            added_up_ms: measured(388.0),
            down_bps: measured(48.2e6),
            up_bps: measured(9.3e6),
            bytes: 41_000_000,
        })
    };
    let why = "cannot connect to 203.0.113.9:4043: Connection refused (os error 111); is `unbloat serve` running there, and is the port open?";
    coarse.extend([probe(2, None), probe(8, Some(why))]);
    let gone = NOW_NS - 3 * DAY_NS;
    let others = [
        event(EventKind::Started, NOW_NS - 14 * DAY_NS, "interface wan0"),
        event(EventKind::InterfaceLost, gone, "wan0 is down"),
        event(
            EventKind::InterfaceBack,
            gone + MINUTE_NS,
            "wan0 is up, with another index",
        ),
        event(
            EventKind::ClockStep,
            gone + 2 * MINUTE_NS,
            "the wall clock was set forward by 3,600 s",
        ),
    ];
    coarse.extend(others.map(Record::Event));
    MonitorPage {
        interface: "wan0".to_owned(),
        now_ns: NOW_NS,
        fine: delays(NOW_NS - Delta::secs(86_400).as_ns(), MINUTE_NS),
        coarse,
    }
}
