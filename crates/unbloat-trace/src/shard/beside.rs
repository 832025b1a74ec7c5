//! What a packet of a TCP flow does to the flow and to all that is beside it.

use super::is_closed;
use crate::analysis::{Context, Flow, observe_names};
use crate::dns::{DnsRows, Lookups};
use crate::flow::{TcpFlow, side_of};
use crate::flow_table::Entry;
use crate::output::SideTables;
use crate::params::Params;
use crate::tcp::{AckKind, DataKind, Kind, Segment, micros};
use crate::users::Users;
use unbloat_units::Time;
use unbloat_wire::{Batch, PacketHeader};

/// A shard without its flows, while one of them is in hand.
pub(super) struct Beside<'a> {
    pub(super) params: &'a Params,
    pub(super) users: &'a mut Users,
    pub(super) lookups: &'a mut Lookups,
    pub(super) tables: &'a mut SideTables,
    pub(super) origin: Time,
    pub(super) number: u64,
    pub(super) summary_only: bool,
}

impl Beside<'_> {
    /// Takes in a packet of the flow; says whether it is the one that closed it.
    #[inline(always)]
    pub(super) fn packet_closes(
        &mut self,
        entry: &mut Entry<TcpFlow>,
        batch: &Batch,
        header: &PacketHeader,
    ) -> bool {
        let Entry { user, flow, .. } = entry;
        let user = self
            .users
            .on_packet(*user, header, self.number, self.tables);
        let may_close = header.tcp_flags.fin() || header.tcp_flags.rst();
        let was_closed = may_close && is_closed(flow);
        flow.core.count(header);
        let mut segment = begin_segment(batch, header, flow.core.start);
        let kind = flow.track(&mut segment);
        if flow.deep.is_none()
            && flow.core.payload[0] + flow.core.payload[1] >= self.params.deep_after.as_u64()
        {
            flow.deep = Some(Box::default());
        }
        user.on_flow_packet(&mut flow.core, header, self.origin, self.params);
        if kind == Kind::Other && !segment.payload.is_empty() {
            let out = DnsRows::new(self.tables, self.summary_only, self.number, self.origin);
            read_payload(flow, &segment, self.lookups, out);
        }
        let mut cx = Context {
            params: self.params,
            tables: self.tables,
            user,
            origin: self.origin,
            number: self.number,
            summary_only: self.summary_only,
        };
        let view = Flow {
            core: &flow.core,
            halves: &flow.halves,
        };
        flow.light
            .on_packet(kind, flow.deep.as_deref_mut(), &segment, &view, &mut cx);
        may_close && !was_closed && is_closed(flow)
    }
}

#[inline(never)]
fn read_payload(flow: &mut TcpFlow, seg: &Segment<'_>, lookups: &mut Lookups, out: DnsRows<'_>) {
    observe_names(&mut flow.core, seg.header, seg.payload);
    let own = &flow.halves[seg.side.index()];
    let is_first = || own.is_syn_seen() && seg.header.seq == own.base() + 1;
    let mut out = out;
    lookups.on_payload(seg.header, seg.payload, is_first, &mut out);
}

#[inline(always)]
fn begin_segment<'a>(batch: &'a Batch, header: &'a PacketHeader, start: Time) -> Segment<'a> {
    let has_extra = header.extra_len > 0;
    Segment {
        header,
        now: header.time,
        now_us: micros(start, header.time),
        options: if has_extra {
            batch.options(header)
        } else {
            &[]
        },
        payload: if has_extra {
            batch.payload(header)
        } else {
            &[]
        },
        side: side_of(header),
        data: DataKind::None,
        advanced: 0,
        in_flight: None,
        since_last_copy: None,
        ack: AckKind::None,
        acked: 0,
        acked_packets: 0,
        acked_sent: None,
        remaining: 0,
        rtt: None,
        dsack: false,
        dsack_repeats: false,
        eifel: false,
        missed: 0,
        is_odd: false,
        window: None,
    }
}
