//! Flat or fat: how the bytes in flight of a transfer look (CellNet'12 §5, Fig. 7).
//!
//! Jiang et al. saw congestion windows that "grow to a static value and stay there" (flat: the
//! receive window crops them) and ones without a loss "far beyond the BDP" (fat: the buffer takes
//! all that the sender has). In numbers, from the monitor and for transfers of more than
//! `deep_after` bytes and ten round trips:
//!
//! - `flat`: at 60 % of the data packets or more, the bytes in flight are within 5 % of their
//!   75th percentile, and at most one packet in a thousand was lost;
//! - `fat`: not flat, and the round trip at its 95th percentile is at least twice its floor, end to
//!   end; by Little's law that is two BDP in flight at the rate of the moment;
//! - `mixed`: neither. `short`: too short to tell.
//!
//! A flat transfer may stand beyond the BDP as well: see `added_*`. Why, says `limit_*`.

use super::sender::round_trip_floor;
use super::{Analysis, Context, Findings, Flow, Sees};
use unbloat_table::{RowWriter, SideColumns, side_columns};
use unbloat_units::{Both, Bytes, Direction};

pub(crate) struct Pattern;

const FLAT_SHARE: f64 = 0.6;
const LOSSES: f64 = 0.001;
const ROUND_TRIPS: i64 = 10;

fn pattern(
    side: Direction,
    flow: &Flow<'_>,
    findings: &Findings,
    deep_after: Bytes,
) -> &'static str {
    let finding = &findings.sides[side];
    let (Some(added), Some(plateau)) = (finding.added_p95, finding.plateau_share) else {
        return "short";
    };
    let floor = round_trip_floor(side, flow);
    let payload = flow.core.payload[side];
    if payload < deep_after.as_u64() || flow.core.transfer_time() < floor * ROUND_TRIPS {
        return "short";
    }
    let lost = (finding.retransmitted + finding.upstream_losses) as f64;
    if plateau >= FLAT_SHARE && lost <= LOSSES * flow.core.packets[side] as f64 {
        "flat"
    } else if added >= floor {
        "fat"
    } else {
        "mixed"
    }
}

side_columns! {
    pub struct PatternColumns<'a> {
        pattern ["pattern_" ""]: Option<&'a str> = "flat, fat, mixed or short: the course of the bytes in flight (CellNet'12 section 5)",
    }
}

impl Analysis for Pattern {
    type Light = ();
    type Deep = ();
    type Columns = Both<PatternColumns<'static>>;
    const SEES: Sees = Sees::NONE;

    fn finish(
        _: &mut (),
        _: Option<&mut ()>,
        flow: &Flow<'_>,
        findings: &mut Findings,
        cx: &mut Context<'_>,
        row: &mut RowWriter<'_>,
    ) {
        for side in Direction::BOTH {
            let known = flow.is_tcp() && flow.core.payload[side] > 0;
            let columns = PatternColumns {
                pattern: known.then(|| pattern(side, flow, findings, cx.params.deep_after)),
            };
            columns.write(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Script;

    /// `rounds` flights, one each `rtt` ms, each of as many segments of 1,000 bytes as `window`
    /// says; the receiver answers each segment after 50 ms and its place in a queue of 1 ms each.
    fn transfer(rounds: u32, window: impl Fn(u32) -> u32, queue_ms: f64) -> Script {
        let mut script = Script::opened();
        let mut packets = Vec::new();
        let mut seq = 1;
        for round in 0..rounds {
            let start = 100.0 + f64::from(round) * 200.0;
            for i in 0..window(round) {
                packets.push((start + f64::from(i) * 0.01, format!("< {seq}+1000 ack 1")));
                seq += 1000;
                let back = start + 50.0 + f64::from(i) * queue_ms;
                packets.push((back, format!("> 1+0 ack {seq}")));
            }
        }
        packets.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (ms, words) in packets {
            script.packet(ms, &words);
        }
        script
    }

    #[test]
    fn a_window_that_stays_where_it_is_is_flat() {
        // One packet in flight at a time is the flattest there is.
        let results = transfer(100, |_| 1, 0.0).run();
        assert_eq!(results.flow_text("pattern_down"), Some("flat"));
    }

    #[test]
    fn a_window_that_grows_into_the_queue_is_fat() {
        let results = transfer(40, |round| round * 3, 1.2).run();
        assert_eq!(results.flow_text("pattern_down"), Some("fat"));
    }

    #[test]
    fn a_window_that_grows_without_a_queue_is_mixed() {
        let results = transfer(40, |round| round * 3, 0.0).run();
        assert_eq!(results.flow_text("pattern_down"), Some("mixed"));
    }

    #[test]
    fn fifty_kilobytes_are_too_short_to_tell_and_no_data_has_no_pattern() {
        let results = transfer(50, |_| 1, 0.0).run();
        assert_eq!(results.flow_text("pattern_down"), Some("short"));
        assert_eq!(results.flow_text("pattern_up"), None);
    }
}
