//! A workload and its side of the network.

use crate::agenda::Task;
use crate::connection::Connection;
use crate::datagrams::Port;
use crate::end::{End, address};
use crate::error::Doing;
use crate::plan::{Plan, server_port};
use crate::poll::Token;
use crate::report::FlowReport;
use crate::traffic::Net;
use fastrand::Rng;
use unbloat_units::{Both, Bytes, Delta, Direction, Time};
use unbloat_workload::{AnyWorkload, Conn, Network, Workload};

pub(crate) struct App {
    pub(crate) workload: AnyWorkload,
    pub(crate) links: Links,
}

/// What a workload has of the network.
pub(crate) struct Links {
    pub(crate) flow: u32,
    rng: Rng,
    /// Numbers in the run of its connections.
    pub(crate) conns: Vec<Option<u32>>,
    /// Ends that receive in a direction: downwards the client's.
    pub(crate) ports: Option<Both<Port>>,
    pub(crate) is_stopped: bool,
    /// By how much the wake-up that is being handled came too late.
    pub(crate) late: Delta,
    pub(crate) connections: u64,
    pub(crate) failed: u64,
    pub(crate) unsent: u64,
    pub(crate) congestion_control: [Option<String>; 2],
}

impl App {
    pub(crate) fn new(flow: u32, plan: &Plan) -> App {
        let mut workload = plan.workload.build();
        workload.count_from(plan.counts_from);
        App {
            workload,
            links: Links {
                flow,
                rng: plan.rng.clone(),
                conns: Vec::new(),
                ports: None,
                is_stopped: false,
                late: Delta::ZERO,
                connections: 0,
                failed: 0,
                unsent: 0,
                congestion_control: [None, None],
            },
        }
    }

    pub(crate) fn report(self) -> FlowReport {
        FlowReport {
            workload: self.workload,
            connections: self.links.connections,
            failed: self.links.failed,
            unsent: self.links.unsent,
            congestion_control: self.links.congestion_control,
        }
    }
}

/// The network as one workload sees it. It cannot say that something failed: the first fault is kept in [`Net`].
pub(crate) struct Ports<'a> {
    pub(crate) links: &'a mut Links,
    pub(crate) plan: &'a Plan,
    pub(crate) net: &'a mut Net,
}

impl Ports<'_> {
    /// A connection that begins now.
    fn open(&mut self, conn: Conn) -> Option<u32> {
        let (flow, plan) = (self.links.flow, self.plan);
        let net = &mut *self.net;
        let listens = net.listen(flow, plan);
        net.keep_fault(listens)?;
        let entered = net.enter(plan.client);
        net.keep_fault(entered)?;
        let [client, server] = [plan.client, plan.server].map(|site| net.sites[site].address);
        let peer = address(server, server_port(flow));
        let connected = End::connect(client, &peer, &plan.tcp[1], plan.dscp)
            .doing(|| format!("connecting for {:?}", plan.name));
        let (end, port) = net.keep_fault(connected)?;
        let id = net.conns.len() as u32;
        let added = net.poll.add(end.fd(), Token::End(id, Direction::Up));
        net.keep_fault(added)?;
        self.links.congestion_control[1]
            .get_or_insert_with(|| end.congestion_control().unwrap_or_default());
        net.by_peer.insert((flow, client, port), id);
        let at_least = net.read_at_least.as_u64();
        let connection = Connection::new(flow, conn, end, port, at_least);
        net.conns.push(Some(Box::new(connection)));
        self.links.connections += 1;
        Some(id)
    }

    fn open_ports(&mut self) -> Option<()> {
        if self.links.ports.is_some() {
            return Some(());
        }
        let (flow, plan) = (self.links.flow, self.plan);
        let net = &mut *self.net;
        let addresses = [plan.client, plan.server].map(|site| net.sites[site].address);
        let [client, server] = addresses;
        let mut open = |site, ends, direction| {
            let entered = net.enter(site);
            net.keep_fault(entered)?;
            let port = Port::open(ends, server_port(flow), plan.dscp)
                .doing(|| format!("opening a UDP port for {:?}", plan.name));
            let port = net.keep_fault(port)?;
            let added = net.poll.add(port.fd(), Token::Datagrams(flow, direction));
            net.keep_fault(added)?;
            Some(port)
        };
        let down = open(plan.client, (client, server), Direction::Down)?;
        let up = open(plan.server, (server, client), Direction::Up)?;
        self.links.ports = Some(Both::new(down, up));
        Some(())
    }
}

impl Network for Ports<'_> {
    fn exchange(&mut self, conn: Conn, request: Bytes, response: Bytes) {
        let index = conn.0 as usize;
        if index >= self.links.conns.len() {
            self.links.conns.resize(index + 1, None);
        }
        let known = self.links.conns[index];
        let Some(id) = known.or_else(|| self.open(conn)) else {
            return;
        };
        self.links.conns[index] = Some(id);
        self.net.step(id, |connection, zeros, _| {
            connection.exchange(request, response, zeros)
        });
    }

    fn close(&mut self, conn: Conn) {
        let id = self.links.conns.get(conn.0 as usize).copied().flatten();
        if let Some(id) = id {
            self.net.step(id, |connection, _, _| {
                connection.close();
                Ok(())
            });
        }
    }

    fn reset(&mut self, conn: Conn) {
        let known = self.links.conns.get(conn.0 as usize).copied().flatten();
        known.inspect(|id| self.net.reset(*id));
    }

    fn datagram(&mut self, direction: Direction, number: u64, size: Bytes) {
        if self.open_ports().is_none() {
            return;
        }
        let Some(ports) = &self.links.ports else {
            return;
        };
        // It receives in the other direction.
        let sender = &ports[direction.reverse()];
        let (clock, buffer) = (self.net.clock, &mut self.net.buffer);
        let sent = sender
            .send(number, size, clock, buffer)
            .doing(|| format!("sending a datagram of {:?}", self.plan.name));
        if self.net.keep_fault(sent) == Some(false) {
            self.links.unsent += 1;
        }
    }

    /// Asked for while a wake-up is handled that came late, it comes earlier by as much: lateness does not add up.
    fn wake(&mut self, at: Time, tag: u32) {
        let flow = self.links.flow;
        let at = at - self.links.late;
        self.net.agenda.plan(at, Task::Wake { flow, tag });
    }

    fn rng(&mut self) -> &mut Rng {
        &mut self.links.rng
    }
}
