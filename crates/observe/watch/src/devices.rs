//! What the kernel tells of devices: their counters, their queue disciplines, the bytes in their drivers.

use rustix::net::AddressFamily;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use unbloat_os::netlink::{Family, Netlink, attribute, text, u32_at, u64_at};
use unbloat_units::Bytes;

const GETLINK: u16 = 18;
const GETROUTE: u16 = 26;
const GETQDISC: u16 = 38;
/// `struct ifinfomsg` and `struct tcmsg`.
const LINK: usize = 16;
const QDISC: usize = 20;
const ROUTE: usize = 12;
/// `TC_H_ROOT`.
const ROOT: u32 = u32::MAX;
/// The parts of the kernel's statistics of a discipline (linux/gen_stats.h).
const BASIC: u16 = 1;
const QUEUE: u16 = 3;

/// A device and what it has counted so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Device {
    pub(crate) name: String,
    pub(crate) address: Vec<u8>,
    /// Whether it is a piece of hardware, or a program behind a TUN or TAP device: then the time until the driver lets go
    /// of a packet is a time in its queue, and not the packet's way through another part of this kernel.
    pub(crate) is_end: bool,
    /// Bytes that the driver says it has sent.
    pub(crate) sent: Bytes,
    pub(crate) dropped: u64,
    pub(crate) queue: Option<Queue>,
    pub(crate) driver: Option<DriverBytes>,
}

/// The outermost queue discipline, which counts for those within it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Queue {
    pub(crate) kind: String,
    pub(crate) backlog: Bytes,
    pub(crate) packets: u64,
    pub(crate) left: Bytes,
    pub(crate) dropped: u64,
}

/// Byte queue limits of all transmit queues together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DriverBytes {
    pub(crate) in_flight: Bytes,
    pub(crate) limit: Bytes,
}

pub(crate) struct Devices(Netlink);

impl Devices {
    pub(crate) fn open() -> io::Result<Devices> {
        Netlink::open(Family::Route).map(Devices)
    }

    /// All devices of the namespace by their index.
    pub(crate) fn all(&self) -> io::Result<BTreeMap<u32, Device>> {
        let mut devices = BTreeMap::new();
        self.0.list(GETLINK, &[0; LINK], |answer| {
            devices.extend(parse_link(answer));
        })?;
        self.0.list(GETQDISC, &[0; QDISC], |answer| {
            if let Some((index, queue)) = parse_queue(answer)
                && let Some(device) = devices.get_mut(&index)
            {
                device.queue = Some(queue);
            }
        })?;
        for (index, device) in &mut devices {
            device.driver = driver_bytes(*index, device);
        }
        Ok(devices)
    }

    /// The device by which packets to there leave.
    pub(crate) fn way(&self, to: IpAddr) -> Option<u32> {
        const DESTINATION: u16 = 1;
        const DEVICE: u16 = 4;
        let (family, address) = match to {
            IpAddr::V4(to) => (AddressFamily::INET, to.octets().to_vec()),
            IpAddr::V6(to) => (AddressFamily::INET6, to.octets().to_vec()),
        };
        let mut body = vec![0; ROUTE];
        body[0] = family.as_raw() as u8;
        body[1] = 8 * address.len() as u8;
        body.extend((4 + address.len() as u16).to_ne_bytes());
        body.extend(DESTINATION.to_ne_bytes());
        body.extend(address);
        let mut device = None;
        let asked = self.0.get(GETROUTE, &body, |answer| {
            let attributes = answer.get(ROUTE..).unwrap_or_default();
            device = attribute(attributes, DEVICE).and_then(|index| u32_at(index, 0));
        });
        asked.ok().and(device)
    }
}

pub(crate) fn parse_link(answer: &[u8]) -> Option<(u32, Device)> {
    const ADDRESS: u16 = 1;
    const NAME: u16 = 3;
    const INFO: u16 = 18;
    const INFO_KIND: u16 = 1;
    const STATISTICS: u16 = 23;
    const PARENT: u16 = 56;
    let attributes = answer.get(LINK..)?;
    let part = |kind| attribute(attributes, kind);
    let statistics = part(STATISTICS).unwrap_or_default();
    let kind = part(INFO).and_then(|info| attribute(info, INFO_KIND));
    let device = Device {
        name: text(part(NAME)?),
        address: part(ADDRESS).unwrap_or_default().to_vec(),
        is_end: part(PARENT).is_some() || kind.is_some_and(|kind| text(kind) == "tun"),
        sent: Bytes::new(u64_at(statistics, 24).unwrap_or(0)),
        dropped: u64_at(statistics, 56).unwrap_or(0),
        ..Device::default()
    };
    Some((u32_at(answer, 4)?, device))
}

/// The discipline and its device, if it is the outermost one.
pub(crate) fn parse_queue(answer: &[u8]) -> Option<(u32, Queue)> {
    const KIND: u16 = 1;
    const STATISTICS: u16 = 7;
    if u32_at(answer, 12)? != ROOT {
        return None;
    }
    let attributes = answer.get(QDISC..)?;
    let statistics = attribute(attributes, STATISTICS)?;
    let basic = attribute(statistics, BASIC).unwrap_or_default();
    let lengths = attribute(statistics, QUEUE).unwrap_or_default();
    let word = |at| u64::from(u32_at(lengths, at).unwrap_or(0));
    let queue = Queue {
        kind: text(attribute(attributes, KIND)?),
        packets: word(0),
        backlog: Bytes::new(word(4)),
        dropped: word(8),
        left: Bytes::new(u64_at(basic, 0).unwrap_or(0)),
    };
    Some((u32_at(answer, 4)?, queue))
}

/// What `/sys` says. It shows the namespace in which it was mounted, so that the device of that name may be another one.
fn driver_bytes(index: u32, device: &Device) -> Option<DriverBytes> {
    if !device.is_end {
        return None;
    }
    let folder = Path::new("/sys/class/net").join(&device.name);
    let read = |path: &Path| fs::read_to_string(path).ok();
    let address: Vec<String> = device
        .address
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let is_it = read(&folder.join("ifindex"))?.trim() == index.to_string()
        && read(&folder.join("address"))?.trim() == address.join(":");
    if !is_it {
        return None;
    }
    let (mut in_flight, mut limit) = (0, 0);
    for queue in fs::read_dir(folder.join("queues")).ok()?.flatten() {
        let limits = queue.path().join("byte_queue_limits");
        let number = |name| read(&limits.join(name))?.trim().parse::<u64>().ok();
        in_flight += number("inflight").unwrap_or(0);
        limit += number("limit").unwrap_or(0);
    }
    // Drivers that do not take part leave both at zero.
    (limit > 0).then_some(DriverBytes {
        in_flight: Bytes::new(in_flight),
        limit: Bytes::new(limit),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_there_and_is_the_way_to_itself() {
        let devices = Devices::open().unwrap();
        let all = devices.all().unwrap();
        let (index, lo) = all.iter().find(|(_, device)| device.name == "lo").unwrap();
        assert!(!lo.is_end);
        assert_eq!(devices.way("127.0.0.1".parse().unwrap()), Some(*index));
    }

    #[test]
    fn answers_that_are_cut_say_nothing() {
        for length in 0..QDISC {
            assert_eq!(parse_queue(&vec![0xff; length]), None);
            assert_eq!(parse_link(&vec![0xff; length]), None);
        }
    }
}
