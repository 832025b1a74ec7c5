//! Lines that idle: keystrokes on paths that change, in virtual time.

use fastrand::Rng;
use unbloat_autorate::{Autorate, OPEN, Params, Policy, Seen, Stamps, follow};
use unbloat_units::{Both, Direction, Rate, Time};

/// One way from the router to the other end, in µs.
const ONE_WAY: i64 = 20_000;

/// What passes on the line's side of the router.
struct Packet {
    us: i64,
    is_incoming: bool,
    bytes: u32,
    stamps: Stamps,
}

fn stamps(sent_us: i64, echoed_us: i64, ack: u32, payload: u32) -> Stamps {
    let clock = |us: i64| (us / 1_000 + 1_000_000) as u32;
    Stamps {
        value: clock(sent_us),
        echo: clock(echoed_us),
        ack,
        payload,
    }
}

/// A key that leaves at a time, and its echo, with more delay each way.
fn key(us: i64, up: i64, down: i64) -> [Packet; 2] {
    let (turned, back) = (us + ONE_WAY + up, us + 2 * ONE_WAY + up + down);
    let packet = |at_us, is_incoming, stamps| Packet {
        us: at_us,
        is_incoming,
        bytes: 100,
        stamps,
    };
    [
        packet(us, false, stamps(us, us - 1_000_000, 1, 1)),
        packet(back, true, stamps(turned, us, 1, 1)),
    ]
}

/// A packet of a download that left its sender at a time and came late by so much, and its acknowledgement.
fn data(number: u32, us: i64, late: i64) -> [Packet; 2] {
    let comes = us + ONE_WAY + late;
    let packet = |is_incoming, bytes, stamps| Packet {
        us: comes,
        is_incoming,
        bytes,
        stamps,
    };
    [
        packet(true, 1_500, stamps(us, us - ONE_WAY, 1, 1_448)),
        packet(false, 52, stamps(comes, us, 1 + number * 1_448, 0)),
    ]
}

/// The lowest rates that were set.
fn lowest(packets: impl Iterator<Item = [Packet; 2]>) -> Both<Option<Rate>> {
    lowest_and_last(packets).map(|(lowest, _)| lowest)
}

/// The lowest rate of each direction, and its last one.
fn lowest_and_last(
    packets: impl Iterator<Item = [Packet; 2]>,
) -> Both<(Option<Rate>, Option<Rate>)> {
    let policy = Policy::Follow(Both::new(follow::Params::default(), follow::Params::up()));
    let shaped = Both::new(true, true);
    let at = |us: i64| Time::from_ns(us * 1_000);
    let mut autorate = Autorate::new(Params { policy, shaped }, at(0));
    let mut packets: Vec<_> = packets.flatten().collect();
    packets.sort_by_key(|packet| packet.us);
    let mut lowest = Both::<Option<Rate>>::default();
    for packet in packets {
        while autorate.tick_at() <= at(packet.us) {
            autorate.tick(autorate.tick_at());
            for direction in Direction::BOTH {
                let both = [lowest[direction], autorate.rate(direction)];
                lowest[direction] = both.into_iter().flatten().min();
            }
        }
        let seen = Seen {
            flow: 7,
            bytes: packet.bytes,
            stamps: Some(packet.stamps),
        };
        match packet.is_incoming {
            true => autorate.incoming(at(packet.us), &seen),
            false => autorate.outgoing(at(packet.us), &seen),
        }
    }
    Both::of(|direction| (lowest[direction], autorate.rate(direction)))
}

const NOT_SHAPED: Both<Option<Rate>> = Both::new(None, None);
const SEEDS: std::ops::RangeInclusive<u64> = 1..=6;

#[test]
fn keystrokes_over_routes_that_change_set_no_rate() {
    for seed in SEEDS {
        let mut rng = Rng::with_seed(seed);
        let (mut up, mut down) = (0, 0);
        let keys = (0..600).map(|k| {
            if k % 40 == 0 {
                (up, down) = (rng.i64(0..50_000), rng.i64(0..50_000));
            }
            key(k * 200_000 + rng.i64(0..100_000), up, down)
        });
        assert_eq!(lowest(keys), NOT_SHAPED, "seed {seed}");
    }
}

#[test]
fn keystrokes_over_a_radio_with_80_ms_of_jitter_set_no_rate() {
    for seed in SEEDS {
        let mut rng = Rng::with_seed(seed);
        let keys = (0..600).map(|k| key(k * 200_000, rng.i64(0..80_000), rng.i64(0..80_000)));
        assert_eq!(lowest(keys), NOT_SHAPED, "seed {seed}");
    }
}

/// 20 Mbit/s arrive for 6 s, and the queue grows by 20 ms each second.
fn load() -> impl Iterator<Item = [Packet; 2]> {
    (0..10_000).map(|k| data(k, i64::from(k) * 600, i64::from(k) * 12))
}

#[test]
fn a_queue_that_grows_under_load_sets_a_rate_near_that_of_the_line() {
    let rate = lowest(load()).down.expect("shaped").as_bps_f64();
    assert!((5e6..20e6).contains(&rate), "{rate}");
}

#[test]
fn keystrokes_after_a_load_leave_nothing_shaped() {
    let keys = (0..50).map(|k| key(6_200_000 + k * 200_000, 0, 0));
    let (lowest, last) = lowest_and_last(load().chain(keys)).down;
    assert!(lowest < Some(Rate::mbps(20)), "{lowest:?}");
    assert_eq!(last, Some(OPEN));
}
