//! The kernel's statistics of a queue, out of netlink's bytes (include/uapi/linux/gen_stats.h, pkt_sched.h).

use super::rtnetlink::statistic;
use crate::outcome::KernelCounters;
use unbloat_os::netlink::numbers;

const BASIC: u16 = 1;
const QUEUE: u16 = 3;
const APPLICATION: u16 = 4;

/// Reads the attributes of a discipline of that kind.
pub(crate) fn read(kind: &str, attributes: &[u8]) -> KernelCounters {
    let part = |which| statistic(attributes, [numbers::TCA_STATS2, which]).unwrap_or_default();
    let (basic, queue, application) = (part(BASIC), part(QUEUE), part(APPLICATION));
    let fields = own_fields(kind).iter();
    KernelCounters {
        backlog_packets: number(queue, 0, 4) as u32,
        backlog_bytes: number(queue, 4, 4) as u32,
        sent_packets: number(basic, 8, 4),
        sent_bytes: number(basic, 0, 8),
        dropped: number(queue, 8, 4),
        own: fields
            .map(|&(name, at, width)| (name.to_owned(), number(application, at, width)))
            .collect(),
    }
}

/// Name, offset and width of a discipline's own statistics.
fn own_fields(kind: &str) -> &'static [(&'static str, usize, usize)] {
    match kind {
        "codel" => &[
            ("count", 4, 4),
            ("lastcount", 8, 4),
            ("drop_overlimit", 20, 4),
            ("ecn_mark", 24, 4),
            ("dropping", 28, 4),
        ],
        // The first word says that a queue's statistics follow, not a class's.
        "fq_codel" => &[
            ("drop_overlimit", 8, 4),
            ("ecn_mark", 12, 4),
            ("new_flow_count", 16, 4),
        ],
        "pie" => &[
            ("prob", 0, 8),
            ("delay", 8, 4),
            ("dropped", 24, 4),
            ("overlimit", 28, 4),
            ("maxq", 32, 4),
            ("ecn_mark", 36, 4),
        ],
        "red" => &[
            ("early", 0, 4),
            ("pdrop", 4, 4),
            ("other", 8, 4),
            ("marked", 12, 4),
        ],
        _ => &[],
    }
}

/// A number of the machine's byte order; zero where the kernel wrote less.
fn number(bytes: &[u8], at: usize, width: usize) -> u64 {
    let mut word = [0; 8];
    if let Some(from) = bytes.get(at..at + width) {
        word[..width].copy_from_slice(from);
    }
    u64::from_ne_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_os::netlink::Attributes;

    #[test]
    fn statistics_are_found_by_their_offsets() {
        let words = |words: &[u32]| {
            words
                .iter()
                .flat_map(|w| w.to_ne_bytes())
                .collect::<Vec<_>>()
        };
        let parts = Attributes::new()
            .bytes(BASIC, &words(&[15_000, 0, 10, 0]))
            .bytes(QUEUE, &words(&[2, 3000, 7, 0, 5]))
            .bytes(APPLICATION, &words(&[1500, 4, 3, 0, 0, 6, 8, 1, 0]));
        let attributes = Attributes::new().nested(numbers::TCA_STATS2, &parts);
        let counters = read("codel", &attributes.to_bytes());
        assert_eq!(
            (counters.backlog_packets, counters.backlog_bytes),
            (2, 3000)
        );
        assert_eq!(
            (counters.sent_packets, counters.sent_bytes, counters.dropped),
            (10, 15_000, 7)
        );
        assert_eq!((counters.own["count"], counters.own["ecn_mark"]), (4, 8));
    }
}
