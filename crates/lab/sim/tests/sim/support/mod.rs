//! Paths and flows that read like what they are.

use unbloat_experiment::outcome::Outcomes;
use unbloat_experiment::scenario::{Experiment, Flow};
use unbloat_link::element::delay;
use unbloat_link::service::{self, constant};
use unbloat_link::{BottleneckParams, Config as Element};
use unbloat_qdisc::{Dscp, Host};
use unbloat_tcp::{congestion, receiver, sender};
use unbloat_units::{Both, Delta, Framing, Rate, Time};
use unbloat_workload::Config as Workload;

/// A queue in front of a rate, then a delay.
pub fn link(rate: Rate, delay: Delta, queue: unbloat_qdisc::Config) -> Vec<Element> {
    vec![
        Element::Bottleneck(BottleneckParams {
            queue,
            service: service::Config::Constant(constant::Params { rate }),
            framing: Framing::default(),
        }),
        Element::Delay(delay::Params { delay }),
    ]
}

pub fn fifo(packets: u32) -> unbloat_qdisc::Config {
    unbloat_qdisc::Config::DropTail(unbloat_qdisc::discipline::droptail::Params {
        limit_packets: Some(packets),
        limit_bytes: None,
    })
}

/// A flow with everything at its default but the congestion control and a receiver that never limits.
pub fn flow(name: &str, workload: Workload, control: &str) -> Flow {
    let sender = sender::Params {
        congestion: congestion::Config::named(control).expect("a control of that name"),
        ..sender::Params::default()
    };
    let receiver = receiver::Params {
        initial_window: 16 << 20,
        window_scale: 12,
        rule: unbloat_tcp::receive_window::Config::named("static").expect("a rule of that name"),
        ..receiver::Params::default()
    };
    Flow {
        name: name.into(),
        group: name.into(),
        is_enabled: true,
        workload,
        start: Time::from_ns(0),
        stop: None,
        senders: Both::new(sender.clone(), sender),
        receivers: Both::new(receiver.clone(), receiver),
        readers: Both::default(),
        timestamp_ticks: Both::of(|_| Delta::ms(1)),
        extra_delay: Delta::ZERO,
        client: Host(1),
        server: Host(2),
        dscp: Dscp(0),
    }
}

pub fn experiment(
    rate: Rate,
    delay: Delta,
    queue: unbloat_qdisc::Config,
    flows: Vec<Flow>,
) -> Experiment {
    Experiment {
        name: String::new(),
        about: String::new(),
        duration: Delta::secs(60),
        warmup: Delta::ZERO,
        seed: 1,
        start_jitter: None,
        down: vec![link(rate, delay, queue).into()],
        up: vec![link(Rate::mbps(1_000), delay, fifo(10_000)).into()],
        flows,
        hosts: Vec::new(),
        kernel_queues: Both::default(),
        shares_radio: false,
        autorate: None,
        sample_every: None,
        interval: Delta::secs(1),
        keeps_series: true,
        flow_layers: false,
    }
}

pub fn metric(outcomes: &Outcomes, flow: usize, name: &str) -> f64 {
    let metrics = &outcomes.flows[flow].metrics;
    let found = metrics.iter().find(|metric| metric.name == name);
    found
        .unwrap_or_else(|| panic!("no {name} in {metrics:?}"))
        .value
}
