//! The run: events of sockets and tasks by their times, on one thread.

use crate::agenda::{Agenda, Task};
use crate::app::{App, Ports};
use crate::class::Class;
use crate::connection::Connection;
use crate::end::{End, listen};
use crate::error::{Doing, TrafficError};
use crate::plan::{Plan, Settings, Site, server_port};
use crate::poll::{Event, Poll, Token};
use crate::report::{ConnectionEnd, Ending, Report, Watch};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use socket2::Socket;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use tracing::{debug, trace};
use unbloat_os::clock::{Clock, thread_cpu};
use unbloat_os::{limit, priority};
use unbloat_stats::LogHistogram;
use unbloat_units::{Both, Bytes, Delta, Direction, Time};
use unbloat_workload::{AnyWorkload, Happening, Network, Workload};

/// System calls cost more than what they copy.
const WRITE_BYTES: usize = 1 << 20;
/// Tasks between looks at the sockets.
const TASKS: usize = 64;
/// Longest time without a look at the clock.
const LONGEST_WAIT: Delta = Delta::secs(1);

/// Workloads on sockets of the kernel.
pub struct Traffic {
    plans: Vec<Plan>,
    settings: Settings,
    apps: Vec<App>,
    net: Net,
    lateness_us: LogHistogram,
    class: Class,
    /// When the last wait ended.
    looked_at: Time,
    is_over: bool,
    is_cut: bool,
}

/// What all workloads share.
pub(crate) struct Net {
    pub(crate) clock: Clock,
    pub(crate) sites: Vec<Site>,
    entered: Option<usize>,
    pub(crate) poll: Poll,
    pub(crate) agenda: Agenda,
    listeners: Vec<Option<Socket>>,
    pub(crate) conns: Vec<Option<Box<Connection>>>,
    /// Connections whose server's end has not come yet, by their clients' addresses.
    pub(crate) by_peer: HashMap<(u32, Ipv4Addr, u16), u32>,
    happenings: VecDeque<(u32, Time, Happening)>,
    /// Connections that are over.
    gone: Vec<(u32, Ending)>,
    pub(crate) read_at_least: Bytes,
    zeros: Vec<u8>,
    pub(crate) buffer: Vec<u8>,
    fault: Option<TrafficError>,
}

impl Traffic {
    /// Prepares; nothing is sent before [`Traffic::run`].
    pub fn new(
        plans: Vec<Plan>,
        sites: Vec<Site>,
        settings: Settings,
    ) -> Result<Traffic, TrafficError> {
        let apps = (0..).zip(&plans).map(|(flow, plan)| App::new(flow, plan));
        Ok(Traffic {
            apps: apps.collect(),
            net: Net {
                clock: Clock::from(Time::from_ns(0)),
                sites,
                entered: None,
                poll: Poll::new()?,
                agenda: Agenda::default(),
                listeners: plans.iter().map(|_| None).collect(),
                conns: Vec::new(),
                by_peer: HashMap::new(),
                happenings: VecDeque::new(),
                gone: Vec::new(),
                read_at_least: settings.read_at_least,
                zeros: vec![0; WRITE_BYTES],
                buffer: Vec::new(),
                fault: None,
            },
            plans,
            settings,
            lateness_us: LogHistogram::new(),
            class: Class::take(false, Time::from_ns(0)),
            looked_at: Time::from_ns(0),
            is_over: false,
            is_cut: false,
        })
    }

    /// Runs until the end, or until `watch` has it cut. It enters the namespaces of the sites: give it a thread of its own.
    pub fn run(mut self, clock: Clock, watch: &mut dyn Watch) -> Result<Report, TrafficError> {
        priority::make_timers_exact();
        // A connection takes two files; if it cannot be raised, a fault says that there are too many.
        limit::raise_open_files();
        self.net.clock = clock;
        self.looked_at = clock.now();
        self.class = Class::take(self.settings.is_realtime, self.looked_at);
        debug!(
            workloads = self.plans.len(),
            sites = self.net.sites.len(),
            is_realtime = self.settings.is_realtime,
            "workloads run"
        );
        self.plan();
        while !self.is_over {
            self.turn(watch)?;
        }
        let end = clock.now();
        for id in 0..self.net.conns.len() as u32 {
            self.end(id, Ending::Cut, end, watch);
        }
        Ok(Report {
            flows: self.apps.into_iter().map(App::report).collect(),
            lateness_us: self.lateness_us,
            cpu: thread_cpu(),
            is_realtime: self.class.is_realtime(),
            end,
            is_cut: self.is_cut,
        })
    }

    fn plan(&mut self) {
        let start = Time::from_ns(0);
        for (plan, flow) in self.plans.iter().zip(0..) {
            self.net.agenda.plan(plan.start, Task::Start(flow));
            if let Some(stop) = plan.stop {
                self.net.agenda.plan(stop, Task::Stop(flow));
            }
        }
        if self.settings.sample_every > Delta::ZERO {
            self.net.agenda.plan(start, Task::Sample);
        }
        self.net
            .agenda
            .plan(start + self.settings.duration, Task::End);
    }

    /// Waits for what comes next and handles it.
    fn turn(&mut self, watch: &mut dyn Watch) -> Result<(), TrafficError> {
        let events = self.net.poll.wait(self.time_left())?;
        self.looked_at = self.net.clock.now();
        for event in events {
            self.handle(event, self.looked_at, watch)?;
            self.settle(self.looked_at, watch);
        }
        for _ in 0..TASKS {
            let now = self.now();
            let Some((at, task)) = self.net.agenda.due(now) else {
                break;
            };
            self.act(at, task, now, watch);
            self.settle(now, watch);
        }
        self.net.fault.take().map_or(Ok(()), Err)
    }

    /// The time now, or that of the last wake-up where nobody asks for promptness: in virtual time to work takes none, and to
    /// look at the clock takes longer than all else.
    fn now(&self) -> Time {
        match self.settings.is_realtime {
            true => self.net.clock.now(),
            false => self.looked_at,
        }
    }

    /// Until the next task is due.
    fn time_left(&self) -> Delta {
        let now = self.now();
        let next = self.net.agenda.next_at();
        next.map_or(LONGEST_WAIT, |at| at.since(now).min(LONGEST_WAIT))
    }

    fn handle(
        &mut self,
        event: Event,
        now: Time,
        watch: &mut dyn Watch,
    ) -> Result<(), TrafficError> {
        match event.token {
            Token::Listener(flow) => self.accept(flow)?,
            Token::End(id, sender) => {
                self.net.on_event(id, sender, event, now);
            }
            Token::Datagrams(flow, direction) => self.receive(flow, direction, watch)?,
        }
        Ok(())
    }

    /// Takes the connections that wait.
    fn accept(&mut self, flow: u32) -> Result<(), TrafficError> {
        while let Some(listener) = &self.net.listeners[flow as usize] {
            let (socket, peer) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // The peer was gone before it was taken.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(error).doing(|| "accepting a connection".to_owned()),
            };
            let peer = peer.as_socket_ipv4();
            let peer = peer.map(|peer| (flow, *peer.ip(), peer.port()));
            let id = peer.and_then(|peer| self.net.by_peer.remove(&peer));
            // Others than our clients are turned away, and clients that have left meanwhile.
            let Some(id) = id else { continue };
            socket
                .set_nonblocking(true)
                .doing(|| "accepting a connection".to_owned())?;
            let end = End::new(socket);
            let links = &mut self.apps[flow as usize].links;
            links.congestion_control[0]
                .get_or_insert_with(|| end.congestion_control().unwrap_or_default());
            self.net
                .poll
                .add(end.fd(), Token::End(id, Direction::Down))?;
            self.net
                .step(id, |connection, _, _| connection.accepted(end));
        }
        Ok(())
    }

    fn receive(
        &mut self,
        flow: u32,
        direction: Direction,
        watch: &mut dyn Watch,
    ) -> Result<(), TrafficError> {
        let links = &self.apps[flow as usize].links;
        let Some(ports) = &links.ports else {
            return Ok(());
        };
        let happenings = &mut self.net.happenings;
        let received = ports[direction].receive(self.net.clock, |arrival| {
            watch.read(arrival.at, flow, direction, arrival.payload);
            let happening = Happening::Arrived {
                direction,
                number: arrival.number,
                delay: arrival.at.since(arrival.sent),
            };
            happenings.push_back((flow, arrival.at, happening));
        });
        received.doing(|| "receiving datagrams".to_owned())
    }

    fn act(&mut self, at: Time, task: Task, now: Time, watch: &mut dyn Watch) {
        let late = now.since(at);
        self.lateness_us.record(late.as_ns() as f64 / 1e3);
        match task {
            Task::Start(flow) => {
                debug!(flow = self.plans[flow as usize].name, "workload begins");
                self.with_app(flow, late, |workload, network| workload.start(now, network))
            }
            Task::Stop(flow) => {
                debug!(flow = self.plans[flow as usize].name, "workload stops");
                self.stop(flow, now, watch);
            }
            Task::Wake { flow, tag } => self.with_app(flow, late, |workload, network| {
                workload.on_happening(now, Happening::Woke { tag }, network);
            }),
            Task::Sample => {
                self.sample(now, watch);
                self.net
                    .agenda
                    .plan(at + self.settings.sample_every, Task::Sample);
            }
            Task::End => self.is_over = true,
        }
    }

    /// Tells workloads what happened, until nothing is left to do now, and lets go of connections that are over.
    fn settle(&mut self, now: Time, watch: &mut dyn Watch) {
        loop {
            if let Some((flow, at, happening)) = self.net.happenings.pop_front() {
                if let Happening::Read {
                    direction, bytes, ..
                } = happening
                {
                    watch.read(at, flow, direction, bytes);
                }
                self.with_app(flow, Delta::ZERO, |workload, network| {
                    workload.on_happening(at, happening, network);
                });
            } else if let Some((id, ending)) = self.net.gone.pop() {
                if let Some(connection) = slot(&mut self.net.conns, id) {
                    let links = &mut self.apps[connection.flow as usize].links;
                    links.failed += u64::from(ending == Ending::Failed);
                }
                self.end(id, ending, now, watch);
            } else {
                return;
            }
        }
    }

    fn with_app(
        &mut self,
        flow: u32,
        late: Delta,
        act: impl FnOnce(&mut AnyWorkload, &mut dyn Network),
    ) {
        let app = &mut self.apps[flow as usize];
        if app.links.is_stopped {
            return;
        }
        app.links.late = late;
        let mut network = Ports {
            links: &mut app.links,
            plan: &self.plans[flow as usize],
            net: &mut self.net,
        };
        act(&mut app.workload, &mut network);
        app.links.late = Delta::ZERO;
    }

    /// The user leaves: connections end as they are.
    fn stop(&mut self, flow: u32, now: Time, watch: &mut dyn Watch) {
        let links = &mut self.apps[flow as usize].links;
        links.is_stopped = true;
        links.ports = None;
        let conns = std::mem::take(&mut links.conns);
        for id in conns.into_iter().flatten() {
            self.end(id, Ending::Cut, now, watch);
        }
    }

    /// A connection ends; what is still under way is cut off by a reset.
    fn end(&mut self, id: u32, ending: Ending, now: Time, watch: &mut dyn Watch) {
        let Some(connection) = self.net.conns.get_mut(id as usize).and_then(Option::take) else {
            return;
        };
        let plan = &self.plans[connection.flow as usize];
        let [to, from] = [plan.client, plan.server].map(|site| self.net.sites[site].address);
        let read = |sender| connection.end(sender).map_or(0, |end| end.read);
        let closed = ConnectionEnd {
            client: (to, connection.port),
            server: (from, server_port(connection.flow)),
            ending,
            read: Both::of(|direction| Bytes::new(read(direction.reverse()))),
            ends: Direction::BOTH.map(|sender| connection.end(sender).and_then(End::info)),
        };
        trace!(
            flow = plan.name,
            connection = connection.conn.0,
            ?ending,
            up_bytes = closed.read.up.as_u64(),
            down_bytes = closed.read.down.as_u64(),
            "connection ended"
        );
        watch.ended(now, connection.flow, connection.conn, &closed);
        let peer = (connection.flow, to, connection.port);
        self.net.by_peer.remove(&peer);
        if !connection.is_shut() {
            let Connection { client, server, .. } = *connection;
            client.abort();
            server.into_iter().for_each(End::abort);
        }
    }

    fn sample(&mut self, now: Time, watch: &mut dyn Watch) {
        for (connection, id) in self.net.conns.iter().zip(0..) {
            let Some(connection) = connection.as_ref().filter(|one| one.is_open) else {
                continue;
            };
            let both = &self.plans[connection.flow as usize].tcp;
            for (direction, tcp) in [Direction::Down, Direction::Up].into_iter().zip(both) {
                connection.end(direction).inspect(|end| end.clamp(tcp));
            }
            let sender = connection.busier();
            if let Some(info) = connection.end(sender).and_then(End::info) {
                watch.sample(now, connection.flow, id, sender, &info);
            }
        }
        self.class.look(now);
        if watch.tick(now) {
            self.is_cut = true;
            self.is_over = true;
        }
    }
}

impl Net {
    /// Keeps the first fault; it ends the run.
    pub(crate) fn keep_fault<T>(&mut self, result: Result<T, TrafficError>) -> Option<T> {
        result.map_err(|fault| self.fault.get_or_insert(fault)).ok()
    }

    /// Has this thread open its next sockets at a site.
    pub(crate) fn enter(&mut self, site: usize) -> Result<(), TrafficError> {
        if self.entered == Some(site) {
            return Ok(());
        }
        if let Some(namespace) = &self.sites[site].namespace {
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
                .doing(|| "entering a network namespace".to_owned())?;
        }
        self.entered = Some(site);
        Ok(())
    }

    pub(crate) fn listen(&mut self, flow: u32, plan: &Plan) -> Result<(), TrafficError> {
        if self.listeners[flow as usize].is_some() {
            return Ok(());
        }
        self.enter(plan.server)?;
        let host = self.sites[plan.server].address;
        let socket = listen(host, server_port(flow), &plan.tcp[0], plan.dscp)
            .doing(|| format!("listening for {:?}", plan.name))?;
        self.poll.add(&socket, Token::Listener(flow))?;
        self.listeners[flow as usize] = Some(socket);
        Ok(())
    }

    /// Does something with a connection; what it means to the workload happens next. An error of the kernel ends the connection,
    /// not the run.
    pub(crate) fn step(
        &mut self,
        id: u32,
        act: impl FnOnce(&mut Connection, &[u8], &mut dyn FnMut(Happening)) -> io::Result<()>,
    ) {
        let now = self.clock.now();
        self.step_at(now, id, act);
    }

    fn step_at(
        &mut self,
        now: Time,
        id: u32,
        act: impl FnOnce(&mut Connection, &[u8], &mut dyn FnMut(Happening)) -> io::Result<()>,
    ) {
        let Some(connection) = slot(&mut self.conns, id) else {
            return;
        };
        let (flow, happenings) = (connection.flow, &mut self.happenings);
        let mut tell = |happening| happenings.push_back((flow, now, happening));
        let done =
            act(connection, &self.zeros, &mut tell).and_then(|()| connection.shut_if_through());
        if done.is_err() {
            self.gone.push((id, Ending::Failed));
        }
    }

    /// The client's application goes away.
    pub(crate) fn reset(&mut self, id: u32) {
        self.gone.push((id, Ending::Reset));
    }

    fn on_event(&mut self, id: u32, sender: Direction, event: Event, now: Time) {
        let has_failed = |connection: &Connection| {
            let end = connection.end(sender);
            end.is_some_and(|end| !matches!(end.socket.take_error(), Ok(None)))
        };
        if event.is_broken && slot(&mut self.conns, id).is_some_and(|one| has_failed(one)) {
            self.gone.push((id, Ending::Failed));
            return;
        }
        self.step_at(now, id, |connection, zeros, mut tell| {
            if event.is_readable {
                connection.on_readable(sender, zeros, &mut tell)?;
            }
            if event.is_writable {
                connection.on_writable(sender, zeros, &mut tell)?;
            }
            Ok(())
        });
        // Nothing can be on its way any more once the server has heard the client's FIN.
        let is_shut = slot(&mut self.conns, id).is_some_and(|one| one.is_shut());
        if is_shut && sender == Direction::Down && event.is_closed {
            self.gone.push((id, Ending::Through));
        }
    }
}

fn slot(conns: &mut [Option<Box<Connection>>], id: u32) -> Option<&mut Connection> {
    conns.get_mut(id as usize)?.as_deref_mut()
}
