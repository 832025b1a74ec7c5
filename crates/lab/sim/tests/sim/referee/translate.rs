//! The referee's scenarios in our words.

use crate::support::{fifo, flow};
use unbloat_experiment::scenario::{Experiment, Flow};
use unbloat_link::element::delay;
use unbloat_link::service::{self, bucket, constant};
use unbloat_link::{BottleneckParams, Config as Element};
use unbloat_qdisc::discipline::{cake, codel, droptail, fq_codel, pie, red};
use unbloat_qdisc::{Config as Queue, Device};
use unbloat_tcp::congestion;
use unbloat_tcp::receive_window::{self, drs};
use unbloat_tcp::receiver;
use unbloat_tcp::sender::EcnMode;
use unbloat_uml::Scenario;
use unbloat_units::{Both, Bytes, Delta, Direction, Framing, Rate, Time};
use unbloat_workload::Config as Workload;
use unbloat_workload::kind::bulk;

/// How long packets that were under way at the end have to leave the queue.
const DRAIN: Delta = Delta::secs(3);
/// Ticks per second of the referee's kernel.
const HZ: u32 = 1_000;

/// What our simulator is to do, if it has the queue and the control. Data goes up, because the referee's
/// sender is the one that connects.
pub fn experiment(scenario: &Scenario) -> Option<Experiment> {
    let delta = |ns: u64| Delta::ns(i64::try_from(ns).expect("short"));
    let end = delta(scenario.length_ns);
    let flows = scenario.flows.iter().map(|asked| {
        let control = match asked.congestion_control.as_str() {
            "reno" => "newreno",
            "highspeed" => "hstcp",
            other => other,
        };
        congestion::Config::named(control)?;
        let start = Time::from_ns(0) + delta(asked.start_ns);
        Some(Flow {
            start,
            ..bulk_flow(control, scenario.ecn, Time::from_ns(0) + end)
        })
    });
    Some(Experiment {
        name: String::new(),
        about: String::new(),
        duration: end + DRAIN,
        warmup: delta(scenario.warmup_ns),
        seed: scenario.seed,
        start_jitter: None,
        down: vec![vec![wait(delta(scenario.return_delay_ns))].into()],
        up: vec![link(scenario, delta(scenario.forward_delay_ns))?.into()],
        shares_radio: false,
        autorate: None,
        flows: flows.collect::<Option<Vec<_>>>()?,
        hosts: Vec::new(),
        kernel_queues: Both::default(),
        sample_every: Some(delta(scenario.sample_every_ns)),
        interval: Delta::secs(1),
        keeps_series: true,
        flow_layers: false,
    })
}

fn bulk_flow(control: &str, ecn: bool, end: Time) -> Flow {
    let workload = Workload::Bulk(bulk::Params {
        direction: Direction::Up,
    });
    let mut flow = flow(control, workload, control);
    let ecn = if ecn { EcnMode::Classic } else { EcnMode::Off };
    for sender in &mut flow.senders {
        sender.hz = HZ;
        sender.ecn = ecn;
    }
    flow.receivers = Both::of(|_| receiver::Params {
        ecn,
        // The referee's application is woken for 16 KiB.
        low_water: 16 << 10,
        hz: HZ,
        rule: receive_window::Config::Drs(drs::Params {
            initial: window(131_072),
            max: window(6_291_456),
        }),
        ..receiver::Params::default()
    });
    // The last sample comes first.
    flow.stop = Some(end + Delta::ns(1));
    flow
}

/// What a receive buffer is worth as window, once segments have arrived that fill 160/256 of their memory (1,448 of 2,304 bytes).
fn window(buffer: u64) -> Bytes {
    Bytes::new(buffer * 160 / 256)
}

fn wait(delay: Delta) -> Element {
    Element::Delay(delay::Params { delay })
}

/// The rate counts IP lengths, and so do disciplines below the referee's HTB.
fn link(scenario: &Scenario, forward: Delta) -> Option<Vec<Element>> {
    assert_eq!(scenario.framing_bytes, 0, "the matrix counts IP lengths");
    let rate = Rate::bps(scenario.rate_bps);
    if scenario.queue.starts_with("tbf") {
        let bucket = bucket::Params {
            rate,
            burst: Bytes::new(1_514),
            peak: None,
        };
        let queue = Queue::DropTail(droptail::Params {
            limit_packets: None,
            limit_bytes: Some(Bytes::new(150_000)),
        });
        let service = service::Config::Bucket(bucket);
        // The bucket lets a packet go when its transmission begins.
        let transmission = Delta::us(1_200);
        return Some(vec![
            bottleneck(queue, service),
            wait(forward + transmission),
        ]);
    }
    let service = service::Config::Constant(constant::Params { rate });
    Some(vec![
        bottleneck(queue(scenario, rate)?, service),
        wait(forward),
    ])
}

fn bottleneck(queue: Queue, service: service::Config) -> Element {
    Element::Bottleneck(BottleneckParams {
        queue,
        service,
        framing: Framing::default(),
    })
}

/// The discipline that `tc` would be told so.
fn queue(scenario: &Scenario, rate: Rate) -> Option<Queue> {
    let words: Vec<&str> = scenario.queue.split(' ').collect();
    let number = |at: usize| words[at].parse().expect("a number");
    let ecn = words.last() == Some(&"ecn");
    let device = Device {
        mtu: 1_514,
        header: 0,
    };
    Some(match words[..] {
        ["pfifo", ..] => fifo(number(2)),
        ["bfifo", ..] => Queue::DropTail(droptail::Params {
            limit_packets: None,
            limit_bytes: Some(Bytes::new(number(2).into())),
        }),
        ["codel"] | ["codel", "ecn"] => {
            let mut params = codel::Params {
                device,
                ..Default::default()
            };
            params.law.ecn = ecn;
            Queue::Codel(params)
        }
        ["fq_codel", ..] => {
            let mut params = fq_codel::Params {
                device,
                ..Default::default()
            };
            params.law.ecn = words.len() == 1;
            Queue::FqCodel(params)
        }
        ["pie", ..] => {
            let params = pie::Params {
                ecn,
                device,
                ..Default::default()
            };
            Queue::Pie(params.at_kernel_hz(HZ))
        }
        // Those of the referee are the defaults at another bandwidth.
        ["red", ..] => Queue::Red(red::Params {
            ecn,
            device,
            bandwidth: rate,
            ..Default::default()
        }),
        ["cake"] => Queue::Cake(cake::Params {
            rate: Some(rate),
            overhead: Some(0),
            ..Default::default()
        }),
        _ => return None,
    })
}
