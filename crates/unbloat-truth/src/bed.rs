//! One run of one scenario: built, run, written down, torn down.

use crate::clock::Clock;
use crate::core::{Counts, Path, client_address};
use crate::error::{LabError, at};
use crate::kernel::{KernelLog, KernelReport};
use crate::middlebox::{Lateness, Middlebox, MiddleboxReport};
use crate::record::{Capture, Recorder, write_rates};
use crate::scenario::Scenario;
use crate::sink::DiskThread;
use crate::summary;
use crate::tap::{Tap, TapReport};
use crate::tun::Tun;
use crate::workload::{SERVER, WorkloadLog, run_clients, run_server};
use ipnet::IpNet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;
use unbloat_bed::{Bed, Host, Route};

const DEVICE: &str = "tun0";
const MTU: u32 = 1410;

/// What to run and where to put it.
#[derive(Clone, Debug)]
pub struct RunParams {
    pub scenario: Scenario,
    /// The scenario's name, for `run.json`.
    pub name: String,
    pub seed: u64,
    pub length: Duration,
    pub folder: PathBuf,
    pub capture: Capture,
    /// Record what the senders' kernels do (needs clang, libbpf's headers and BTF).
    pub kernel: bool,
}

/// What the bed counted; also in `run.json`.
#[derive(Clone, Copy, Debug)]
pub struct BedReport {
    pub counts: Counts,
    /// Packets that are not TCP or UDP over IPv4 of a client, and were ignored.
    pub foreign: u64,
    /// Packets that the far device refused.
    pub refused: u64,
    /// Packets that the devices' own queues dropped before the bed saw them.
    pub device_drops: u64,
    /// Packets still on the path at the end.
    pub inside: usize,
    pub lateness: Lateness,
    pub kernel: Option<KernelReport>,
    /// The server's own capture.
    pub tap: TapReport,
}

/// Runs a bed until its time is over or `stop` becomes true.
///
/// Everything it makes in the system is gone when this returns, whatever happens.
pub fn run(params: &RunParams, stop: &AtomicBool) -> Result<BedReport, LabError> {
    fs::create_dir_all(&params.folder).map_err(at(&params.folder))?;
    let bed = Bed::new()?;
    let clock = Clock::start();
    let client = bed.host("client")?;
    let server = bed.host("server")?;
    let kernel = params.kernel.then(|| KernelLog::load(&client, &server));
    let kernel = kernel.transpose()?;
    let report = run_between(params, stop, clock, [&client, &server], kernel)?;
    summary::write(params, &report)?;
    Ok(report)
}

fn run_between(
    params: &RunParams,
    stop: &AtomicBool,
    clock: Clock,
    [client, server]: [&Host; 2],
    kernel: Option<KernelLog>,
) -> Result<BedReport, LabError> {
    let links = &params.scenario.path.clients;
    let addresses: Vec<_> = (0..links.len()).map(client_address).collect();
    let tuns = [
        connect(client, &addresses, "10.99.0.0/16")?,
        connect(server, &[SERVER], "10.45.0.0/16")?,
    ];
    let disk = DiskThread::start();
    let start = clock.now();
    let middlebox = Middlebox {
        clock,
        path: Path::new(&params.scenario.path, start, params.seed),
        client: &tuns[0],
        server: &tuns[1],
        recorder: Recorder::create(&params.folder, &disk, params.capture)?,
    };
    let tap = Tap::open(server, DEVICE)?;
    let tap_sink = disk.create(&params.folder.join("server.pcap"))?;
    let kernel_sink = disk.create(&params.folder.join("kernel.csv"))?;
    let ends = Ends::default();
    let (carried, logged, tapped) = std::thread::scope(|scope| {
        // Whatever fails below, every thread is told to end before the scope waits for them.
        let _all = ends.on_drop();
        let carrying = scope.spawn(|| middlebox.run(&ends.middlebox));
        let logging = kernel.map(|log| {
            let end = &ends.kernel;
            scope.spawn(move || log.run(clock, kernel_sink, end))
        });
        let tapping = {
            let (tap, end) = (&tap, &ends.tap);
            scope.spawn(move || tap.run(clock, params.capture, tap_sink, end))
        };
        let serving = serve(scope, server, &ends.server)?;
        client.within(|| browse(params, clock, stop))??;
        end(&ends.server, serving, "server")??;
        let carried = end(&ends.middlebox, carrying, "middlebox")?;
        let tapped = end(&ends.tap, tapping, "server's capture")??;
        let logged = logging.map(|thread| {
            let log = end(&ends.kernel, thread, "kernel log");
            log.and_then(|finished| finished)
        });
        Ok::<_, LabError>((carried, logged.transpose()?, tapped))
    })?;
    write_rates(&params.folder, &disk, links, start, clock.now())?;
    disk.finish(&params.folder)?;
    let [client_counts, server_counts] = [client, server].map(|side| side.counters(DEVICE));
    let dropped = client_counts?.sent_dropped + server_counts?.sent_dropped;
    Ok(BedReport::new(carried, dropped, logged, tapped))
}

/// The flags that end the threads, in the order in which they are to end.
#[derive(Default)]
struct Ends {
    server: AtomicBool,
    middlebox: AtomicBool,
    tap: AtomicBool,
    kernel: AtomicBool,
}

struct EndAll<'a>(&'a Ends);

impl Ends {
    fn on_drop(&self) -> EndAll<'_> {
        EndAll(self)
    }
}

impl Drop for EndAll<'_> {
    fn drop(&mut self) {
        let Ends {
            server,
            middlebox,
            tap,
            kernel,
        } = self.0;
        for flag in [server, middlebox, tap, kernel] {
            flag.store(true, Ordering::Relaxed);
        }
    }
}

fn end<T>(
    flag: &AtomicBool,
    thread: ScopedJoinHandle<'_, T>,
    what: &'static str,
) -> Result<T, LabError> {
    flag.store(true, Ordering::Relaxed);
    thread.join().map_err(|_| LabError::Thread { what })
}

/// Gives a host its addresses, and a device that leads to the others'.
fn connect(host: &Host, addresses: &[Ipv4Addr], others: &str) -> Result<Tun, LabError> {
    let tun = unbloat_bed::Tun {
        mtu: MTU,
        ..unbloat_bed::Tun::default()
    };
    let fd = host.tun(DEVICE, &tun)?;
    for address in addresses {
        host.address(DEVICE, IpNet::from(IpAddr::from(*address)))?;
    }
    let others = others.parse().expect("a network");
    host.route(others, Route::Device(DEVICE))?;
    Ok(fd.into())
}

/// Starts the server and returns when its ports are open.
fn serve<'scope>(
    scope: &'scope Scope<'scope, '_>,
    server: &'scope Host,
    stop: &'scope AtomicBool,
) -> Result<ScopedJoinHandle<'scope, Result<(), LabError>>, LabError> {
    let (sender, ready) = mpsc::channel();
    let thread = scope.spawn(move || {
        server.enter()?;
        run_server(stop, move || sender.send(()).unwrap_or_default())
    });
    if ready.recv().is_err() {
        end(stop, thread, "server")??;
        return Err(LabError::Thread { what: "server" });
    }
    Ok(thread)
}

fn browse(params: &RunParams, clock: Clock, stop: &AtomicBool) -> Result<(), LabError> {
    let log = WorkloadLog::new(clock);
    let clients = params.scenario.path.clients.len();
    let traffic = &params.scenario.traffic;
    run_clients(traffic, clients, params.seed, params.length, stop, &log)?;
    log.write(&params.folder)
}

impl BedReport {
    fn new(
        carried: MiddleboxReport,
        device_drops: u64,
        kernel: Option<KernelReport>,
        tap: TapReport,
    ) -> BedReport {
        BedReport {
            counts: carried.counts,
            foreign: carried.foreign,
            refused: carried.refused,
            device_drops,
            inside: carried.inside,
            lateness: carried.lateness,
            kernel,
            tap,
        }
    }
}
