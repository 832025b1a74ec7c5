//! All applications of a stage, on a thread of their own.

use crate::apps::app::{AppReport, Ready};
use crate::apps::choice::App;
use crate::apps::clock::Clock;
use crate::apps::server::Server;
use fastrand::Rng;
use std::io;
use std::rc::Rc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use tokio::runtime::Builder;
use tokio::sync::watch;
use tokio::task::LocalSet;

/// Applications that run.
pub struct Apps {
    stop: watch::Sender<bool>,
    thread: JoinHandle<Vec<AppReport>>,
}

impl Apps {
    /// Starts applications and returns when they run, which takes a quarter of a second where some of them send datagrams. To be
    /// called before the path is loaded: the clocks of both ends are set against each other first. What cannot be started is told
    /// in its report. The same `seed` draws the same.
    pub fn start(server: &Server, apps: &[App], seed: u64) -> io::Result<Apps> {
        let (stop, stopped) = watch::channel(false);
        let (ready, is_ready) = channel();
        let (server, apps) = (server.clone().with_http1(), apps.to_vec());
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let thread = std::thread::Builder::new()
            .name("apps".to_owned())
            .spawn(move || {
                let all = run(server, apps, seed, stopped, ready);
                LocalSet::new().block_on(&runtime, all)
            })?;
        // An error means that the thread has ended, which `finish` tells.
        let _ = is_ready.recv();
        Ok(Apps { stop, thread })
    }

    /// Ends them, in a quarter of a second at most; their connections are reset. How it went, in the order given to
    /// [`Apps::start`].
    pub fn finish(self) -> Vec<AppReport> {
        let _ = self.stop.send(true);
        self.thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

async fn run(
    server: Server,
    apps: Vec<App>,
    seed: u64,
    stopped: watch::Receiver<bool>,
    ready: Sender<()>,
) -> Vec<AppReport> {
    let clock = Clock::begin();
    let server = Rc::new(server);
    let mut rng = Rng::with_seed(seed);
    let opening: Vec<_> = apps
        .into_iter()
        .map(|app| {
            let server = server.clone();
            tokio::task::spawn_local(async move { Ready::of(app, &server, clock).await })
        })
        .collect();
    let mut running = Vec::new();
    let mut opened = Vec::new();
    for one in opening {
        opened.push(one.await.expect("no application panics while it opens"));
    }
    let _ = ready.send(());
    for one in opened {
        let run = one.run(server.clone(), clock, rng.fork(), stopped.clone());
        running.push(tokio::task::spawn_local(run));
    }
    let mut reports = Vec::new();
    for one in running {
        reports.push(one.await.expect("no application panics"));
    }
    reports
}
