//! Packets that were captured twice: they count as that and as nothing else.

use super::Shard;
use crate::analysis::Event;
use crate::flow::Flow;
use crate::flow::side_of;
use crate::flow_table::Entry;
use crate::live_flow::TcpFlow;
use unbloat_wire::{PacketHeader, protocol};

impl Shard {
    #[cold]
    pub(super) fn count_copy(&mut self, header: &PacketHeader, number: u64) {
        if header.protocol != protocol::TCP {
            return;
        }
        let found = self
            .tcp
            .find(header.flow_hash, |flow| flow.core.matches(header));
        let Some(Entry { user, flow, .. }) = found.and_then(|slot| self.tcp.get_mut(slot)) else {
            return;
        };
        let side = side_of(header);
        flow.halves[side].count_copy();
        let mut cx = context!(self, self.users.get_mut(*user), number);
        let TcpFlow { core, halves, .. } = flow;
        let event = Event {
            side,
            time: header.time,
            kind: "duplicate",
            seq: Some(header.seq),
            value: Some(f64::from(header.payload_len)),
            detail: None,
        };
        cx.event(&Flow { core, halves }, event);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Script;

    #[test]
    fn a_copy_counts_as_that_and_as_nothing_else() {
        let results = Script::opened()
            .at(100.0, "< 1+1000 ack 1 id 7")
            .at(101.0, "< 1+1000 ack 1 id 7 copy")
            .at(150.0, "> 1+0 ack 1001 id 3")
            .at(151.0, "> 1+0 ack 1001 id 3 copy")
            .at(900.0, "< 1+1000 ack 1 id 7 copy")
            .run();
        assert_eq!(results.flow("duplicated_down_packets"), Some(2.0));
        assert_eq!(results.flow("duplicated_up_packets"), Some(1.0));
        assert_eq!(results.flow("retransmitted_down_packets"), Some(0.0));
        assert_eq!(results.flow("payload_down_bytes"), Some(1000.0));
        assert_eq!(results.flow("packets_down"), Some(2.0));
        assert_eq!(results.flow("dup_acks_down"), Some(0.0));
        assert_eq!(results.flow("end_ns"), Some(150e6));
        let copies = results.events("duplicate");
        assert_eq!(copies.len(), 3);
        assert_eq!((copies[1].ms, copies[1].value), (151.0, Some(0.0)));
    }
}
