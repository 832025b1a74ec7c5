//! Retransmission, reordering, upstream loss, duplicate ACKs (§4.3, Fig. 14).
//!
//! The words are defined in [`crate::tcp`]. All counts are of packets with payload; a packet that
//! holds old and new bytes counts as a retransmission. `retransmission_rate` is, as in the paper,
//! retransmitted packets over all packets of the side. What the monitor cannot know is null: without
//! any data of a side there are no counts for it.

use super::{Analysis, Context, Event, Findings, Flow, Sees};
use crate::tcp::{AckKind, DataKind, Kind, Segment};
use unbloat_table::{RowWriter, SideColumns, side_columns};
use unbloat_units::{Both, Direction};
use unbloat_wire::SackBlock;

pub(crate) struct Loss;

#[derive(Clone, Default)]
pub(crate) struct Light {
    /// Present once anything but data in order was seen.
    counts: Option<Box<Both<Counts>>>,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    retransmitted: u32,
    spurious: u32,
    reordered: u32,
    upstream_lost: u32,
    ambiguous: u32,
    dup_acks: u32,
    missing: u64,
}

impl Light {
    fn side(&mut self, side: Direction) -> &mut Counts {
        &mut self.counts.get_or_insert_default()[side]
    }

    #[cold]
    fn data(&mut self, seg: &Segment<'_>, flow: &Flow<'_>, cx: &mut Context<'_>) {
        let counts = self.side(seg.side);
        let (count, kind) = match seg.data {
            DataKind::Retransmission => (&mut counts.retransmitted, "retransmission"),
            DataKind::Reordered => (&mut counts.reordered, "reordering"),
            DataKind::UpstreamLoss => (&mut counts.upstream_lost, "upstream_loss"),
            DataKind::Ambiguous => (&mut counts.ambiguous, "ambiguous"),
            _ => return,
        };
        *count += 1;
        let event = Event {
            side: seg.side,
            time: seg.now,
            kind,
            seq: Some(seg.header.seq),
            value: Some(f64::from(seg.header.payload_len)),
            detail: None,
        };
        cx.event(flow, event);
    }

    #[cold]
    fn ack(&mut self, seg: &Segment<'_>, flow: &Flow<'_>, cx: &mut Context<'_>) {
        let side = seg.side.reverse();
        let counts = self.side(side);
        counts.dup_acks += u32::from(seg.ack == AckKind::Duplicate);
        counts.missing += u64::from(seg.missed);
        let spurious = seg.dsack && !seg.dsack_repeats && !is_of_fin(seg, side, flow) || seg.eifel;
        counts.spurious += u32::from(spurious);
        let mut event = |kind, value, detail| {
            let seq = Some(seg.header.ack);
            cx.event(
                flow,
                Event {
                    side,
                    time: seg.now,
                    kind,
                    seq,
                    value,
                    detail,
                },
            );
        };
        if spurious {
            event(
                "spurious",
                None,
                Some(if seg.dsack { "DSACK" } else { "Eifel" }),
            );
        }
        if seg.missed > 0 {
            event(
                "hole",
                Some(f64::from(seg.missed)),
                Some("acknowledged, but not in the capture"),
            );
        }
    }
}

/// A DSACK of a FIN alone: no packet with payload was sent again.
fn is_of_fin(seg: &Segment<'_>, side: Direction, flow: &Flow<'_>) -> bool {
    let high = flow.half(side).high();
    let is_last_number = |block: SackBlock| block.right == high && block.left + 1 == high;
    flow.core.is_finished(side) && seg.sack_blocks().next().is_some_and(is_last_number)
}

side_columns! {
    pub struct LossColumns {
        retransmitted_packets ["retransmitted_" "_packets"]: Option<u32> = "packets with bytes seen before: lost after the monitor, or sent again for nothing",
        retransmission_rate ["retransmission_rate_" ""]: Option<f64> = "retransmitted packets over all packets of the side (section 4.3)",
        spurious_packets ["spurious_" "_packets"]: Option<u32> = "copies that the receiver did not need: DSACK, or Eifel by timestamps",
        reordered_packets ["reordered_" "_packets"]: Option<u32> = "overtaken before the monitor",
        upstream_loss_packets ["upstream_loss_" "_packets"]: Option<u32> = "lost before the monitor and sent again",
        ambiguous_packets ["ambiguous_" "_packets"]: Option<u32> = "one of the two, nothing tells which",
        duplicated_packets ["duplicated_" "_packets"]: Option<u32> = "second copies of packets that were captured twice; no other count holds them",
        missing_bytes ["missing_" "_bytes"]: Option<u64> = "acknowledged by the receiver and not in the capture",
        dup_acks ["dup_acks_" ""]: Option<u32> = "duplicate ACKs about this side's data (section 5)",
        dup_ack_ratio ["dup_ack_ratio_" ""]: Option<f64> = "duplicate ACKs per out-of-order packet, any kind (Fig. 14)",
    }
}

impl Analysis for Loss {
    type Light = Light;
    type Deep = ();
    type Columns = Both<LossColumns>;
    const SEES: Sees = Sees::OTHER;

    fn is_alone(_: &str) -> bool {
        true
    }

    #[inline]
    fn on_packet(
        _: Kind,
        light: &mut Light,
        _: Option<&mut ()>,
        seg: &Segment<'_>,
        flow: &Flow<'_>,
        cx: &mut Context<'_>,
    ) {
        if !seg.is_odd {
            return;
        }
        if !matches!(seg.data, DataKind::None | DataKind::InOrder) && seg.header.payload_len > 0 {
            light.data(seg, flow, cx);
        }
        if seg.ack == AckKind::Duplicate || seg.missed > 0 || seg.dsack || seg.eifel {
            light.ack(seg, flow, cx);
        }
    }

    fn finish(
        light: &mut Light,
        _: Option<&mut ()>,
        flow: &Flow<'_>,
        findings: &mut Findings,
        _: &mut Context<'_>,
        row: &mut RowWriter<'_>,
    ) {
        for side in Direction::BOTH {
            let known = flow.is_tcp() && flow.half(side).span().is_some();
            let counts = light
                .counts
                .as_ref()
                .map_or_else(Counts::default, |c| c[side]);
            let finding = &mut findings.sides[side];
            finding.retransmitted = u64::from(counts.retransmitted);
            finding.upstream_losses = u64::from(counts.upstream_lost);
            let packets = flow.core.packets[side];
            let count = |n: u32| known.then_some(n);
            let disorder =
                counts.retransmitted + counts.reordered + counts.upstream_lost + counts.ambiguous;
            let ratio = f64::from(counts.dup_acks) / f64::from(disorder);
            let columns = LossColumns {
                retransmitted_packets: count(counts.retransmitted),
                retransmission_rate: (known && packets > 0)
                    .then(|| f64::from(counts.retransmitted) / packets as f64),
                spurious_packets: count(counts.spurious),
                reordered_packets: count(counts.reordered),
                upstream_loss_packets: count(counts.upstream_lost),
                ambiguous_packets: count(counts.ambiguous),
                duplicated_packets: count(flow.half(side).copies()),
                missing_bytes: known.then_some(counts.missing),
                dup_acks: count(counts.dup_acks),
                dup_ack_ratio: (known && disorder > 0).then_some(ratio),
            };
            columns.write(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Script;

    /// A segment that is sent again although only its ACK was late; the ACK echoes the original.
    fn needless() -> Script {
        Script::opened()
            .at(100.0, "< 1+1000 ack 1 ts 100 1")
            .at(101.0, "< 1001+1000 ack 1 ts 101 1")
            .at(400.0, "< 1+1000 ack 1 ts 400 1")
            .at(420.0, "> 1+0 ack 2001 ts 10 100")
    }

    #[test]
    fn a_copy_that_timestamps_and_dsack_both_show_to_be_needless_counts_once() {
        let told_twice = needless()
            .at(460.0, "> 1+0 ack 2001 sack 1-1001 ts 11 100")
            .run();
        assert_eq!(told_twice.flow("retransmitted_down_packets"), Some(1.0));
        assert_eq!(told_twice.flow("spurious_down_packets"), Some(1.0));
        assert_eq!(
            told_twice.events("spurious")[0].detail.as_deref(),
            Some("Eifel")
        );
        assert_eq!(needless().run().flow("spurious_down_packets"), Some(1.0));
    }

    #[test]
    fn a_copy_told_by_dsack_does_not_count_again_when_its_ack_echoes_the_original() {
        let results = Script::opened()
            .at(100.0, "< 1+1000 ack 1 ts 100 1")
            .at(101.0, "< 1001+1000 ack 1 ts 101 1")
            .at(300.0, "< 1001+1000 ack 1 ts 300 1")
            .at(350.0, "> 1+0 ack 1 sack 1001-2001,1001-2001 ts 10 1")
            .at(400.0, "> 1+0 ack 2001 ts 11 100")
            .run();
        assert_eq!(results.flow("spurious_down_packets"), Some(1.0));
    }

    #[test]
    fn an_ack_for_two_needed_copies_echoes_the_first_and_tells_nothing_of_the_second() {
        let results = Script::opened()
            .at(100.0, "< 1+1000 ack 1 ts 100 1")
            .at(101.0, "< 1001+1000 ack 1 ts 101 1")
            .at(400.0, "< 1+1000 ack 1 ts 400 1")
            .at(405.0, "< 1001+1000 ack 1 ts 405 1")
            .at(460.0, "> 1+0 ack 2001 ts 10 400")
            .run();
        assert_eq!(results.flow("retransmitted_down_packets"), Some(2.0));
        assert_eq!(results.flow("spurious_down_packets"), Some(0.0));
    }

    #[test]
    fn bytes_that_nobody_acknowledged_are_neither_unique_nor_missing_from_the_capture() {
        let results = Script::opened()
            .at(100.0, "< 1+1000 ack 1")
            .at(102.0, "< 2001+1000 ack 1")
            .at(150.0, "> 1+0 ack 1001 sack 2001-3001")
            .at(160.0, "> rst 1+0 ack 1001")
            .run();
        assert_eq!(results.flow("missing_down_bytes"), Some(0.0));
        assert_eq!(results.flow("unique_down_bytes"), Some(2000.0));
    }

    #[test]
    fn a_fin_received_twice_is_no_packet_with_payload() {
        let results = Script::opened()
            .at(100.0, "< 1+1000 ack 1")
            .at(150.0, "> 1+0 ack 1001")
            .at(200.0, "< fin 1001+0 ack 1")
            .at(500.0, "< fin 1001+0 ack 1")
            .at(550.0, "> 1+0 ack 1002 sack 1001-1002")
            .run();
        assert_eq!(results.flow("spurious_down_packets"), Some(0.0));
    }
}
