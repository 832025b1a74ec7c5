//! What the kernel did to connections that the path did not.
//!
//! A host that is short of memory drops segments and shrinks windows. No queue shows this: the run looks like a slower path.

use crate::error::LabError;
use crate::stage::Stage;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// Of the calling thread's namespace; `/proc/net` would be that of the process.
const NETSTAT: &str = "/proc/thread-self/net/netstat";
/// Names in `TcpExt` (net/ipv4/proc.c): memory pressure entered; segments dropped from a full receive queue, from behind a
/// hole, on arrival, and from the backlog of a socket in use.
const COUNTERS: [&str; 5] = [
    "TCPMemoryPressures",
    "RcvPruned",
    "OfoPruned",
    "TCPRcvQDrop",
    "TCPBacklogDrop",
];

/// The kernel's counters that say so, of all hosts together; only those that are not zero.
pub type Shortage = BTreeMap<String, u64>;

pub(crate) fn shortage(stage: &Stage) -> Result<Shortage, LabError> {
    let mut sum = Shortage::new();
    for place in stage.sides.iter().flat_map(BTreeMap::values) {
        let text = place.host.within(|| fs::read_to_string(NETSTAT))?;
        let text = text.map_err(|source| LabError::Write {
            path: PathBuf::from(NETSTAT),
            source,
        })?;
        for (name, count) in counters(&text) {
            *sum.entry(name.to_owned()).or_default() += count;
        }
    }
    Ok(sum)
}

/// Names stand in one line, values in the next; both begin with the name of the group.
fn counters(text: &str) -> Vec<(&'static str, u64)> {
    let mut lines = text.lines().filter(|line| line.starts_with("TcpExt:"));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else {
        return Vec::new();
    };
    let pairs = names.split(' ').zip(values.split(' '));
    let known = pairs.filter_map(|(name, value)| {
        let name = COUNTERS.into_iter().find(|counter| *counter == name)?;
        let count = value.parse().ok().filter(|count| *count > 0)?;
        Some((name, count))
    });
    known.collect()
}

/// What senders sent again, and what may have been the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repairs {
    /// Segments that were sent again.
    pub retransmissions: u64,
    /// Of these, segments that had arrived: the receiver reported a second copy (D-SACK).
    pub duplicates: u64,
    /// Packets that the path or a device dropped.
    pub dropped: u64,
}

/// Retransmissions without a known reason that never cast doubt on a run: what was sent again at its very end has no
/// D-SACK yet.
const FLOOR: u64 = 10;
/// The same, as one in so many retransmissions.
const SHARE: u64 = 20;

impl Repairs {
    /// Retransmissions that neither a drop nor an early timeout explains, if there are many.
    pub fn unexplained(&self) -> Option<u64> {
        let explained = self.duplicates + self.dropped;
        let left = self.retransmissions.saturating_sub(explained);
        (left > FLOOR.max(self.retransmissions / SHARE)).then_some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_by_their_names() {
        let text = "TcpExt: SyncookiesSent RcvPruned OfoPruned TCPMemoryPressures\nTcpExt: 5 3 0 1\nIpExt: A\nIpExt: 9\n";
        assert_eq!(
            counters(text),
            [("RcvPruned", 3), ("TCPMemoryPressures", 1)]
        );
        assert_eq!(counters("IpExt: A\nIpExt: 9\n"), []);
    }

    #[test]
    fn drops_and_duplicates_explain_retransmissions() {
        let repairs = |retransmissions, duplicates, dropped| Repairs {
            retransmissions,
            duplicates,
            dropped,
        };
        assert_eq!(repairs(1_000, 0, 1_000).unexplained(), None);
        assert_eq!(repairs(1_000, 700, 300).unexplained(), None);
        // Datagrams and ACKs are dropped, too.
        assert_eq!(repairs(5, 0, 300).unexplained(), None);
        assert_eq!(repairs(8, 0, 0).unexplained(), None);
        assert_eq!(repairs(1_000, 0, 960).unexplained(), None);
        assert_eq!(repairs(1_000, 100, 700).unexplained(), Some(200));
    }
}
