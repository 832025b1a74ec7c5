//! The run itself: a thread that carries packets, a thread that sends and receives them.

use crate::error::LabError;
use crate::mapping::Mapping;
use crate::stage::Stage;
use crate::verdict::Verdict;
use crate::watch::{Keeper, TcpSample};
use fastrand::Rng;
use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use unbloat_emulator::{Emulated, Emulator, Monotonic, Setup, Timing};
use unbloat_outcome::{FlowOutcome, Outcomes, Route};
use unbloat_scenario::Experiment;
use unbloat_traffic::{Clock, Plan, Report, Settings, Traffic, monotonic};
use unbloat_units::{Bytes, Delta, Time};
use unbloat_workload::Workload;

/// From the making of the threads to the run's zero.
const HEAD_START: Delta = Delta::ms(20);
/// Of workloads in real time: before everything else of the normal class.
const NICE: libc::c_int = -20;
const SAMPLE_EVERY: Delta = Delta::ms(10);

/// How an experiment is run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub timing: Timing,
    /// Keep series of queues and connections.
    pub keeps_series: bool,
}

/// What came of a run.
pub struct Ran {
    pub outcomes: Outcomes,
    pub tcp: Vec<TcpSample>,
    pub verdict: Verdict,
    /// What the kernel did otherwise than the scenario says.
    pub differences: Vec<String>,
    /// By flow: the congestion controls of its server's and its client's sockets.
    pub controls: Vec<[Option<String>; 2]>,
    /// Settings of TCP by hosts.
    pub settings: BTreeMap<String, Vec<(String, String)>>,
    /// It was stopped before its end.
    pub is_cut: bool,
}

/// Runs an experiment, until its end or until `stop`; tells from time to time how far it is.
pub fn run(
    experiment: &Experiment,
    options: &Options,
    stop: &AtomicBool,
    progress: &(dyn Fn(Time) + Sync),
) -> Result<Ran, LabError> {
    let mapping = Mapping::of(&experiment.flows)?;
    check_controls(&mapping)?;
    let stage = Stage::build(experiment, &mapping)?;
    let zero = monotonic() + HEAD_START;
    let emulator = emulator(experiment, options, &stage, zero)?;
    let traffic = traffic(experiment, &mapping, &stage)?;
    let mut keeper = Keeper::new(experiment, options.keeps_series, stop, progress);
    let (emulated, report) = carry(emulator, traffic, Clock::from(zero), &mut keeper)?;
    let settings = stage.settings()?;
    Ok(ran(experiment, mapping, emulated, report, keeper, settings))
}

/// Lets both threads run: packets are carried for as long as there is traffic.
fn carry(
    emulator: Emulator,
    traffic: Traffic,
    clock: Clock,
    keeper: &mut Keeper<'_>,
) -> Result<(Emulated, Report), LabError> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let path = thread("path").spawn_scoped(scope, || emulator.run(&over));
        let path = path.map_err(LabError::Thread)?;
        let apps = thread("apps").spawn_scoped(scope, || {
            // SAFETY: the call takes numbers. It concerns this thread, and does nothing where it is not permitted.
            unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) };
            traffic.run(clock, keeper)
        });
        let report = apps.map(|apps| apps.join());
        over.store(true, Ordering::Relaxed);
        let emulated = path.join().map_err(|_| LabError::Panicked)??;
        let report = report.map_err(LabError::Thread)?;
        let report = report.map_err(|_| LabError::Panicked)??;
        Ok((emulated, report))
    })
}

fn emulator(
    experiment: &Experiment,
    options: &Options,
    stage: &Stage,
    zero: Time,
) -> Result<Emulator, LabError> {
    let (down, up) = (experiment.down.clone(), experiment.up.clone());
    Ok(Emulator::new(Setup {
        shares_radio: experiment.shares_radio,
        seed: experiment.seed,
        clock: Monotonic::since(zero.as_ns()),
        warm_at: Time::from_ns(0) + experiment.warmup,
        sample_every: experiment.sample_every.filter(|_| options.keeps_series),
        extra_delays: stage.extra_delays(experiment),
        ..Setup::new(down, up, stage.ports()?, options.timing)
    })?)
}

/// A generator for each flow that draws as in the simulator: there the path forks its own from the same one before.
fn draws(experiment: &Experiment) -> Vec<Rng> {
    let mut rng = Rng::with_seed(experiment.seed);
    for elements in [&experiment.down, &experiment.up] {
        let start = Time::from_ns(0);
        drop(Route::new(elements, start, start, &mut rng));
    }
    experiment.flows.iter().map(|_| rng.fork()).collect()
}

fn traffic(experiment: &Experiment, mapping: &Mapping, stage: &Stage) -> Result<Traffic, LabError> {
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
        start: flow.start + late,
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
        ..Settings::new(experiment.duration)
    };
    Ok(Traffic::new(plans.collect(), sites, settings)?)
}

fn check_controls(mapping: &Mapping) -> Result<(), LabError> {
    let available = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .unwrap_or_default();
    for control in &mapping.controls {
        if !available
            .split_whitespace()
            .any(|name| name == control.kernel)
        {
            return Err(LabError::NoControl {
                scenario: control.scenario,
                kernel: control.kernel,
                available: available.trim().to_owned(),
            });
        }
    }
    Ok(())
}

fn ran(
    experiment: &Experiment,
    mapping: Mapping,
    emulated: Emulated,
    report: Report,
    keeper: Keeper<'_>,
    settings: BTreeMap<String, Vec<(String, String)>>,
) -> Ran {
    let (warm_at, end) = (Time::from_ns(0) + experiment.warmup, report.end);
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
        .zip(keeper.records);
    let flows = parts.map(|((plan, flow), mut record)| {
        record.connections = flow.connections;
        FlowOutcome {
            name: plan.name.clone(),
            metrics: flow.workload.metrics(warm_at, end),
            record,
        }
    });
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
        samples: emulated.samples,
        layers: emulated.layers,
        windows,
        tasks: emulated.report.counts.waits,
        end,
        warm_at,
    };
    Ran {
        outcomes,
        tcp: keeper.samples,
        verdict: Verdict {
            emulator: emulated.report,
            app_lateness_us: report.lateness_us,
            traffic_cpu: report.cpu,
        },
        differences: mapping.differences.into_iter().collect(),
        controls,
        settings,
        is_cut: report.is_cut,
    }
}

/// Name and release of the kernel whose TCP it is.
pub fn kernel() -> String {
    let name = nix::sys::utsname::uname();
    name.map_or_else(
        |_| "unknown".to_owned(),
        |name| format!("{} {}", name.sysname().display(), name.release().display()),
    )
}
