//! What a packet of a TCP flow does to the flow and to all that is beside it.

use super::is_closed;
use crate::analysis::{Built, Context, observe_names};
use crate::dns::{DnsRows, Lookups};
use crate::flow::Flow;
use crate::flow::side_of;
use crate::flow_table::Entry;
use crate::live_flow::TcpFlow;
use crate::params::Params;
use crate::tables::SideTables;
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
    pub(super) built: Built,
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
            && flow.core.payload.down + flow.core.payload.up >= self.params.deep_after.as_u64()
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
            built: self.built,
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
    let own = &flow.halves[seg.side];
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
        sacked_rtt: None,
        dsack: false,
        dsack_repeats: false,
        eifel: false,
        missed: 0,
        is_odd: false,
        window: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::FlowCore;
    use crate::orientation::Evidence;
    use unbloat_units::{Delta, Seq};
    use unbloat_wire::{PacketFlags, TcpFlags};

    /// Packets around the places where the usual ends: old and new ones, with gaps and copies.
    fn packets(n: u32) -> impl Iterator<Item = PacketHeader> {
        let mut random = 1_u64;
        let mut next = move |below: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            ((random >> 33) % below) as u32
        };
        let mut ends = [100_u32, 900];
        (0..n).map(move |i| {
            let up = next(2) as usize;
            let mut header = PacketHeader {
                time: Time::default() + Delta::ms(i64::from(i)),
                ..PacketHeader::default()
            };
            if up == 1 {
                header.flags.set(PacketFlags::UPLINK);
            }
            if next(2) == 0 {
                header.flags.set(PacketFlags::IP_ID);
                header.ip_id = next(3) as u16;
            }
            header.tcp_flags = TcpFlags(match next(60) {
                0 => TcpFlags::RST,
                1 => TcpFlags::ACK | TcpFlags::FIN,
                2 => TcpFlags::SYN,
                _ => TcpFlags::ACK,
            });
            header.payload_len = next(3) * 10;
            header.window = next(2) as u16 * 50;
            let off = if next(4) == 0 { next(5) * 10 } else { 20 };
            header.seq = Seq::new(ends[up] + off - 20);
            let acked = if next(3) == 0 { next(5) * 10 } else { 20 };
            header.ack = Seq::new(ends[1 - up] + acked - 20);
            ends[up] = ends[up].max(header.seq.raw() + header.payload_len);
            header
        })
    }

    #[test]
    fn the_usual_ways_end_where_the_general_one_does() {
        let batch = Batch::default();
        let first = PacketHeader::default();
        let core = FlowCore::new(&first, 0, 0, Evidence::Port);
        let flow = TcpFlow {
            core,
            halves: Default::default(),
            light: Default::default(),
            deep: None,
        };
        let (mut usual, mut general) = (flow.clone(), flow);
        let mut kinds = [0; 3];
        for header in packets(20_000) {
            let mut one = begin_segment(&batch, &header, Time::default());
            let mut other = one;
            kinds[usual.track(&mut one) as usize] += 1;
            general.track_other(&mut other);
            assert_eq!(format!("{one:?}"), format!("{other:?}"));
        }
        assert!(kinds.iter().all(|&n| n > 1000), "{kinds:?}");
    }
}
