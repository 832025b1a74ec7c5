//! Datagrams over one bottleneck, and what they are without the simulator.
//!
//! A datagram has 1 MB in the mean and the link 8 Gbit/s: a byte takes a nanosecond, so sizes are times of transmission, the
//! mean one is 1 ms (the unit of the models), and what whole bytes and nanoseconds round away is a millionth.

pub mod chain;

use fastrand::Rng;
use unbloat_experiment::scenario::Experiment;
use unbloat_link::service;
use unbloat_link::{BottleneckParams, Config as Element, Path};
use unbloat_qdisc::{Config as Queue, discipline::droptail};
use unbloat_units::{Both, Bytes, Delta, Direction, Framing, Rate, Time};
use unbloat_workload::{
    Config as Workload, Conn, Happening, Network, Workload as _,
    kind::onoff::{self, Sizes},
};

/// Bytes, and nanoseconds.
pub const MEAN: u64 = 1_000_000;

/// What arrives at a link. Spans are in mean times of transmission.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub rho: f64,
    pub sizes: Sizes,
    /// Mean time on and off; none for a Poisson process.
    pub bursts: Option<(f64, f64)>,
}

impl Load {
    pub fn poisson(rho: f64, sizes: Sizes) -> Load {
        Load {
            rho,
            sizes,
            bursts: None,
        }
    }

    fn workload(&self) -> Workload {
        let span = |services: f64| Delta::from_secs_f64(services * MEAN as f64 / 1e9);
        let peak = self.bursts.map_or(1.0, |(on, off)| (on + off) / on);
        Workload::OnOff(onoff::Params {
            direction: Direction::Down,
            rate: Rate::from_bps_f64(8e9 * self.rho * peak),
            size: Bytes::new(MEAN),
            sizes: self.sizes,
            on: self.bursts.map(|(on, _)| span(on)),
            off: self.bursts.map_or(Delta::ZERO, |(_, off)| span(off)),
        })
    }
}

/// A link of one byte a nanosecond that holds `places` packets, the one being sent included.
pub fn line(places: u32) -> Element {
    bottleneck(
        Queue::DropTail(droptail::Params {
            limit_packets: Some(places - 1),
            limit_bytes: None,
        }),
        service::Config::Constant(service::constant::Params {
            rate: Rate::mbps(8_000),
        }),
    )
}

pub fn bottleneck(queue: Queue, service: service::Config) -> Element {
    Element::Bottleneck(BottleneckParams {
        queue,
        service,
        framing: Framing::default(),
    })
}

pub fn experiment(load: Load, link: Element, seed: u64) -> Experiment {
    let flow = crate::support::flow("datagrams", load.workload(), "newreno");
    Experiment {
        name: String::new(),
        about: String::new(),
        duration: Delta::secs(60),
        warmup: Delta::ZERO,
        seed,
        start_jitter: None,
        down: vec![vec![link].into()],
        up: Vec::new(),
        flows: vec![flow],
        hosts: Vec::new(),
        kernel_queues: Both::default(),
        shares_radio: false,
        autorate: None,
        sample_every: None,
        interval: Delta::secs(1),
        flow_layers: false,
        keeps_series: true,
    }
}

/// When datagrams are sent and how long they are.
pub type Arrivals = Vec<(Time, Bytes)>;

/// What the flow of an experiment sends until its end, asked of the workload itself. Generators fork as in the simulator:
/// those of the elements of both paths, then that of the flow.
pub fn arrivals(experiment: &Experiment) -> Arrivals {
    let start = Time::from_ns(0);
    let mut rng = Rng::with_seed(experiment.seed);
    for hop in experiment.down.iter().chain(&experiment.up) {
        Path::build(&hop.elements, start, &mut rng);
    }
    let mut source = experiment.flows[0].workload.build();
    let mut notes = Notes {
        now: start,
        rng: rng.fork(),
        wake: None,
        sent: Vec::new(),
    };
    source.start(start, &mut notes);
    while let Some(at) = notes.wake.take()
        && at <= start + experiment.duration
    {
        notes.now = at;
        source.on_happening(at, Happening::Woke { tag: 0 }, &mut notes);
    }
    notes.sent
}

/// A network that only writes down.
struct Notes {
    now: Time,
    rng: Rng,
    wake: Option<Time>,
    sent: Arrivals,
}

impl Network for Notes {
    fn exchange(&mut self, _conn: Conn, _request: Bytes, _response: Bytes) {
        unreachable!("datagrams need no connection");
    }

    fn close(&mut self, _conn: Conn) {
        unreachable!("datagrams need no connection");
    }

    fn datagram(&mut self, _direction: Direction, _number: u64, size: Bytes) {
        self.sent.push((self.now, size));
    }

    fn wake(&mut self, at: Time, _tag: u32) {
        assert!(self.wake.replace(at).is_none(), "one arrival at a time");
    }

    fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }
}
