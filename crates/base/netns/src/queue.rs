//! Queue disciplines on devices: set, told of, read.

use crate::netlink::Answer;
use netlink_packet_core::DefaultNla;
use netlink_packet_route::RouteNetlinkMessage as Message;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use unbloat_os::netlink::attribute;

const TCA_OPTIONS: u16 = 2;
const TCA_STATS2: u16 = 7;
const TCA_STAB: u16 = 8;
/// `struct tcmsg`, and where the device, the handle and the parent stand in it.
const FIXED: usize = 20;
const DEVICE: usize = 4;
const HANDLE: usize = 8;
const PARENT: usize = 12;
/// Of `TCA_STATS2` (include/uapi/linux/gen_stats.h).
const BASIC: u16 = 1;
const QUEUE: u16 = 3;
const APPLICATION: u16 = 4;

/// Where a discipline or class stands, and what it is called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) parent: TcHandle,
    pub(crate) handle: TcHandle,
}

/// `1:`, the outermost discipline of a device.
pub(crate) const ROOT: Place = Place {
    parent: TcHandle::ROOT,
    handle: handle(1, 0),
};
/// `1:1`, the class of an HTB at the root.
pub(crate) const CLASS: Place = Place {
    parent: ROOT.handle,
    handle: handle(1, 1),
};
/// `2:`, the discipline in that class.
pub(crate) const LEAF: Place = Place {
    parent: CLASS.handle,
    handle: handle(2, 0),
};

const fn handle(major: u16, minor: u16) -> TcHandle {
    TcHandle { major, minor }
}

/// What a queue has counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueCounters {
    /// `fq_codel`, ...
    pub kind: String,
    pub backlog_packets: u32,
    pub backlog_bytes: u32,
    pub sent_packets: u32,
    pub sent_bytes: u64,
    pub dropped: u32,
    /// The discipline's own statistics (`TCA_STATS_APP`), as the kernel wrote them.
    pub own: Vec<u8>,
}

/// A discipline; a size table may decide what it counts of a packet.
pub(crate) fn discipline(
    device: u32,
    place: Place,
    kind: &str,
    options: &[u8],
    size_table: Option<&[u8]>,
) -> Message {
    let mut message = told(device, place, kind, options);
    let table = size_table.map(|table| other(TCA_STAB, table));
    message.attributes.extend(table);
    Message::NewQueueDiscipline(message)
}

pub(crate) fn class(device: u32, place: Place, kind: &str, options: &[u8]) -> Message {
    Message::NewTrafficClass(told(device, place, kind, options))
}

/// Takes the outermost discipline away; the kernel puts its own in place.
pub(crate) fn remove(device: u32) -> Message {
    let mut message = told(device, ROOT, "", &[]);
    message.attributes.clear();
    message.header.handle = TcHandle::UNSPEC;
    Message::DelQueueDiscipline(message)
}

/// Asks for all disciplines of the host.
pub(crate) fn all() -> Message {
    Message::GetQueueDiscipline(TcMessage::default())
}

/// The counters of the innermost discipline: of all that were listed, the one for this device that
/// stands in a class, or the one at the root.
pub(crate) fn innermost(answers: &[Answer], device: u32) -> Option<QueueCounters> {
    let of_device = |answer: &&Answer| answer.word(DEVICE) == Some(device);
    let is_at = |answer: &&Answer, parent: TcHandle| answer.word(PARENT) == Some(u32::from(parent));
    let mut here = answers.iter().filter(of_device);
    let leaf = here
        .clone()
        .find(|a| is_at(a, LEAF.parent) && a.word(HANDLE) != Some(0));
    let found = leaf.or_else(|| here.find(|a| is_at(a, TcHandle::ROOT)));
    found.map(|answer| counters(answer.attributes(FIXED)))
}

fn counters(attributes: &[u8]) -> QueueCounters {
    const TCA_KIND: u16 = 1;
    let kind = attribute(attributes, TCA_KIND).unwrap_or_default();
    let statistics = attribute(attributes, TCA_STATS2).unwrap_or_default();
    let part = |which| attribute(statistics, which).unwrap_or_default();
    let (basic, queue) = (part(BASIC), part(QUEUE));
    QueueCounters {
        kind: String::from_utf8_lossy(kind)
            .trim_end_matches('\0')
            .to_owned(),
        backlog_packets: u32_at(queue, 0),
        backlog_bytes: u32_at(queue, 4),
        sent_packets: u32_at(basic, 8),
        sent_bytes: u64::from(u32_at(basic, 0)) | u64::from(u32_at(basic, 4)) << 32,
        dropped: u32_at(queue, 8),
        own: part(APPLICATION).to_vec(),
    }
}

fn told(device: u32, place: Place, kind: &str, options: &[u8]) -> TcMessage {
    let mut message = TcMessage::default();
    message.header.index = device as i32;
    message.header.parent = place.parent;
    message.header.handle = place.handle;
    message.attributes.push(TcAttribute::Kind(kind.to_owned()));
    if !options.is_empty() {
        message.attributes.push(other(TCA_OPTIONS, options));
    }
    message
}

fn other(kind: u16, value: &[u8]) -> TcAttribute {
    TcAttribute::Other(DefaultNla::new(kind, value.to_vec()))
}

/// Zero where the kernel wrote less.
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
    word.map_or(0, u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_os::netlink::Attributes;

    fn listed(device: u32, handle: TcHandle, parent: TcHandle, kind: &[u8]) -> Answer {
        let words =
            |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|w| w.to_ne_bytes()).collect() };
        let parts = Attributes::new()
            .bytes(BASIC, &words(&[15_000, 1, 10, 0]))
            .bytes(QUEUE, &words(&[2, 3000, 7, 0, 5]))
            .bytes(APPLICATION, &words(&[1500]));
        let attributes = Attributes::new()
            .bytes(1, kind)
            .bytes(TCA_STATS2, &parts.to_bytes());
        let mut bytes = words(&[0, device, handle.into(), parent.into(), 0]);
        bytes.extend(attributes.to_bytes());
        Answer(bytes)
    }

    #[test]
    fn the_queue_within_a_shaper_is_the_one_that_is_meant() {
        let answers = [
            listed(3, ROOT.handle, ROOT.parent, b"htb\0"),
            listed(3, LEAF.handle, LEAF.parent, b"codel\0"),
            listed(4, ROOT.handle, ROOT.parent, b"pie\0"),
        ];
        let codel = innermost(&answers, 3).unwrap();
        let expected = QueueCounters {
            kind: "codel".to_owned(),
            backlog_packets: 2,
            backlog_bytes: 3000,
            sent_packets: 10,
            sent_bytes: (1 << 32) + 15_000,
            dropped: 7,
            own: 1500u32.to_ne_bytes().to_vec(),
        };
        assert_eq!(codel, expected);
        assert_eq!(innermost(&answers, 4).unwrap().kind, "pie");
        assert_eq!(innermost(&answers, 5), None);
    }
}
