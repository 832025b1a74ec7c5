//! One shard: the packets of some clients, in time order, to rows.

/// What analyses act on besides a flow of this user: parts of a shard, of which the caller has borrowed others.
macro_rules! context {
    ($shard:ident, $user:expr, $number:ident) => {
        crate::analysis::Context {
            params: &$shard.params,
            tables: &mut $shard.output.side,
            user: $user,
            origin: $shard.origin,
            number: $number,
            summary_only: $shard.summary_only,
            built: $shard.built,
        }
    };
}

mod ahead;
mod beside;
mod copy;
mod ending;
mod judge;
mod snapshot;

use crate::analysis::{Built, Light, observe_names, write_spun};
use crate::dns::{DnsRows, Lookups};
use crate::flow::{EndCause, Flow, FlowCore, RST, side_of};
use crate::flow_table::{Entry, FlowTable};
use crate::live_flow::{TcpFlow, UdpFlow};
use crate::orientation::{Evidence, Network, evidence};
use crate::output::Output;
use crate::params::Params;
use crate::protocols::Protocols;
use crate::reached::{Cut, Life, Reached};
use crate::standing::Spin;
use crate::tables::order;
use crate::tcp::Half;
use crate::users::Users;
use beside::Beside;
use ending::Ending;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use unbloat_units::{Both, Delta, Time};
use unbloat_wire::{Batch, PacketFlags, PacketHeader, protocol};

/// What a shard holds and what it had to give up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardStats {
    pub live_flows: usize,
    pub peak_flows: usize,
    pub users: usize,
    /// Flows closed early to stay within `max_flows`.
    pub evicted_flows: u64,
    pub evicted_users: u64,
    /// DNS questions forgotten, without a row, to stay within bounds.
    pub given_up_lookups: u64,
}

impl ShardStats {
    /// Adds another shard's.
    pub fn absorb(&mut self, other: ShardStats) {
        self.live_flows += other.live_flows;
        self.peak_flows += other.peak_flows;
        self.users += other.users;
        self.evicted_flows += other.evicted_flows;
        self.evicted_users += other.evicted_users;
        self.given_up_lookups += other.given_up_lookups;
    }
}

/// Flows and users of one part of the clients.
pub struct Shard {
    params: Arc<Params>,
    client_nets: Vec<Network>,
    origin: Time,
    tcp: FlowTable<TcpFlow>,
    udp: FlowTable<UdpFlow>,
    users: Users,
    lookups: Lookups,
    protocols: Protocols,
    output: Output,
    stats: ShardStats,
    summary_only: bool,
    built: Built,
    /// What is lined up for its end, the first last.
    ending: Vec<Ending>,
}

impl Shard {
    /// `origin` is the time of the trace's first packet.
    pub fn new(params: Arc<Params>, client_nets: Vec<Network>, origin: Time) -> Shard {
        Shard {
            users: Users::new(origin, Arc::clone(&params)),
            params,
            client_nets,
            origin,
            tcp: FlowTable::new(origin),
            udp: FlowTable::new(origin),
            lookups: Lookups::default(),
            protocols: Protocols::default(),
            output: Output::default(),
            stats: ShardStats::default(),
            summary_only: false,
            built: Built::ALL,
            ending: Vec::new(),
        }
    }

    /// Writes no rows but those of flows and users: for runs whose tables nobody keeps.
    pub fn set_summary_only(&mut self) {
        self.summary_only = true;
    }

    /// Finds out and writes what `is_read` is true of, by table and column; the rest stays unknown.
    pub fn keep_only(&mut self, is_read: impl Fn(&str, &str) -> bool) {
        self.built = Built::for_readers(&is_read);
        self.output
            .keep_only(|table, column| is_read(table.name, column.name));
    }

    /// Ends at most `n` of the flows and users that have been silent for too long, in the order in
    /// which they began: in pieces, because after a long pause that may be all that live.
    ///
    /// To be called after `process`, also when none of the batch's packets were this shard's, and
    /// again until it returns `None`; else it returns where it stopped.
    pub fn end_batch(&mut self, batch: &Batch, n: usize) -> Option<Reached> {
        let number = batch.first_packet + u64::from(batch.packets);
        let now = batch.watermark;
        if self.ending.is_empty() {
            let tables = &mut self.output.side;
            let mut out = DnsRows::new(tables, self.summary_only, number, self.origin);
            self.lookups.expire(now, &mut out);
            self.line_up_silent_flows(now);
        }
        for _ in 0..n {
            let ending = self.next_silent(now)?;
            self.ending.pop();
            self.end(ending, EndCause::Idle, number);
        }
        let cut = self.next_silent(now)?.cut();
        Some(Reached { number, cut })
    }

    /// Lines up everything that still lives for its end, in the order in which it began.
    pub fn begin_finish(&mut self) {
        let all = self.tcp.len() + self.udp.len() + self.users.len();
        self.ending.reserve_exact(all);
        let tcp = self.tcp.iter();
        let tcp = tcp.map(|(slot, e)| Ending::new(Life::Tcp, e.flow.core.flow_id, slot));
        let udp = self.udp.iter();
        let udp = udp.map(|(slot, e)| Ending::new(Life::Udp, e.flow.core.flow_id, slot));
        let users = self.users.iter();
        let users = users.map(|(slot, id)| Ending::new(Life::User, id, slot));
        self.ending.extend(tcp.chain(udp).chain(users));
        self.ending.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// Where to stop so that at most `n` of what is lined up ends; `None` when there is no more.
    pub fn cut_after(&self, n: usize) -> Option<Cut> {
        let at = self.ending.len().checked_sub(n + 1)?;
        self.ending.get(at).map(|ending| ending.cut())
    }

    /// Ends what is lined up before `cut`, or all of it: in pieces, because the rows of millions
    /// of flows at once would take more memory than the flows. `number` is that of the packet
    /// after the last.
    pub fn finish_until(&mut self, number: u64, cut: Option<Cut>) {
        let tables = &mut self.output.side;
        let mut out = DnsRows::new(tables, self.summary_only, number, self.origin);
        self.lookups.finish(&mut out);
        while let Some(&ending) = self.ending.last() {
            if cut.is_some_and(|cut| ending.cut() >= cut) {
                return;
            }
            self.ending.pop();
            self.end(ending, EndCause::TraceEnd, number);
        }
    }

    /// Ends what was the last of those lined up.
    fn end(&mut self, ending: Ending, cause: EndCause, number: u64) {
        let ahead = |n| {
            let soon = self.ending.len().checked_sub(n).map(|i| self.ending[i]);
            soon.filter(|e| e.life() == Life::Tcp).map(|e| e.slot)
        };
        self.prefetch_end(ahead(2 * AHEAD), ahead(AHEAD));
        let slot = ending.slot;
        match ending.life() {
            Life::Tcp => self.end_tcp(slot, cause, number),
            Life::Udp => self.end_udp(slot, cause, number),
            Life::User => self.users.end(slot, number, &mut self.output.side),
        }
    }

    /// The rows written since they were last cleared.
    pub fn output(&mut self) -> &mut Output {
        &mut self.output
    }

    /// Counts of the flows that have ended, and of packets that belong to none.
    pub fn protocols(&self) -> &Protocols {
        &self.protocols
    }

    pub fn stats(&self) -> ShardStats {
        ShardStats {
            live_flows: self.tcp.len() + self.udp.len(),
            users: self.users.len(),
            evicted_users: self.users.evicted(),
            given_up_lookups: self.lookups.given_up(),
            ..self.stats
        }
    }

    /// `likely` is where the packet's flow was when it was looked up ahead.
    #[inline]
    fn packet(&mut self, batch: &Batch, header: &PacketHeader, likely: u32) {
        let number = batch.number(header);
        if header.flags.has(PacketFlags::COPY) {
            return self.count_copy(header, number);
        }
        match header.protocol {
            protocol::TCP => self.tcp_packet(batch, header, number, likely),
            protocol::UDP => self.udp_packet(batch, header, number),
            _ => self.protocols.packet(header),
        }
    }

    #[inline]
    fn tcp_packet(&mut self, batch: &Batch, header: &PacketHeader, number: u64, likely: u32) {
        let mut slot = likely;
        loop {
            let (tcp, idle) = (&mut self.tcp, self.params.flow_idle);
            let flow = tcp.get_mut(slot);
            if let Some(entry) = flow.filter(|e| e.flow.continues_with(header, idle)) {
                let mut beside = Beside {
                    params: &self.params,
                    users: &mut self.users,
                    lookups: &mut self.lookups,
                    tables: &mut self.output.side,
                    origin: self.origin,
                    number,
                    summary_only: self.summary_only,
                    built: self.built,
                };
                if beside.packet_closes(entry, batch, header) {
                    let deadline = header.time + self.params.close_linger;
                    self.tcp.schedule(slot, deadline);
                }
                return;
            }
            slot = self.find_or_begin_tcp(header, number);
        }
    }

    /// Where the flow of the packet is, by now at least.
    #[inline(never)]
    fn find_or_begin_tcp(&mut self, header: &PacketHeader, number: u64) -> u32 {
        let found = self
            .tcp
            .find(header.flow_hash, |flow| flow.core.matches(header));
        if let Some(slot) = found {
            let idle = self.params.flow_idle;
            let entry = self.tcp.get(slot);
            if entry.is_some_and(|e| e.flow.continues_with(header, idle)) {
                return slot;
            }
            let opening = header.tcp_flags.syn() && !header.tcp_flags.ack();
            let cause = if opening {
                EndCause::Reuse
            } else {
                EndCause::Idle
            };
            self.end_tcp(slot, cause, number);
        }
        self.begin_tcp(header, number)
    }

    fn begin_tcp(&mut self, header: &PacketHeader, number: u64) -> u32 {
        self.make_room(number);
        let (core, user) = self.begin(header, number);
        let flow = TcpFlow {
            core,
            halves: Default::default(),
            light: Light::default(),
            deep: None,
        };
        let deadline = header.time + self.params.flow_idle;
        let slot = self.tcp.insert(header.flow_hash, user, deadline, flow);
        self.note_peak();
        slot
    }

    fn begin(&mut self, header: &PacketHeader, number: u64) -> (FlowCore, u32) {
        let client = if header.is_uplink() {
            header.src
        } else {
            header.dst
        };
        let user = self
            .users
            .join(client, header.time, number, &mut self.output.side);
        let found: Evidence = evidence(header, &self.client_nets);
        (
            FlowCore::new(header, number, self.users.id(user), found),
            user,
        )
    }

    fn udp_packet(&mut self, batch: &Batch, header: &PacketHeader, number: u64) {
        let idle = self.params.flow_idle;
        let mut slot = self.udp.find(header.flow_hash, |f| f.core.matches(header));
        if let Some(old) = slot
            && self
                .udp
                .get_mut(old)
                .is_some_and(|e| header.time.since(e.flow.core.last) > idle)
        {
            self.end_udp(old, EndCause::Idle, number);
            slot = None;
        }
        let slot = slot.unwrap_or_else(|| {
            self.make_room(number);
            let (core, user) = self.begin(header, number);
            let begun = self.udp.insert(
                header.flow_hash,
                user,
                header.time + idle,
                UdpFlow::of(core),
            );
            self.note_peak();
            begun
        });
        let Entry { user, flow, .. } = self.udp.get_mut(slot).expect("found or begun");
        let user = self
            .users
            .on_packet(*user, header, number, &mut self.output.side);
        let UdpFlow { core, spin } = flow;
        core.count(header);
        user.on_flow_packet(core, header, self.origin, &self.params);
        if header.flags.has(PacketFlags::APP_PAYLOAD) {
            let payload = batch.payload(header);
            observe_names(core, header, payload);
            let tables = &mut self.output.side;
            let mut out = DnsRows::new(tables, self.summary_only, number, self.origin);
            self.lookups.on_payload(header, payload, || true, &mut out);
        }
        if spin.is_none() && !Spin::begins(header) {
            return;
        }
        let spin = spin.get_or_insert_default();
        if spin.on_packet(side_of(header), header, self.origin, user.load()) {
            let mut cx = context!(self, user, number);
            let halves = Both::<Half>::default();
            let view = Flow {
                core,
                halves: &halves,
            };
            write_spun(spin, false, &view, &mut cx);
        }
    }

    fn note_peak(&mut self) {
        self.stats.peak_flows = self.stats.peak_flows.max(self.tcp.len() + self.udp.len());
    }

    /// Closes the longest silent flow where the table is full.
    fn make_room(&mut self, number: u64) {
        if self.tcp.len() + self.udp.len() < self.params.max_flows {
            return;
        }
        self.stats.evicted_flows += 1;
        let params = Arc::clone(&self.params);
        if self.tcp.len() >= self.udp.len() {
            if let Some(slot) = self.tcp.pop_oldest(|f| tcp_deadline(f, &params)) {
                self.end_tcp(slot, EndCause::Evicted, number);
            }
        } else if let Some(slot) = self.udp.pop_oldest(|f| f.core.last + params.flow_idle) {
            self.end_udp(slot, EndCause::Evicted, number);
        }
    }

    /// Lines up the flows that have been silent for too long at `now`, in the order in which they
    /// began.
    fn line_up_silent_flows(&mut self, now: Time) {
        let params = Arc::clone(&self.params);
        while let Some(slot) = self.tcp.pop_expired(now, |f| tcp_deadline(f, &params)) {
            let entry = self.tcp.get(slot);
            let ending = entry.map(|e| Ending::new(Life::Tcp, e.flow.core.flow_id, slot));
            self.ending.extend(ending);
        }
        while let Some(slot) = self
            .udp
            .pop_expired(now, |f| f.core.last + params.flow_idle)
        {
            let entry = self.udp.get(slot);
            let ending = entry.map(|e| Ending::new(Life::Udp, e.flow.core.flow_id, slot));
            self.ending.extend(ending);
        }
        self.ending.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// What ends next at `now`: of users it can be told once their flows have ended.
    fn next_silent(&mut self, now: Time) -> Option<Ending> {
        if self.ending.is_empty() {
            let gone = self.users.take_expired(now).into_iter();
            let gone = gone.map(|(id, slot)| Ending::new(Life::User, id, slot));
            self.ending.extend(gone);
            self.ending.sort_unstable_by(|a, b| b.cmp(a));
        }
        self.ending.last().copied()
    }

    /// Asks for the memory of TCP flows that end after some others.
    fn prefetch_end(&self, later: Option<u32>, soon: Option<u32>) {
        if let Some(slot) = later {
            self.tcp.prefetch_slot(slot);
        }
        if let Some(entry) = soon.and_then(|slot| self.tcp.get(slot)) {
            self.users.prefetch(entry.user);
            entry.flow.prefetch();
        }
    }

    /// Writes the row of a flow and forgets it. `cause` holds unless the flow closed itself.
    fn end_tcp(&mut self, slot: u32, cause: EndCause, number: u64) {
        let Some(Entry { user, flow, .. }) = self.tcp.get_mut(slot) else {
            return;
        };
        let TcpFlow {
            core,
            halves,
            light,
            deep,
        } = flow;
        let cause = match core.closed {
            closed if closed & RST != 0 => EndCause::Rst,
            0 => cause,
            _ => EndCause::Fin,
        };
        let mut cx = context!(self, self.users.get_mut(*user), number);
        let view = Flow { core, halves };
        self.output.flows.row(order(number, core.flow_id), |row| {
            light.finish(deep.as_deref_mut(), &view, cause, &mut cx, row);
        });
        self.protocols.flow(core);
        self.users.leave(*user);
        self.tcp.remove(slot);
    }

    fn end_udp(&mut self, slot: u32, cause: EndCause, number: u64) {
        let Some(Entry { user, flow, .. }) = self.udp.get_mut(slot) else {
            return;
        };
        let UdpFlow { core, spin } = flow;
        let mut cx = context!(self, self.users.get_mut(*user), number);
        let halves = Both::<Half>::default();
        let view = Flow {
            core,
            halves: &halves,
        };
        if let Some(spin) = spin {
            write_spun(spin, true, &view, &mut cx);
        }
        self.output.flows.row(order(number, core.flow_id), |row| {
            Light::default().finish(None, &view, cause, &mut cx, row);
        });
        self.protocols.flow(core);
        self.users.leave(*user);
        self.udp.remove(slot);
    }
}

/// How many flows ahead of the one at hand the memory is asked for.
const AHEAD: usize = 4;

/// FIN from both ends, or a RST.
fn is_closed(flow: &TcpFlow) -> bool {
    flow.core.closed & RST != 0 || flow.core.closed & 3 == 3
}

fn tcp_deadline(flow: &TcpFlow, params: &Params) -> Time {
    let timeout: Delta = if is_closed(flow) {
        params.close_linger
    } else {
        params.flow_idle
    };
    flow.core.last + timeout.min(params.flow_idle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_live_flow_takes_few_cache_lines() {
        let size = size_of::<Entry<TcpFlow>>();
        assert!(
            size <= 384,
            "{size} bytes, light state {}",
            size_of::<Light>()
        );
    }
}
