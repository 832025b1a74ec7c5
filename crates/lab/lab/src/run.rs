//! The run itself: a thread that carries packets, a thread that sends and receives them.

use crate::beside::{Beside, Commands, Ended};
use crate::capture::{CaptureFile, Captures, HostCaptures, path_capture};
use crate::controls;
use crate::error::LabError;
use crate::kernel_queue::{QueueTruth, QueueWatch};
use crate::live::{LivePath, Witnesses};
use crate::mapping::Mapping;
use crate::memory::Memory;
use crate::shortage::{Repairs, Shortage, shortage};
use crate::stage::Stage;
use crate::verdict::Verdict;
use crate::watch::{Keeper, TcpSample};
use crate::windows::Windows;
use fastrand::Rng;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;
use tracing::info;
use unbloat_emulator::{
    Ahead, Emulated, Emulator, EmulatorError, Monotonic, Setup, Tick, Timing, Witness,
};
use unbloat_experiment::outcome::{FlowOutcome, Outcomes, Route, Snapshot};
use unbloat_experiment::scenario::Experiment;
use unbloat_os::clock::{Clock, monotonic};
use unbloat_units::{Both, Bytes, Delta, Direction, Time};
use unbloat_workload::{Metric, Workload};
use unbloat_workload_host::{ConnectionEnd, Plan, Report, Settings, Traffic};

/// From the making of the threads to the run's zero.
const HEAD_START: Delta = Delta::ms(20);
const SAMPLE_EVERY: Delta = Delta::ms(10);

/// How an experiment is run.
#[derive(Clone)]
pub struct Options<'a> {
    /// [`Timing::Sleep`] where the kernel's time is virtual.
    pub timing: Timing,
    /// Hosts hand large packets to their devices, which the path splits; captures on hosts show them so. In virtual time they never do.
    pub has_offloads: bool,
    /// Keep series of queues and connections.
    pub keeps_series: bool,
    pub captures: Option<Captures>,
    /// Users' own commands, from the run's beginning to its end.
    pub beside: Vec<Beside>,
    /// Is told ten times a second how it goes.
    pub watcher: Option<Watcher<'a>>,
}

/// Whoever is told how a run goes.
pub type Watcher<'a> = &'a (dyn Fn(&Snapshot) + Sync);

/// What came of a run.
pub struct Ran {
    pub outcomes: Outcomes,
    pub tcp: Vec<TcpSample>,
    /// Every connection that there was, in the order of their ends; where series are kept.
    pub connections: Vec<ConnectionEnd>,
    pub verdict: Verdict,
    /// What the kernel did otherwise than the scenario says.
    pub differences: Vec<String>,
    /// By flow: the congestion controls of its server's and its client's sockets.
    pub controls: Vec<[Option<String>; 2]>,
    /// Settings of TCP by hosts.
    pub settings: BTreeMap<String, Vec<(String, String)>>,
    pub captures: Vec<CaptureFile>,
    pub beside: Vec<Ended>,
    /// The run's zero on the wall clock.
    pub zero: Time,
    /// It was stopped before its end.
    pub is_cut: bool,
}

/// Runs an experiment, until its end or until `stop`.
pub fn run(
    experiment: &Experiment,
    options: &Options<'_>,
    stop: &AtomicBool,
) -> Result<Ran, LabError> {
    if experiment.autorate.is_some() {
        return Err(LabError::Autorate);
    }
    let mut mapping = Mapping::of(&experiment.flows)?;
    controls::check(&mapping.controls)?;
    info!(
        experiment = experiment.name,
        flows = experiment.flows.len(),
        lasts_s = experiment.duration.as_secs(),
        seed = experiment.seed,
        "experiment"
    );
    for difference in &mapping.differences {
        info!(
            difference,
            "the kernel does otherwise than the scenario says"
        );
    }
    if options.timing == Timing::Sleep {
        Memory::of(experiment)?.allow()?;
    }
    let _windows = Windows::hold(&mapping, options.timing)?;
    let told = Windows::told(&mapping);
    mapping.differences.extend(told);
    let stage = Stage::build(experiment, &mapping, options)?;
    let zero = monotonic() + HEAD_START;
    let live = LivePath::default();
    let mut keeper = Keeper::new(experiment, options, live.clone(), stop);
    let crew = Crew {
        experiment,
        options,
        stage: &stage,
        zero,
        over: AtomicBool::new(false),
        ticks: stage.ticks(&mapping),
    };
    let traffic = traffic(options, experiment, &mapping, &stage)?;
    info!("traffic begins");
    let carried = crew.carry(traffic, live, &mut keeper)?;
    info!(
        took_s = carried.report.end.since(Time::from_ns(0)).as_secs(),
        is_cut = carried.report.is_cut,
        "traffic ended"
    );
    let kernel = Kernel {
        settings: stage.settings()?,
        shortage: shortage(&stage)?,
    };
    Ok(ran(experiment, mapping, carried, keeper, kernel))
}

/// Counters of the hosts' kernel after a run.
struct Kernel {
    settings: BTreeMap<String, Vec<(String, String)>>,
    shortage: Shortage,
}

/// What the threads of a run brought back.
struct Carried {
    emulated: Emulated,
    report: Report,
    queues: Vec<QueueTruth>,
    captures: Vec<CaptureFile>,
    beside: Vec<Ended>,
    zero: Time,
}

/// The threads of a run: one carries packets, one lets workloads send and receive them, others write down what passes. All
/// go on for as long as there is traffic.
struct Crew<'a> {
    experiment: &'a Experiment,
    options: &'a Options<'a>,
    stage: &'a Stage,
    /// The run's, on the monotonic clock.
    zero: Time,
    over: AtomicBool,
    ticks: Vec<Tick>,
}

impl Crew<'_> {
    fn carry(
        &self,
        traffic: Traffic,
        live: LivePath,
        keeper: &mut Keeper<'_>,
    ) -> Result<Carried, LabError> {
        let wall_zero = wall(self.zero);
        let mut witnesses: Vec<Box<dyn Witness>> = Vec::new();
        if self.options.watcher.is_some() {
            witnesses.push(Box::new(live));
        }
        std::thread::scope(|scope| {
            // Also when something fails: nobody would ever end.
            let over = SetOnDrop(&self.over);
            let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
            let mut taps = Vec::new();
            let mut hosts = None;
            if let Some(captures) = &self.options.captures {
                let hops = Both::new(self.experiment.down.len(), self.experiment.up.len());
                let (witness, files) = path_capture(captures, hops, wall_zero);
                witnesses.push(Box::new(witness));
                let tap = thread("path-capture").spawn_scoped(scope, || files.write());
                taps.push(tap.map_err(LabError::Thread)?);
                hosts = Some(HostCaptures::begin(
                    scope, self.stage, captures, &self.over,
                )?);
            }
            let queues = QueueWatch::begin(scope, self.stage, wall_zero, &self.over)?;
            let queues = queues.map(|(watch, witness)| {
                witnesses.push(Box::new(witness));
                watch
            });
            let emulator = self.emulator(witnesses)?;
            let path = thread("path").spawn_scoped(scope, || {
                let emulated = emulator.run(&self.over)?;
                // Whoever writes captures ends when the last witness is gone.
                Ok::<_, LabError>(Emulated {
                    witness: None,
                    ..emulated
                })
            });
            let path = path.map_err(LabError::Thread)?;
            let beside = Commands::start(&self.options.beside, self.stage)?;
            let clock = Clock::from(self.zero);
            let apps = thread("apps").spawn_scoped(scope, move || traffic.run(clock, keeper));
            let report = apps.map(|apps| apps.join());
            let beside = beside.finish();
            drop(over);
            let emulated = path.join().map_err(|_| LabError::Panicked)??;
            let queues = queues.map_or(Ok(Vec::new()), |queues| queues.finish(self.stage))?;
            let mut captures = hosts.map_or(Ok(Vec::new()), HostCaptures::finish)?;
            for tap in taps {
                captures.extend(tap.join().map_err(|_| LabError::Panicked)??);
            }
            let report = report.map_err(LabError::Thread)?;
            let report = report.map_err(|_| LabError::Panicked)??;
            Ok(Carried {
                emulated,
                report,
                queues,
                captures,
                beside,
                zero: wall_zero,
            })
        })
    }

    fn emulator(&self, mut witnesses: Vec<Box<dyn Witness>>) -> Result<Carrier, LabError> {
        let experiment = self.experiment;
        let down = self.stage.addressed(&experiment.down);
        let up = self.stage.addressed(&experiment.up);
        let ports = self.stage.ends.ports()?;
        let witness = match witnesses.len() {
            0 | 1 => witnesses.pop(),
            _ => Some(Box::new(Witnesses(witnesses)) as Box<dyn Witness>),
        };
        let setup = Setup {
            shares_radio: experiment.shares_radio,
            seed: experiment.seed,
            clock: Monotonic::since(self.zero.as_ns()),
            warm_at: Time::from_ns(0) + experiment.warmup,
            sample_every: experiment
                .sample_every
                .filter(|_| self.options.keeps_series),
            extra_delays: self.stage.extra_delays(experiment),
            ticks: self.ticks.clone(),
            witness,
            gates: self.stage.ends.gates(),
            ..Setup::new(down, up, ports, self.options.timing)
        };
        Ok(match self.stage.ends.wires()? {
            Some(wires) => Carrier::Ahead(Ahead::new(setup, wires)?),
            None => Carrier::Live(Emulator::new(setup)?),
        })
    }
}

/// What carries packets, as time is.
enum Carrier {
    Live(Emulator),
    Ahead(Ahead),
}

impl Carrier {
    fn run(self, stop: &AtomicBool) -> Result<Emulated, EmulatorError> {
        match self {
            Carrier::Live(emulator) => emulator.run(stop),
            Carrier::Ahead(ahead) => ahead.run(stop),
        }
    }
}

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What the wall clock shows when the monotonic one shows `at`, by the tightest of a few paired readings.
fn wall(at: Time) -> Time {
    let pair = |_| {
        let before = monotonic();
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let gap = monotonic().since(before);
        let now = since_epoch.map_or(0, |since| since.as_nanos() as i64);
        (gap, Time::from_ns(now) + at.since(before + gap / 2))
    };
    let tightest = (0..32).map(pair).min();
    tightest.map_or(at, |(_, wall)| wall)
}

/// A generator for each flow that draws as in the simulator: there the path forks its own from the same one before.
fn draws(experiment: &Experiment) -> Vec<Rng> {
    let mut rng = Rng::with_seed(experiment.seed);
    let start = Time::from_ns(0);
    drop(Route::new(
        Direction::Down,
        &experiment.down,
        start,
        start,
        &mut rng,
    ));
    drop(Route::new(
        Direction::Up,
        &experiment.up,
        start,
        start,
        &mut rng,
    ));
    experiment.flows.iter().map(|_| rng.fork()).collect()
}

fn traffic(
    options: &Options<'_>,
    experiment: &Experiment,
    mapping: &Mapping,
    stage: &Stage,
) -> Result<Traffic, LabError> {
    let (sites, numbers) = stage.sites()?;
    let flows = experiment
        .flows
        .iter()
        .zip(&mapping.tcp)
        .zip(experiment.start_delays())
        .zip(draws(experiment));
    let plans = flows.map(|(((flow, tcp), late), rng)| Plan {
        name: flow.name.clone(),
        workload: flow.workload.clone(),
        counts_from: Time::from_ns(0) + experiment.warmup,
        start: if flow.is_enabled {
            flow.start + late
        } else {
            Time::MAX
        },
        stop: flow.stop.map(|stop| stop + late),
        client: numbers[1][&flow.client.0],
        server: numbers[0][&flow.server.0],
        dscp: flow.dscp.0,
        rng,
        tcp: tcp.clone(),
    });
    let every = experiment.sample_every.filter(|every| *every > Delta::ZERO);
    let settings = Settings {
        sample_every: every.unwrap_or(SAMPLE_EVERY),
        is_realtime: options.timing == Timing::Spin,
        ..Settings::new(experiment.duration)
    };
    Ok(Traffic::new(plans.collect(), sites, settings)?)
}

fn ran(
    experiment: &Experiment,
    mapping: Mapping,
    carried: Carried,
    keeper: Keeper<'_>,
    kernel: Kernel,
) -> Ran {
    let Carried {
        mut emulated,
        report,
        queues,
        ..
    } = carried;
    let warm_at = Time::from_ns(0) + experiment.warmup;
    for queue in queues {
        queue.tell(&mut emulated.paths, &mut emulated.samples);
    }
    let end = report.end;
    let windows = keeper.windows();
    let controls = report
        .flows
        .iter()
        .map(|flow| flow.congestion_control.clone());
    let controls = controls.collect();
    let parts = experiment
        .flows
        .iter()
        .zip(report.flows)
        .zip(keeper.records)
        .zip(experiment.ends(end));
    let flows = parts.map(|(((plan, flow), mut record), until)| {
        record.connections = flow.connections;
        let mut metrics = flow.workload.metrics(warm_at, until);
        let troubles = [
            ("failed_connections", flow.failed),
            ("unsent_datagrams", flow.unsent),
        ];
        let troubles = troubles.into_iter().filter(|(_, count)| *count > 0);
        metrics.extend(troubles.map(|(name, count)| Metric::new(name, count as f64)));
        FlowOutcome {
            name: plan.name.clone(),
            group: plan.group.clone(),
            is_enabled: plan.is_enabled,
            end: until,
            times: experiment.times(&flow.workload),
            layers: Both::default(),
            metrics,
            record,
        }
    });
    experiment.note_carriable(&mut emulated.paths, &mut emulated.hops, end);
    let inside = emulated.inside.iter();
    let outcomes = Outcomes {
        flows: flows.collect(),
        under_way: inside
            .clone()
            .map(|backlog| u64::from(backlog.packets))
            .sum(),
        under_way_bytes: Bytes::new(inside.map(|backlog| backlog.bytes.as_u64()).sum()),
        paths: emulated.paths,
        hops: emulated.hops,
        radios: experiment.named_radios(emulated.radios),
        samples: emulated.samples,
        layers: emulated.layers,
        windows,
        tasks: emulated.report.counts.waits,
        end,
        warm_at,
    };
    let paths = outcomes.paths.iter();
    let on_path: u64 = paths.map(|path| path.dropped_packets).sum();
    let verdict = Verdict {
        repairs: Repairs {
            dropped: on_path + emulated.report.lost(),
            ..keeper.repairs
        },
        shortage: kernel.shortage,
        emulator: emulated.report,
        app_lateness_us: report.lateness_us,
        traffic_cpu: report.cpu,
    };
    for doubt in verdict.doubts() {
        info!(%doubt, "not trustworthy");
    }
    Ran {
        outcomes,
        tcp: keeper.samples,
        connections: keeper.closed,
        verdict,
        differences: mapping.differences.into_iter().collect(),
        controls,
        settings: kernel.settings,
        captures: carried.captures,
        beside: carried.beside,
        zero: carried.zero,
        is_cut: report.is_cut,
    }
}

/// Name and release of the kernel whose TCP it is.
pub fn kernel() -> String {
    let name = rustix::system::uname();
    let [system, release] = [name.sysname(), name.release()].map(|text| text.to_string_lossy());
    format!("{system} {release}")
}
