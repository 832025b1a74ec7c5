//! The path in virtual time.

use super::*;
use crate::core::tests::{segment, segment_with_timestamps};
use unbloat_units::Rate;

const START: Time = Time::from_ns(1_000_000_000);

fn at_ms(ms: i64) -> Time {
    START + Delta::ms(ms)
}

fn delay(ms: i64) -> Impairment {
    Impairment {
        delay: Delta::ms(ms),
        ..Impairment::default()
    }
}

/// 12 Mbit/s (1500 bytes per ms) both ways, 20 ms to the monitor, 15 ms beyond.
fn params(clients: usize) -> PathParams {
    let link = AccessLink {
        down: RateSchedule::constant(Rate::mbps(12)),
        up: RateSchedule::constant(Rate::mbps(12)),
        down_queue: Bytes::new(15_000),
        up_queue: Bytes::new(15_000),
    };
    PathParams {
        clients: vec![link; clients],
        wan_down: delay(20),
        wan_up: delay(20),
        access_down: delay(15),
        access_up: delay(15),
        radio: None,
        client_tick_ms: 1,
    }
}

/// What was seen, as `(when in ms, what, sequence number)`.
#[derive(Default)]
struct Seen(Vec<(f64, &'static str, u32)>);

impl Observer for Seen {
    fn event(&mut self, at: Time, event: Event<'_>) {
        let (what, packet) = match event {
            Event::Monitored(packet) => ("monitored", packet),
            Event::Dropped(place, packet) => (place.name(), packet),
            Event::Reordered { packet, .. } => ("reordered", packet),
            Event::Promoted { packet, .. } => ("promoted", packet),
            Event::Delivered(packet) => ("delivered", packet),
            Event::Carried(_) | Event::Queue { .. } => return,
        };
        self.0.push((at.since(START).as_ms(), what, packet.seq));
    }
}

fn times(seen: &Seen, wanted: &str) -> Vec<f64> {
    let rows = seen.0.iter().filter(|(_, what, _)| *what == wanted);
    rows.map(|(ms, _, _)| *ms).collect()
}

#[test]
fn a_packet_passes_monitor_queue_and_air_at_its_logical_times() {
    let mut path = Path::new(&params(1), START, 1);
    let mut seen = Seen::default();
    for seq in [1, 2] {
        path.accept(START, segment(Direction::Down, 0, seq, 1448), &mut seen);
    }
    path.advance(at_ms(500), &mut seen);
    assert_eq!(times(&seen, "monitored"), [20.0, 20.0]);
    assert_eq!(times(&seen, "delivered"), [36.0, 37.0]);
}

#[test]
fn the_way_up_passes_the_monitor_after_the_air() {
    let mut path = Path::new(&params(1), START, 1);
    let mut seen = Seen::default();
    path.accept(START, segment(Direction::Up, 0, 1, 1448), &mut seen);
    path.advance(at_ms(500), &mut seen);
    assert_eq!(times(&seen, "monitored"), [16.0]);
    assert_eq!(times(&seen, "delivered"), [36.0]);
}

#[test]
fn a_late_driver_changes_nothing_but_when_it_is_told() {
    let drive = |every_ms: usize| {
        let mut path = Path::new(&params(2), START, 1);
        let mut seen = Seen::default();
        for seq in 0..20 {
            let client = seq as usize % 2;
            path.accept(
                START,
                segment(Direction::Down, client, seq, 1000),
                &mut seen,
            );
        }
        for ms in (0..200).step_by(every_ms) {
            path.advance(at_ms(ms), &mut seen);
        }
        seen.0
    };
    assert_eq!(drive(1), drive(100));
}

#[test]
fn every_packet_is_delivered_or_dropped_for_a_logged_reason() {
    let mut params = params(3);
    for side in [
        &mut params.wan_down,
        &mut params.access_down,
        &mut params.access_up,
    ] {
        side.loss = 0.05;
        side.reorder = 0.1;
        side.hold = Delta::ms(3);
        side.jitter = Delta::ms(2);
    }
    let mut path = Path::new(&params, START, 11);
    let mut seen = Seen::default();
    for number in 0..3_000u32 {
        let now = START + Delta::us(i64::from(number) * 150);
        path.advance(now, &mut seen);
        let direction = [Direction::Down, Direction::Up][number as usize / 3 % 2];
        path.accept(
            now,
            segment(direction, number as usize % 3, number, 1448),
            &mut seen,
        );
    }
    path.advance(at_ms(5_000), &mut seen);
    let counts = path.counts();
    let drops = counts.upstream + counts.tail + counts.downstream;
    assert_eq!((counts.accepted, path.inside()), (3_000, 0));
    assert_eq!(counts.delivered + drops, 3_000);
    for (what, count) in [
        ("delivered", counts.delivered),
        ("upstream", counts.upstream),
        ("tail", counts.tail),
        ("downstream", counts.downstream),
        ("monitored", counts.monitored),
    ] {
        assert!(count > 0, "no packet was {what}");
        assert_eq!(times(&seen, what).len() as u64, count, "{what}");
    }
    assert!(seen.0.is_sorted_by(|a, b| a.0 <= b.0));
}

#[test]
fn an_idle_client_waits_for_the_radio_and_its_next_packets_queue_behind() {
    let mut params = params(1);
    params.radio = Some(RadioParams {
        promotion: Delta::ms(400),
        tail: Delta::secs(2),
    });
    let mut path = Path::new(&params, START, 1);
    let mut seen = Seen::default();
    for (ms, seq) in [(10, 1), (20, 2), (1_000, 3)] {
        path.advance(at_ms(ms), &mut seen);
        path.accept(at_ms(ms), segment(Direction::Up, 0, seq, 0), &mut seen);
    }
    path.advance(at_ms(3_000), &mut seen);
    assert_eq!(times(&seen, "promoted"), [10.0, 20.0]);
    let monitored = times(&seen, "monitored");
    assert!((300.0..=550.0).contains(&monitored[0]), "{monitored:?}");
    assert!(monitored[1] - monitored[0] < 1.0, "{monitored:?}");
    assert!((1_015.0..1_016.0).contains(&monitored[2]), "{monitored:?}");
}

#[test]
fn the_monitor_sees_coarse_timestamps_and_the_client_its_own() {
    let mut params = params(1);
    params.client_tick_ms = 10;
    let mut path = Path::new(&params, START, 1);
    let mut fields = Vec::new();
    let mut note = |_: Time, event: Event<'_>| {
        if let Event::Monitored(packet) | Event::Delivered(packet) = event {
            let field = |at| u32::from_be_bytes(packet.bytes[at..at + 4].try_into().unwrap());
            fields.push([field(44), field(48)]);
        }
    };
    let up = segment_with_timestamps(Direction::Up, 0, 1, 0, [54_321, 7]);
    path.accept(START, up, &mut note);
    path.advance(at_ms(100), &mut note);
    let down = segment_with_timestamps(Direction::Down, 0, 1, 0, [8, 5_432]);
    path.accept(at_ms(100), down, &mut note);
    path.advance(at_ms(200), &mut note);
    assert_eq!(fields, [[5_432, 7], [5_432, 7], [8, 5_432], [8, 54_321]]);
}
