//! One application, from its start to its results.

use crate::apps::choice::App;
use crate::apps::clock::Clock;
use crate::apps::datagrams::Datagrams;
use crate::apps::line::Line;
use crate::apps::server::Server;
use fastrand::Rng;
use std::rc::Rc;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::watch::Receiver;
use unbloat_units::{Bytes, Delta, Direction, Time};
use unbloat_workload::{AnyWorkload, Conn, Happening, Metric, Network, Workload};

/// Notes of one application that are kept.
const MOST_NOTES: usize = 4;

/// How it went for one application's user.
#[derive(Clone, Debug, PartialEq)]
pub struct AppReport {
    pub name: String,
    /// Which workload it is.
    pub kind: &'static str,
    /// As simulator and lab name them.
    pub metrics: Vec<Metric>,
    pub connections: u64,
    /// Connections that failed.
    pub failed: u64,
    /// Datagrams that were not sent.
    pub unsent: u64,
    /// Why something failed, a few sentences at most.
    pub notes: Vec<String>,
}

/// What connections tell their application.
#[derive(Clone, Debug)]
pub(crate) struct Tell {
    clock: Clock,
    sender: UnboundedSender<Told>,
}

enum Told {
    Happened(Time, Happening),
    Failed(String),
}

impl Tell {
    // Nobody listens any more once an application has ended.

    pub(crate) fn happened(&self, happening: Happening) {
        let _ = self
            .sender
            .send(Told::Happened(self.clock.now(), happening));
    }

    pub(crate) fn failed(&self, why: String) {
        let _ = self.sender.send(Told::Failed(why));
    }
}

/// An application that is about to run.
pub(crate) struct Ready {
    app: App,
    datagrams: Result<Option<Datagrams>, String>,
}

impl Ready {
    pub(crate) async fn of(app: App, server: &Server, clock: Clock) -> Ready {
        let datagrams = match app.needs_datagrams() {
            false => Ok(None),
            true => Datagrams::open(server.echo, server.token.as_deref(), clock)
                .await
                .map(Some),
        };
        Ready { app, datagrams }
    }

    /// Runs until `stop`.
    pub(crate) async fn run(
        self,
        server: Rc<Server>,
        clock: Clock,
        rng: Rng,
        mut stop: Receiver<bool>,
    ) -> AppReport {
        let mut report = AppReport {
            name: self.app.name,
            kind: self.app.config.name(),
            metrics: Vec::new(),
            connections: 0,
            failed: 0,
            unsent: 0,
            notes: Vec::new(),
        };
        let opened = match self.datagrams {
            Ok(opened) => opened,
            Err(why) => {
                report.notes.push(why);
                return report;
            }
        };
        let (sender, mut told) = unbounded_channel();
        let tell = Tell { clock, sender };
        let mut line = Line::new(server, tell, rng, opened);
        let mut workload = self.app.config.build();
        let begin = clock.now();
        workload.start(begin, &mut line);
        line.flush();
        loop {
            let wake = line.next_wake();
            tokio::select! {
                _ = stop.changed() => break,
                Some(one) = told.recv() => match one {
                    Told::Happened(at, happening) => workload.on_happening(at, happening, &mut line),
                    Told::Failed(why) => {
                        report.failed += 1;
                        note(&mut report.notes, why);
                    }
                },
                () = sleep_until(clock, wake) => wake_up(&mut workload, &mut line, clock.now()),
                () = readable(line.datagrams.as_ref()) => {
                    line.datagrams.as_mut().into_iter().for_each(Datagrams::receive);
                }
            }
            line.flush();
        }
        let end = clock.now();
        settle(&mut workload, &mut line).await;
        report.metrics = workload.metrics(begin, end);
        report.connections = line.connections;
        report.unsent = line.datagrams.map_or(0, |echoes| echoes.unsent);
        report
    }
}

fn note(notes: &mut Vec<String>, why: String) {
    if notes.len() < MOST_NOTES && !notes.contains(&why) {
        notes.push(why);
    }
}

async fn sleep_until(clock: Clock, at: Option<Time>) {
    match at {
        Some(at) => tokio::time::sleep_until(clock.instant(at)).await,
        None => std::future::pending().await,
    }
}

async fn readable(datagrams: Option<&Datagrams>) {
    match datagrams {
        Some(datagrams) => datagrams.readable().await,
        None => std::future::pending().await,
    }
}

fn wake_up(workload: &mut AnyWorkload, line: &mut Line, now: Time) {
    let Some((at, tag)) = line.due(now) else {
        return;
    };
    line.late = now.since(at);
    workload.on_happening(now, Happening::Woke { tag }, line);
    line.late = Delta::ZERO;
}

/// Tells the workload which of its datagrams arrived: how long each took is known only once the clocks are.
async fn settle(workload: &mut AnyWorkload, line: &mut Line) {
    let Some(mut datagrams) = line.datagrams.take() else {
        return;
    };
    datagrams.close().await;
    datagrams.tell(&mut |echoes, at, happening| {
        // Nothing can be sent any more: what it asks for in answer is had of the echo that is being told, or not at all.
        let mut echo = Answering(echoes, &mut *line);
        workload.on_happening(at, happening, &mut echo);
    });
    line.datagrams = Some(datagrams);
}

/// The network of a workload whose time is over: only the other direction of an echo can still be had.
struct Answering<'a>(&'a mut Datagrams, &'a mut Line);

impl Network for Answering<'_> {
    fn exchange(&mut self, _: Conn, _: Bytes, _: Bytes) {}

    fn close(&mut self, _: Conn) {}

    fn datagram(&mut self, direction: Direction, number: u64, size: Bytes) {
        self.0.ask(direction, number, size);
    }

    fn wake(&mut self, _: Time, _: u32) {}

    fn rng(&mut self) -> &mut Rng {
        self.1.rng()
    }
}
