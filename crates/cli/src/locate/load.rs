//! The load of a run: a stage of `unbloat test` that lasts until it is stopped.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use unbloat_loadtest::{Options, Plan, Progress, Stack, Stage};
use unbloat_locate::Phase;
use unbloat_units::{Delta, Rate};

/// Longer than any run.
const LASTS: Delta = Delta::secs(900);
/// Time for the connection and the first data.
const PATIENCE: Duration = Duration::from_secs(15);
/// Interval at which the loop checks whether to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

pub struct ServerLoad {
    options: Options,
    /// The user stops the whole run.
    is_over: Arc<AtomicBool>,
    running: Option<Running>,
}

struct Running {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<(), String>>,
}

impl ServerLoad {
    pub fn new(options: Options, is_over: Arc<AtomicBool>) -> ServerLoad {
        ServerLoad {
            options,
            is_over,
            running: None,
        }
    }
}

impl unbloat_locate_host::Load for ServerLoad {
    fn start(&mut self, direction: Phase) -> Result<(), String> {
        let mut options = self.options.clone();
        options.plan = plan(direction);
        let stop = Arc::new(AtomicBool::new(false));
        let (flows, has_begun) = sync_channel(1);
        let told = stop.clone();
        let thread = std::thread::spawn(move || carry(&options, &told, &flows));
        self.running = Some(Running { stop, thread });
        self.await_data(&has_begun)
    }

    fn stop(&mut self) -> Result<(), String> {
        let Some(running) = self.running.take() else {
            return Ok(());
        };
        let has_ended = running.thread.is_finished();
        running.stop.store(true, Ordering::Relaxed);
        let ended = running.thread.join();
        match ended {
            Ok(Err(message)) if has_ended => Err(format!("it ended too early: {message}")),
            _ if has_ended => Err("it ended too early".to_owned()),
            // It ran until it was stopped.
            _ => Ok(()),
        }
    }
}

impl ServerLoad {
    fn await_data(&mut self, has_begun: &std::sync::mpsc::Receiver<()>) -> Result<(), String> {
        let until = Instant::now() + PATIENCE;
        let begun = loop {
            let is_late = Instant::now() >= until || self.is_over.load(Ordering::Relaxed);
            match has_begun.recv_timeout(LOOK_EVERY) {
                Err(RecvTimeoutError::Timeout) if !is_late => {}
                other => break other,
            }
        };
        match begun {
            Ok(()) => Ok(()),
            Err(RecvTimeoutError::Timeout) => {
                Err(format!("no data arrived within {} s", PATIENCE.as_secs()))
            }
            Err(RecvTimeoutError::Disconnected) => {
                let ended = self.running.take().map(|running| running.thread.join());
                match ended {
                    Some(Ok(Err(message))) => Err(message),
                    _ => Err("it ended before any data arrived".to_owned()),
                }
            }
        }
    }
}

/// Connects to the load server, so that a missing server is reported at once and not after half a minute.
pub fn knock(at: SocketAddr) -> std::io::Result<()> {
    const PATIENCE: Duration = Duration::from_secs(5);
    TcpStream::connect_timeout(&at, PATIENCE).map(drop)
}

fn plan(direction: Phase) -> Plan {
    let load = match direction {
        Phase::Idle => unbloat_loadtest::Load::Idle,
        Phase::Down => unbloat_loadtest::Load::Down,
        Phase::Up => unbloat_loadtest::Load::Up,
        Phase::Both => unbloat_loadtest::Load::Both,
    };
    Plan {
        stages: vec![Stage {
            load,
            // Unsent data in sockets does not delay packets on the path.
            stack: Stack::NetworkOnly,
            lasts: LASTS,
        }],
        interval: Delta::secs(1),
        name: "locate",
    }
}

fn carry(options: &Options, stop: &AtomicBool, flows: &SyncSender<()>) -> Result<(), String> {
    let mut on_progress = |progress: &Progress| {
        if progress.down.max(progress.up) > Rate::ZERO {
            // Reported once; the channel is full after that.
            let _ = flows.try_send(());
        }
    };
    let measured = unbloat_loadtest::measure(options, stop, &mut on_progress);
    let measured = measured.map_err(|error| error.to_string())?;
    match measured.limitations.first() {
        Some(lack) if !stop.load(Ordering::Relaxed) => Err(lack.clone()),
        _ => Ok(()),
    }
}
