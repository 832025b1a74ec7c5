//! The real-time shell around the data plane: devices, a clock, one thread.

use crate::books::{Books, Witness};
use crate::clock::{Clock, Monotonic, thread_cpu_ns};
use crate::delays::{Delays, ExtraDelay};
use crate::devices::{drops, starved};
use crate::error::EmulatorError;
use crate::gate::Gate;
use crate::plane::Plane;
use crate::port::{Device, Port, Side, Tun, TunError};
use crate::report::Report;
use crate::routes::Routes;
use crate::ticks::{Tick, Ticks};
use crate::timing::{Alarm, Privileges, Timing};
use fastrand::Rng;
use ipnet::IpNet;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use tracing::debug;
use unbloat_experiment::outcome::{LayerSample, PathRecord, RadioRecord, Route, Sample};
use unbloat_experiment::scenario::Hop;
use unbloat_link::Element;
use unbloat_qdisc::Backlog;
use unbloat_units::{Both, Delta, Direction, Time};

/// How often the thread looks whether it is to stop.
const LONGEST_WAIT: Delta = Delta::ms(20);

/// What is to be emulated.
pub struct Setup {
    /// What packets towards the client meet, in order, as of the clock's zero.
    pub down: Vec<Hop>,
    pub up: Vec<Hop>,
    /// Whether the `rrc` elements of both directions are one radio's.
    pub shares_radio: bool,
    /// The same seed draws for the path as it does in the simulator.
    pub seed: u64,
    pub ports: Vec<Port>,
    pub timing: Timing,
    pub clock: Monotonic,
    /// Results leave out what came before.
    pub warm_at: Time,
    /// How often the paths' backlogs are sampled, from the clock's zero on.
    pub sample_every: Option<Delta>,
    pub extra_delays: Vec<ExtraDelay>,
    pub ticks: Vec<Tick>,
    /// Sees every packet.
    pub witness: Option<Box<dyn Witness>>,
    /// Queues of the kernel's whose packets the first link of a direction asks for.
    pub gates: Both<Option<Gate>>,
}

impl Setup {
    /// A path between ports; the clock starts now, nothing is sampled.
    pub fn new(down: Vec<Hop>, up: Vec<Hop>, ports: Vec<Port>, timing: Timing) -> Setup {
        Setup {
            down,
            up,
            shares_radio: false,
            seed: 1,
            ports,
            timing,
            clock: Monotonic::start(),
            warm_at: Time::from_ns(0),
            sample_every: None,
            extra_delays: Vec::new(),
            ticks: Vec::new(),
            witness: None,
            gates: Both::default(),
        }
    }

    fn paths(&self) -> Both<Route> {
        let start = Time::from_ns(0);
        let mut rng = Rng::with_seed(self.seed);
        let mut down = Route::new(Direction::Down, &self.down, start, self.warm_at, &mut rng);
        let mut up = Route::new(Direction::Up, &self.up, start, self.warm_at, &mut rng);
        if self.shares_radio {
            down.share_radio(&mut up);
        }
        let mut paths = Both::new(down, up);
        for (path, gate) in paths.iter_mut().zip(&self.gates) {
            if gate.is_some() {
                path.feed();
            }
        }
        paths
    }

    pub(crate) fn plane<D: Device>(
        self,
        devices: Vec<D>,
        sides: Vec<Side>,
        routes: Both<Routes>,
    ) -> Plane<D> {
        let paths = self.paths();
        let books = Books::new(self.warm_at, self.witness);
        let mut plane = Plane::new(devices, sides, routes, paths, books);
        plane.sample_every = self.sample_every.filter(|every| *every > Delta::ZERO);
        plane.delays = Delays::new(&self.extra_delays);
        plane.set_gates(self.gates);
        plane.ticks = Ticks::new(&self.ticks);
        plane
    }
}

/// What came of a run.
pub struct Emulated {
    pub report: Report,
    pub paths: Both<PathRecord>,
    pub samples: Vec<Sample>,
    pub layers: Vec<LayerSample>,
    /// Each hop of both directions, where a direction has more than one.
    pub hops: Both<Vec<PathRecord>>,
    pub radios: Vec<RadioRecord>,
    /// What was on the paths at the end.
    pub inside: Both<Backlog>,
    pub end: Time,
    pub witness: Option<Box<dyn Witness>>,
}

/// Carries packets between devices, over a path.
pub struct Emulator {
    setup: Setup,
    devices: Vec<Tun>,
    sides: Vec<Side>,
    routes: Both<Routes>,
}

impl Emulator {
    pub fn new(mut setup: Setup) -> Result<Emulator, EmulatorError> {
        let ports = std::mem::take(&mut setup.ports);
        let routes = routes(ports.iter().map(|port| (port.side, port.addresses.clone())))?;
        let sides = ports.iter().map(|port| port.side).collect();
        let devices = ports.into_iter().zip(0..);
        let devices = devices.map(|(port, number)| tun(port.fd, number));
        let devices = devices.collect::<Result<_, _>>()?;
        Ok(Emulator {
            setup,
            devices,
            sides,
            routes,
        })
    }

    /// Carries packets on the calling thread, which gets the real-time class if that is granted, until `stop`.
    pub fn run(self, stop: &AtomicBool) -> Result<Emulated, EmulatorError> {
        let (clock, timing) = (self.setup.clock, self.setup.timing);
        let mut plane = self.plane();
        let mut alarm = Alarm::new(&plane.devices, timing)?;
        let privileges = match timing {
            Timing::Spin => Privileges::take(),
            Timing::Sleep => Privileges::default(),
        };
        debug!(
            ports = plane.devices.len(),
            ?timing,
            is_realtime = privileges.is_realtime,
            "carrying packets"
        );
        let watch = Watch::start(&plane.devices, clock);
        while !stop.load(Ordering::Relaxed) {
            plane.bulk.update(clock.now());
            if !plane.bulk.is_on() {
                plane.catch_up(clock.now());
                plane.flush(&clock);
            }
            for device in alarm.ready() {
                plane.read(device, &clock);
            }
            plane.catch_up(clock.now());
            plane.flush(&clock);
            plane.check()?;
            let now = clock.now();
            let latest = now + LONGEST_WAIT;
            let next = plane.next_at().map_or(latest, |at| at.min(latest));
            match plane.bulk.pause(now, next) {
                Some(pause) => alarm.pause(&clock, pause)?,
                None => alarm.wait(&clock, next)?,
            }
            plane.books.counts.waits += 1;
        }
        let end = clock.now();
        plane.catch_up(end);
        plane.flush(&clock);
        let report = watch.report(&mut plane, privileges);
        debug!(
            wall_s = report.wall.as_secs(),
            cpu_s = report.cpu.as_secs(),
            device_drops = report.device_drops,
            counts = ?report.counts,
            "carried"
        );
        Ok(plane.ended(report, end))
    }

    fn plane(self) -> Plane<Tun> {
        self.setup.plane(self.devices, self.sides, self.routes)
    }
}

/// The ports by the addresses behind them, of the side that packets of each direction go to.
pub(crate) fn routes(
    ports: impl Iterator<Item = (Side, Vec<IpNet>)>,
) -> Result<Both<Routes>, EmulatorError> {
    let mut routes = Both::<Routes>::default();
    let mut is_there = Both::default();
    for ((side, addresses), number) in ports.zip(0_u16..) {
        let towards = match side {
            Side::Client => Direction::Down,
            Side::Server => Direction::Up,
        };
        is_there[towards] = true;
        for prefix in addresses {
            routes[towards].add(prefix, number)?;
        }
    }
    let sides = Both::new("the client's side", "the server's side");
    for (has_port, missing) in is_there.zip(sides) {
        if !has_port {
            return Err(EmulatorError::NoPort { missing });
        }
    }
    Ok(routes)
}

/// What was counted when the run began.
struct Watch {
    clock: Monotonic,
    begin: Time,
    cpu_ns: i64,
    drops: u64,
    starved: Option<Delta>,
}

impl Watch {
    fn start(devices: &[Tun], clock: Monotonic) -> Watch {
        Watch {
            clock,
            drops: drops(devices),
            starved: starved(),
            begin: clock.now(),
            cpu_ns: thread_cpu_ns(),
        }
    }

    fn report(&self, plane: &mut Plane<Tun>, privileges: Privileges) -> Report {
        let Both { down, up } = &plane.paths;
        Report {
            counts: plane.books.counts,
            lateness_us: std::mem::take(&mut plane.books.lateness_us),
            wall: self.clock.now() - self.begin,
            cpu: Delta::ns(thread_cpu_ns() - self.cpu_ns),
            starved: starved().zip(self.starved).map(|(now, then)| now - then),
            device_drops: drops(&plane.devices).saturating_sub(self.drops),
            privileges,
            base_rtt: down.latency() + up.latency(),
        }
    }
}

fn tun(fd: OwnedFd, port: usize) -> Result<Tun, EmulatorError> {
    Tun::new(fd).map_err(|error| match error {
        TunError::NotTun(source) => EmulatorError::NotTun { port, source },
        TunError::NotBare => EmulatorError::NotBare { port },
        TunError::SetUp(source) => EmulatorError::Port { port, source },
    })
}
