//! Localisation of the queue during the loads of a test.

use crate::locate::DriverWatch;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use unbloat_loadtest::{Load, Progress, Target};
use unbloat_locate::{Phase, Verdict};
use unbloat_locate_host::{Follower, LocateError, Options, Signal, Stage};
use unbloat_units::Delta;

/// Minimum length of the idle stage: five answers of a router that answers once a second.
const LEAST_IDLE: Delta = Delta::secs(6);
/// Fraction of a loaded stage in which the queue fills; its samples are excluded.
const FILL: f64 = 0.3;
/// Maximum time to find the hops.
const PATIENCE: Duration = Duration::from_secs(20);

pub struct Following {
    signal: Arc<Signal>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Vec<Verdict>, LocateError>>,
}

/// The options with a long enough idle stage and the address that is probed.
pub fn fitted(options: &unbloat_loadtest::Options) -> unbloat_loadtest::Options {
    let mut options = options.clone();
    let stages = options.plan.stages.iter_mut();
    for stage in stages.filter(|stage| stage.load == Load::Idle) {
        stage.lasts = stage.lasts.max(LEAST_IDLE);
    }
    options.address = options.address.or_else(|| address(&options));
    options
}

fn address(options: &unbloat_loadtest::Options) -> Option<IpAddr> {
    if let Target::Mlab(_) = options.target {
        // Its server is known only when the test begins.
        return None;
    }
    // The test says why a server cannot be reached.
    let found = unbloat_loadtest::reachable(options.target.origin()?, options.ip).ok()?;
    Some(found.ip())
}

impl Following {
    /// Starts to locate; returns when all hops are known, or after `PATIENCE`.
    pub fn begin(address: IpAddr, driver: DriverWatch) -> Following {
        let options = Options::new(address);
        let (signal, stop) = (
            Arc::new(Signal::default()),
            Arc::new(AtomicBool::new(false)),
        );
        let (ready, is_ready) = sync_channel(1);
        let thread = std::thread::spawn({
            let (signal, stop) = (signal.clone(), stop.clone());
            move || follow(&options, driver, &signal, ready, &stop)
        });
        // Failures are reported at the end.
        let _ = is_ready.recv_timeout(PATIENCE);
        Following {
            signal,
            stop,
            thread,
        }
    }

    pub fn tell(&self, at: &Progress) {
        let fills = at.elapsed.as_secs() < FILL * at.lasts.as_secs();
        self.signal.set(match at.load {
            Load::Idle => Some(Phase::Idle),
            _ if fills => None,
            Load::Down => Some(Phase::Down),
            Load::Up => Some(Phase::Up),
            // The direction of the queue cannot be determined.
            Load::Both => None,
        });
    }

    pub fn end(self) -> Result<Vec<Verdict>, LocateError> {
        self.stop.store(true, Ordering::Relaxed);
        match self.thread.join() {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

fn follow(
    options: &Options,
    driver: DriverWatch,
    signal: &Signal,
    ready: SyncSender<()>,
    stop: &AtomicBool,
) -> Result<Vec<Verdict>, LocateError> {
    let mut eyes = Eyes { driver, ready };
    let mut located = unbloat_locate_host::follow(options, signal, &mut eyes, stop)?;
    located.explain(&options.params, |phase| eyes.driver.under(phase));
    Ok(located.verdicts)
}

struct Eyes {
    driver: DriverWatch,
    ready: SyncSender<()>,
}

impl Follower for Eyes {
    fn is_ready(&mut self) {
        // Fails if the receiver has timed out.
        let _ = self.ready.send(());
    }

    fn round(&mut self, phase: Phase, is_new: bool) {
        self.driver.look(Stage::Measure(phase), is_new);
    }
}
