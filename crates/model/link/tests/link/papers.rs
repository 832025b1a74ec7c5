//! What papers and standards say of the whole, from the parts of this crate.

use fastrand::Rng;
use unbloat_link::device::{self, modem};
use unbloat_link::radio::{AirParams, Rates, uplink};
use unbloat_link::service::constant;
use unbloat_link::{Config, Element, Output, Path, Place};
use unbloat_qdisc::discipline::droptail;
use unbloat_qdisc::{Event, FlowHash, IpLen, Observer, Packet};
use unbloat_units::{Bytes, Delta, Rate, Time};

#[derive(Default)]
struct Log {
    delivered: Vec<(Time, u32)>,
    waits: Vec<(Place, Time, Delta)>,
}

impl Observer for Log {
    fn event(&mut self, _now: Time, _event: Event) {}
}

impl Output for Log {
    fn deliver(&mut self, at: Time, packet: Packet) {
        self.delivered.push((at, packet.handle));
    }

    fn waited(&mut self, at: Time, place: Place, _packet: &Packet, wait: Delta) {
        self.waits.push((place, at, wait));
    }
}

impl Log {
    /// Mean wait at a place from a time on, in milliseconds.
    fn mean_ms(&self, place: Place, from: Time) -> f64 {
        let there = self
            .waits
            .iter()
            .filter(|(at, when, _)| *at == place && *when >= from);
        let waits: Vec<f64> = there.map(|(.., wait)| wait.as_ms()).collect();
        waits.iter().sum::<f64>() / waits.len() as f64
    }
}

fn packet(handle: u32, len: u32) -> Packet {
    Packet::new(handle, IpLen::new(len), FlowHash(1))
}

fn run_until(path: &mut Path, until: Time, log: &mut Log) {
    while let Some(at) = path.next_at()
        && at <= until
    {
        path.advance(at, log);
    }
}

const CLEAN: AirParams = AirParams {
    bler: 0.0,
    bler_again: 0.0,
    transmissions: 4,
    status: Delta::ms(50),
    resends: 16,
};

/// 3GPP TR 36.881: 17 ms with a request each 10 ms, 12.5 with one each millisecond.
#[test]
fn from_an_empty_buffer_to_the_base_station_takes_17_ms_in_the_mean() {
    for (request_ms, mean_ms) in [(10, 17.0), (1, 12.5)] {
        let params = uplink::Params {
            air: CLEAN,
            request_period: Delta::ms(request_ms),
            ..uplink::Params::default()
        };
        let (start, mut rng) = (Time::from_ns(0), Rng::with_seed(0));
        let mut path = Path::build(&[Config::LteUplink(params)], start, &mut rng);
        let mut log = Log::default();
        // All phases of the 10 ms in steps of 50 us, from the middle of the first.
        let arrivals: Vec<Time> = (0..200)
            .map(|k| start + Delta::ms(1_000 * k) + Delta::us(50 * k + 25))
            .collect();
        for (handle, at) in (0..).zip(&arrivals) {
            run_until(&mut path, *at, &mut log);
            path.accept(*at, packet(handle, 80), &mut log);
        }
        run_until(&mut path, Time::MAX, &mut log);
        let total: i64 = log
            .delivered
            .iter()
            .map(|(at, handle)| (*at - arrivals[*handle as usize]).as_ns())
            .sum();
        assert_eq!(total as f64 / 200.0, mean_ms * 1e6);
    }
}

/// Guo et al., IMC 2016, Table 1 and section 3: hundreds of kilobytes in the firmware are 400 ms at 8
/// Mbit/s, the driver adds next to nothing, and the rest of an upload's backlog waits in the
/// discipline.
#[test]
fn an_upload_waits_in_the_firmware_and_the_discipline_and_hardly_in_the_driver() {
    let uplink = uplink::Params {
        buffer: Bytes::new(400_000),
        rates: Rates::Constant(constant::Params {
            rate: Rate::mbps(8),
        }),
        air: CLEAN,
        ..uplink::Params::default()
    };
    let device = device::Params {
        qdisc: unbloat_qdisc::Config::DropTail(droptail::Params::default()),
        ring: device::RingLimit {
            packets: 2,
            bytes: None,
        },
        modem: modem::Config::LteUplink(uplink),
        control: None,
    };
    let (start, mut rng) = (Time::from_ns(0), Rng::with_seed(0));
    let mut path = Path::build(&[Config::Device(device)], start, &mut rng);
    let mut log = Log::default();
    // A sender with 600 kB in flight: as packets arrive, as many come.
    let mut handles = 0..;
    let mut seen = 0;
    for handle in handles.by_ref().take(400) {
        path.accept(start, packet(handle, 1_500), &mut log);
    }
    while let Some(at) = path.next_at().filter(|at| *at < start + Delta::secs(20)) {
        path.advance(at, &mut log);
        let arrived = log.delivered.len() - seen;
        seen = log.delivered.len();
        for handle in handles.by_ref().take(arrived) {
            path.accept(at, packet(handle, 1_500), &mut log);
        }
    }
    let settled = start + Delta::secs(5);
    let (qdisc, driver, firmware) = (
        log.mean_ms(Place::Qdisc, settled),
        log.mean_ms(Place::Driver, settled),
        log.mean_ms(Place::Firmware, settled),
    );
    assert!((firmware - 400.0).abs() < 8.0, "{firmware}");
    assert!(driver < 4.0, "{driver}");
    // Little's law over the whole: 600 kB at 997 bytes of payload a TTI, less 4 ms on the air.
    let total = 600_000.0 / 997.0 - 4.0;
    assert!((qdisc + driver + firmware - total).abs() < 6.0, "{qdisc}");
}
