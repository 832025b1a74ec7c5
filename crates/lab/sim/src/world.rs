//! The run: one task after the other, in order of time.

use crate::body::{Body, DATAGRAM_HEADER_BYTES};
use crate::connection::{Connection, Outcome};
use crate::due::Due;
use crate::prefetch::prefetch;
use crate::wire::{Labels, Task, Wire};
use fastrand::Rng;
use unbloat_experiment::outcome::{
    FlowOutcome, FlowRecord, LayerSample, Outcomes, Route, Sample, WindowSample,
};
use unbloat_experiment::scenario::{Experiment, Flow};
use unbloat_link::Element;
use unbloat_qdisc::Packet;
use unbloat_units::{Both, Bytes, Delta, Direction, Time};
use unbloat_workload::{AnyWorkload, Conn, Happening, Network, Workload};

/// Runs an experiment. The same experiment gives the same outcome, to the last bit.
pub fn run(experiment: &Experiment) -> Outcomes {
    let outcomes = run_while(experiment, &mut |_| true);
    outcomes.expect("nobody stopped it")
}

/// Runs an experiment as long as it may: `may_go_on` is asked every few thousand tasks, with the number of those done. Without an
/// outcome if it was stopped.
pub fn run_while(
    experiment: &Experiment,
    may_go_on: &mut dyn FnMut(u64) -> bool,
) -> Option<Outcomes> {
    let mut world = World::new(experiment);
    world.run(may_go_on).then(|| world.outcomes())
}

/// Between two questions whether to go on: a few milliseconds.
const TASKS_BETWEEN: u64 = 1 << 13;

/// So many connections, of 4 kB each, stay in the cache by themselves.
const FEW: usize = 64;

/// A workload and what belongs to it.
struct App {
    workload: AnyWorkload,
    links: Links,
    record: FlowRecord,
}

/// A workload's side of the network.
struct Links {
    flow: u32,
    labels: Labels,
    rng: Rng,
    /// Numbers in the run of its connections.
    conns: Vec<Option<u32>>,
    is_stopped: bool,
}

struct World<'e> {
    experiment: &'e Experiment,
    wire: Wire,
    conns: Vec<Option<Box<Connection>>>,
    /// Numbers of those that were open when last looked at, and of later ones.
    open: Vec<u32>,
    known: u32,
    apps: Vec<App>,
    happenings: Due<(u32, Happening)>,
    samples: Vec<Sample>,
    layers: Vec<LayerSample>,
    windows: Vec<WindowSample>,
    end: Time,
    warm_at: Time,
    tasks: u64,
}

impl<'e> World<'e> {
    fn new(experiment: &'e Experiment) -> World<'e> {
        let start = Time::from_ns(0);
        let warm_at = start + experiment.warmup;
        let mut rng = Rng::with_seed(experiment.seed);
        let mut down = Route::new(Direction::Down, &experiment.down, start, warm_at, &mut rng);
        let mut up = Route::new(Direction::Up, &experiment.up, start, warm_at, &mut rng);
        if experiment.shares_radio {
            down.share_radio(&mut up);
        }
        let mut wire = Wire::new(Both::new(down, up), warm_at);
        if let Some(rates) = &experiment.autorate {
            wire.shape(rates);
            wire.agenda.plan(start, Task::Autorate);
        }
        if experiment.flow_layers {
            wire.follow(experiment);
        }
        let flows = experiment.flows.iter().zip(experiment.start_delays());
        let apps = flows.zip(0..).map(|((plan, late), flow)| {
            let begin = plan.start + late;
            if plan.is_enabled {
                wire.agenda.plan(begin, Task::Start(flow));
            }
            if let Some(stop) = plan.stop {
                wire.agenda.plan(stop + late, Task::Stop(flow));
            }
            let mut app = App::new(flow, plan, FlowRecord::new(experiment, begin), rng.fork());
            app.workload.count_from(warm_at);
            app
        });
        let apps = apps.collect();
        if experiment
            .sample_every
            .is_some_and(|every| every > Delta::ZERO)
        {
            wire.agenda.plan(start, Task::Sample);
        }
        World {
            experiment,
            wire,
            conns: Vec::new(),
            open: Vec::new(),
            known: 0,
            apps,
            happenings: Due::default(),
            samples: Vec::new(),
            layers: Vec::new(),
            windows: Vec::new(),
            end: start + experiment.duration,
            warm_at,
            tasks: 0,
        }
    }

    /// Returns whether it came to the end.
    #[inline(always)]
    fn run(&mut self, may_go_on: &mut dyn FnMut(u64) -> bool) -> bool {
        while let Some((now, task)) = self.wire.agenda.take_until(self.end) {
            self.wire.now = now;
            self.tasks += 1;
            if self.tasks.is_multiple_of(TASKS_BETWEEN) && !may_go_on(self.tasks) {
                return false;
            }
            self.act(task);
            self.settle();
            self.wire.arm();
        }
        self.wire.now = self.end;
        true
    }

    fn act(&mut self, task: Task) {
        match task {
            Task::Path(direction) => {
                self.wire.wake(direction);
                if self.conns.len() > FEW {
                    self.look_ahead(direction);
                }
            }
            Task::Enter(direction, handle) => self.wire.enter_delayed(direction, handle),
            Task::Sender(conn, direction) => self.with_conn(conn, |connection, wire, record| {
                connection.on_sender_timer(direction, wire, record);
            }),
            Task::Receiver(conn, direction) => self.with_conn(conn, |connection, wire, _| {
                connection.on_receiver_timer(direction, wire);
            }),
            Task::Read(conn, direction) => self.read(conn, direction),
            Task::Write(conn, direction) => self.with_conn(conn, |connection, wire, record| {
                connection.on_woken(direction, wire, record);
            }),
            Task::Handshake(conn) => self.with_conn(conn, |connection, wire, record| {
                connection.on_handshake_timeout(wire, record)
            }),
            Task::Start(flow) => {
                self.with_app(flow, |workload, now, network| workload.start(now, network))
            }
            Task::Stop(flow) => self.stop(flow),
            Task::Wake { flow, tag } => self.happenings.push((flow, Happening::Woke { tag })),
            Task::Sample => self.sample(),
            Task::Autorate => {
                if let Some(next) = self.wire.autorate() {
                    self.wire.agenda.plan(next, Task::Autorate);
                }
            }
        }
    }

    /// Has what the next packets to arrive will need fetched from memory, step by step along pointers. With many flows nothing of it
    /// is in a cache, and waiting for it would take most of the time.
    #[inline(never)]
    fn look_ahead(&self, direction: Direction) {
        let [next, second, fourth] = [1, 2, 4].map(|after| self.wire.coming(direction, after));
        if let Some(packet) = fourth {
            prefetch(self.wire.body(packet));
        }
        if let Some((connection, body)) = self.connection_for(second) {
            connection.prefetch(body);
        }
        if let Some((connection, body)) = self.connection_for(next) {
            connection.prefetch_window(body);
            prefetch(&self.apps[connection.flow as usize].record);
        }
    }

    #[inline]
    fn connection_for(&self, packet: Option<&Packet>) -> Option<(&Connection, &Body)> {
        let body = self.wire.body(packet?);
        let connection = self.conns.get(body.conn()? as usize)?.as_deref()?;
        Some((connection, body))
    }

    /// Handles what arrived and what it means to workloads, until nothing is left to do now.
    fn settle(&mut self) {
        loop {
            while let Some(handle) = self.wire.receive() {
                self.arrive(handle);
            }
            let Some((flow, happening)) = self.happenings.pop() else {
                return;
            };
            self.with_app(flow, |workload, now, network| {
                workload.on_happening(now, happening, network)
            });
        }
    }

    #[inline(always)]
    fn arrive(&mut self, handle: u32) {
        match *self.wire.open(handle) {
            Body::Syn { conn, sent } => {
                self.with_conn(conn, |connection, wire, _| connection.on_syn(sent, wire))
            }
            Body::SynAck { conn, asked } => {
                let Some(connection) = slot(&mut self.conns, conn) else {
                    return;
                };
                let record = &mut self.apps[connection.flow as usize].record;
                if let Some(outcome) = connection.on_syn_ack(asked, &mut self.wire, record) {
                    let happening = happening(connection.conn, outcome);
                    self.happenings.push((connection.flow, happening));
                }
            }
            Body::Opened { conn } => {
                self.with_conn(conn, |connection, wire, _| connection.on_opened(wire.now))
            }
            Body::Data {
                conn,
                direction,
                segment,
            } => {
                let Some(connection) = slot(&mut self.conns, conn) else {
                    return;
                };
                let (flow, number) = (connection.flow, connection.conn);
                let record = &mut self.apps[flow as usize].record;
                let happenings = &mut self.happenings;
                connection.on_data(direction, &segment, &mut self.wire, record, |outcome| {
                    happenings.push((flow, happening(number, outcome)));
                });
            }
            Body::Ack {
                conn,
                direction,
                ack,
            } => {
                self.with_conn(conn, |connection, wire, record| {
                    connection.on_ack(direction, &ack, wire, record)
                });
                self.drop_if_over(conn);
            }
            Body::Probe {
                number,
                sent,
                turned,
            } => self.wire.probed(number, sent, turned),
            Body::Limited {
                flow,
                hops,
                number,
                answer,
                ..
            } => {
                let labels = &self.apps[flow as usize].links.labels;
                let down = self.wire.route(Direction::Down).hops_of(labels.client);
                let first = down.rev().take(hops as usize).last();
                let exceeded = Body::TimeExceeded {
                    flow,
                    first: first.unwrap_or(0),
                    number,
                };
                let key = datagram_key(flow);
                self.wire
                    .send(Direction::Down, answer, key, labels, exceeded);
            }
            Body::TimeExceeded { flow, number, .. } => {
                let happening = Happening::Answered { number };
                self.happenings.push((flow, happening));
            }
            Body::Datagram {
                flow,
                direction,
                number,
                payload,
                sent,
            } => {
                let now = self.wire.now;
                let delay = now.since(sent);
                let app = &mut self.apps[flow as usize];
                let payload = Bytes::new(payload.into());
                app.record.read(now, direction, payload);
                self.happenings.push((
                    flow,
                    Happening::Arrived {
                        direction,
                        number,
                        delay,
                    },
                ));
            }
        }
    }

    fn read(&mut self, conn: u32, direction: Direction) {
        let Some(connection) = slot(&mut self.conns, conn) else {
            return;
        };
        let (flow, number) = (connection.flow, connection.conn);
        let record = &mut self.apps[flow as usize].record;
        let happenings = &mut self.happenings;
        connection.on_reading(direction, &mut self.wire, record, |outcome| {
            happenings.push((flow, happening(number, outcome)));
        });
    }

    fn with_conn(
        &mut self,
        conn: u32,
        act: impl FnOnce(&mut Connection, &mut Wire, &mut FlowRecord),
    ) {
        if let Some(connection) = slot(&mut self.conns, conn) {
            let record = &mut self.apps[connection.flow as usize].record;
            act(connection, &mut self.wire, record);
        }
    }

    fn with_app(&mut self, flow: u32, act: impl FnOnce(&mut AnyWorkload, Time, &mut dyn Network)) {
        let app = &mut self.apps[flow as usize];
        if app.links.is_stopped {
            return;
        }
        let now = self.wire.now;
        let plan = &self.experiment.flows[flow as usize];
        let mut network = Ports {
            links: &mut app.links,
            record: &mut app.record,
            plan,
            wire: &mut self.wire,
            conns: &mut self.conns,
        };
        act(&mut app.workload, now, &mut network);
    }

    fn drop_if_over(&mut self, conn: u32) {
        if slot(&mut self.conns, conn).is_some_and(|connection| connection.is_over()) {
            self.conns[conn as usize] = None;
        }
    }

    /// The user leaves: connections end as they are.
    fn stop(&mut self, flow: u32) {
        let links = &mut self.apps[flow as usize].links;
        links.is_stopped = true;
        for conn in links.conns.drain(..).flatten() {
            self.conns[conn as usize] = None;
        }
    }

    fn sample(&mut self) {
        let at = self.wire.now;
        if self.experiment.keeps_series {
            self.sample_path(at);
        }
        if self.experiment.keeps_series || at >= self.warm_at {
            self.sample_windows(at);
        }
        if let Some(every) = self.experiment.sample_every {
            self.wire.agenda.plan(at + every, Task::Sample);
        }
    }

    fn sample_path(&mut self, at: Time) {
        let backlogs = Both::of(|direction| self.wire.route(direction).backlog());
        self.samples.push(Sample {
            at,
            queue_bytes: backlogs.map(|backlog| backlog.bytes),
            queue_packets: backlogs.map(|backlog| backlog.packets),
        });
        for direction in Direction::BOTH {
            let layers = &mut self.layers;
            let route = self.wire.route(direction);
            route.each_layer(|hop, place, backlog| {
                layers.push(LayerSample {
                    at,
                    direction,
                    hop,
                    place,
                    bytes: backlog.bytes,
                    packets: backlog.packets,
                });
            });
        }
    }

    /// Of each connection for the series, of all connections of a flow for its results.
    fn sample_windows(&mut self, at: Time) {
        let conns = &self.conns;
        self.open.extend(self.known..conns.len() as u32);
        self.known = conns.len() as u32;
        self.open.retain(|conn| conns[*conn as usize].is_some());
        let mut sums: Vec<Option<(Bytes, Bytes)>> = vec![None; self.apps.len()];
        for conn in &self.open {
            let connection = conns[*conn as usize].as_ref();
            let Some(connection) = connection.filter(|one| one.is_established()) else {
                continue;
            };
            let sender = connection.busier_sender();
            let (state, mss) = (sender.flow(), u64::from(sender.params().mss));
            let cwnd_bytes = Bytes::new(u64::from(state.cwnd) * mss);
            let in_flight_bytes = Bytes::new(sender.unacknowledged() - sender.unsent());
            let sum = sums[connection.flow as usize].get_or_insert_default();
            sum.0 += cwnd_bytes;
            sum.1 += in_flight_bytes;
            if self.experiment.keeps_series {
                self.windows.push(WindowSample {
                    at,
                    flow: connection.flow,
                    conn: *conn,
                    cwnd_bytes,
                    in_flight_bytes,
                    srtt: Delta::us(i64::from(state.srtt_us8 >> 3)),
                    acked_segments: state.snd_una / mss,
                });
            }
        }
        for (app, sum) in self.apps.iter_mut().zip(sums) {
            if let Some((cwnd, in_flight)) = sum {
                app.record.window(at, cwnd, in_flight);
            }
        }
    }

    fn outcomes(mut self) -> Outcomes {
        let mut layers = self.wire.take_layers();
        layers.resize(self.apps.len(), Both::default());
        let (warm_at, end) = (self.warm_at, self.end);
        let flows = self
            .apps
            .into_iter()
            .zip(&self.experiment.flows)
            .zip(self.experiment.ends(end))
            .zip(layers)
            .map(|(((app, plan), until), layers)| FlowOutcome {
                layers,
                name: plan.name.clone(),
                group: plan.group.clone(),
                is_enabled: plan.is_enabled,
                end: until,
                metrics: app.workload.metrics(warm_at, until),
                times: self.experiment.times(&app.workload),
                record: app.record,
            });
        let flows = flows.collect();
        let (under_way, under_way_bytes) = (self.wire.under_way(), self.wire.under_way_bytes());
        let radios = self.wire.route(Direction::Down).radios(warm_at, end);
        let radios = self.experiment.named_radios(radios);
        let (mut paths, mut hops) = self.wire.into_records();
        self.experiment.note_carriable(&mut paths, &mut hops, end);
        Outcomes {
            flows,
            under_way,
            under_way_bytes,
            paths,
            hops,
            radios,
            samples: self.samples,
            layers: self.layers,
            windows: self.windows,
            tasks: self.tasks,
            end,
            warm_at,
        }
    }
}

impl App {
    fn new(flow: u32, plan: &Flow, record: FlowRecord, rng: Rng) -> App {
        App {
            workload: plan.workload.build(),
            links: Links {
                flow,
                labels: Labels {
                    flow,
                    client: plan.client,
                    server: plan.server,
                    dscp: plan.dscp,
                    extra_delay: plan.extra_delay,
                },
                rng,
                conns: Vec::new(),
                is_stopped: false,
            },
            record,
        }
    }
}

/// The network as one workload sees it.
struct Ports<'a> {
    links: &'a mut Links,
    record: &'a mut FlowRecord,
    plan: &'a Flow,
    wire: &'a mut Wire,
    conns: &'a mut Vec<Option<Box<Connection>>>,
}

impl Network for Ports<'_> {
    fn exchange(&mut self, conn: Conn, request: Bytes, response: Bytes) {
        let index = conn.0 as usize;
        if index >= self.links.conns.len() {
            self.links.conns.resize(index + 1, None);
        }
        let id = *self.links.conns[index].get_or_insert_with(|| {
            let id = self.conns.len() as u32;
            let connection = Connection::open(
                id,
                self.links.flow,
                conn,
                self.plan,
                self.links.labels,
                self.wire,
            );
            self.conns.push(Some(Box::new(connection)));
            self.record.connections += 1;
            id
        });
        if let Some(connection) = slot(self.conns, id) {
            connection.exchange(request, response, self.wire, self.record);
        }
    }

    fn reset(&mut self, conn: Conn) {
        let id = self.links.conns.get(conn.0 as usize).copied().flatten();
        if let Some(connection) = id.and_then(|id| self.conns.get_mut(id as usize)) {
            *connection = None;
        }
    }

    fn close(&mut self, conn: Conn) {
        let id = self.links.conns.get(conn.0 as usize).copied().flatten();
        if let Some(connection) = id.and_then(|id| slot(self.conns, id)) {
            connection.close();
        }
    }

    fn datagram(&mut self, direction: Direction, number: u64, size: Bytes) {
        let len = size.as_u64() as u32;
        let body = Body::Datagram {
            flow: self.links.flow,
            direction,
            number,
            payload: len.saturating_sub(DATAGRAM_HEADER_BYTES),
            sent: self.wire.now,
        };
        let key = datagram_key(self.links.flow);
        self.wire
            .send(direction, len, key, &self.links.labels, body);
    }

    fn hops(&self) -> u32 {
        let up = self.wire.route(Direction::Up);
        up.hops_of(self.links.labels.client).count() as u32
    }

    fn probe(&mut self, hops: u32, number: u64, size: Bytes, answer: Bytes) {
        let flow = self.links.flow;
        let up = self.wire.route(Direction::Up);
        let passed = up.hops_of(self.links.labels.client);
        let until = passed.skip(hops as usize).min().unwrap_or(up.hops());
        let body = Body::Limited {
            flow,
            hops,
            until,
            number,
            answer: answer.as_u64() as u32,
        };
        let len = size.as_u64() as u32;
        let key = datagram_key(flow);
        self.wire
            .send(Direction::Up, len, key, &self.links.labels, body);
    }

    fn wake(&mut self, at: Time, tag: u32) {
        let flow = self.links.flow;
        self.wire
            .agenda
            .plan(at.max(self.wire.now), Task::Wake { flow, tag });
    }

    fn rng(&mut self) -> &mut Rng {
        &mut self.links.rng
    }
}

/// What tells the datagrams of a flow from all connections.
fn datagram_key(flow: u32) -> u64 {
    u64::from(flow) | 1 << 40
}

fn slot(conns: &mut [Option<Box<Connection>>], conn: u32) -> Option<&mut Connection> {
    conns.get_mut(conn as usize)?.as_deref_mut()
}

fn happening(conn: Conn, outcome: Outcome) -> Happening {
    match outcome {
        Outcome::Opened => Happening::Opened { conn },
        Outcome::Read(direction, bytes) => Happening::Read {
            conn,
            direction,
            bytes,
        },
        Outcome::Done => Happening::Done { conn },
    }
}
