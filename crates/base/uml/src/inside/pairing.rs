//! Which of the packets that went into a queue came out of it, and when.
//!
//! No queue in question reorders packets of one flow. So of a flow's packets that went in before the one
//! that came out, those that have not come out yet never will.

use super::tap::Seen;
use crate::outcome::PacketFate;
use std::collections::{BTreeMap, VecDeque};

const CE: u8 = 3;

/// The fate of each arrival, in order. Times count from `begin_ns`. None if a packet came out that never
/// went in.
pub(crate) fn pair(
    arrivals: &[Seen],
    departures: &[Seen],
    begin_ns: u64,
) -> Option<Vec<PacketFate>> {
    let mut fates: Vec<_> = arrivals.iter().map(|seen| fate(seen, begin_ns)).collect();
    let mut waiting: BTreeMap<u16, VecDeque<usize>> = BTreeMap::new();
    for (number, seen) in arrivals.iter().enumerate() {
        waiting.entry(seen.flow).or_default().push_back(number);
    }
    for departure in departures {
        let flow = waiting.get_mut(&departure.flow)?;
        let number = std::iter::from_fn(|| flow.pop_front())
            .find(|&number| arrivals[number].ident == departure.ident)?;
        fates[number].left_ns = Some(departure.at_ns.saturating_sub(begin_ns));
        fates[number].marked = departure.ecn == CE && arrivals[number].ecn != CE;
    }
    Some(fates)
}

fn fate(seen: &Seen, begin_ns: u64) -> PacketFate {
    PacketFate {
        flow: seen.flow,
        ip_bytes: seen.ip_bytes,
        ecn: seen.ecn,
        arrived_ns: seen.at_ns.saturating_sub(begin_ns),
        left_ns: None,
        marked: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(at_ns: u64, flow: u16, ident: u16, ecn: u8) -> Seen {
        let ip_bytes = 1500;
        Seen {
            at_ns,
            flow,
            ident,
            ip_bytes,
            ecn,
        }
    }

    #[test]
    fn flows_may_overtake_each_other_and_gaps_are_drops() {
        let arrivals = [
            seen(10, 0, 1, 2),
            seen(11, 0, 2, 2),
            seen(12, 1, 1, 0),
            seen(13, 0, 3, 2),
            seen(14, 0, 4, 2),
        ];
        let departures = [seen(20, 1, 1, 0), seen(21, 0, 1, 2), seen(22, 0, 3, 3)];
        let fates = pair(&arrivals, &departures, 10).unwrap();
        let left: Vec<_> = fates.iter().map(|f| f.left_ns).collect();
        assert_eq!(left, [Some(11), None, Some(10), Some(12), None]);
        let marked: Vec<_> = fates.iter().map(|f| f.marked).collect();
        assert_eq!(marked, [false, false, false, true, false]);
    }

    #[test]
    fn a_packet_out_of_nowhere_is_noticed() {
        let arrivals = [seen(10, 0, 1, 0)];
        assert_eq!(pair(&arrivals, &[seen(20, 0, 7, 0)], 0), None);
        assert_eq!(pair(&arrivals, &[seen(20, 5, 1, 0)], 0), None);
    }
}
