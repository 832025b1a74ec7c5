//! Devices over and under others: whose packets the IP layer knows by another name.

use crate::device;
use crate::netlink::{Family, Netlink, attribute, text, u32_at, u64_at};
use std::io;

const GET_LINK: u16 = 18;
/// `struct ifinfomsg`.
const LINK: usize = 16;
const NAME: u16 = 3;
const BELOW: u16 = 5;
const MASTER: u16 = 10;
const INFO: u16 = 18;
const INFO_KIND: u16 = 1;
const STATS: u16 = 23;
/// Their packets are their own from where they leave the device below.
const ABOVE: [&str; 6] = ["ipvlan", "ipvtap", "macsec", "macvlan", "macvtap", "vlan"];

/// Where packets of a device have another device's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stacked {
    /// The bridge or bond whose port it is: all its packets are of that one.
    pub master: Option<String>,
    /// VLANs, macvlans and the like on it: theirs pass beside its own.
    pub above: Vec<String>,
}

struct Link {
    index: u32,
    name: String,
    below: Option<u32>,
    master: Option<u32>,
    kind: String,
}

/// What shaping by a device's name does not reach.
pub fn stacked(name: &str) -> io::Result<Stacked> {
    let index = device::index(name)?;
    let mut links = Vec::new();
    Netlink::open(Family::Route)?.list(GET_LINK, &[0; LINK], |answer| {
        links.extend(read(answer));
    })?;
    let own = links.iter().find(|link| link.index == index);
    let master = links
        .iter()
        .find(|link| own.is_some_and(|own| own.master == Some(link.index)));
    let is_above = |link: &&Link| link.below == Some(index) && ABOVE.contains(&&*link.kind);
    Ok(Stacked {
        // A VRF's ports keep their packets.
        master: master
            .filter(|link| link.kind != "vrf")
            .map(|link| link.name.clone()),
        above: links
            .iter()
            .filter(is_above)
            .map(|link| link.name.clone())
            .collect(),
    })
}

fn read(answer: &[u8]) -> Option<Link> {
    let list = answer.get(LINK..)?;
    let number = |kind| attribute(list, kind).and_then(|value| u32_at(value, 0));
    let kind = attribute(list, INFO).and_then(|info| attribute(info, INFO_KIND));
    Some(Link {
        index: u32_at(answer, 4)?,
        name: text(attribute(list, NAME)?),
        below: number(BELOW),
        master: number(MASTER),
        kind: kind.map(text).unwrap_or_default(),
    })
}

/// Packets that a device has received and sent.
pub fn packets(name: &str) -> io::Result<(u64, u64)> {
    let mut body = [0; LINK];
    body[4..8].copy_from_slice(&device::index(name)?.to_ne_bytes());
    let mut counts = (0, 0);
    Netlink::open(Family::Route)?.get(GET_LINK, &body, |answer| {
        let stats = attribute(answer.get(LINK..).unwrap_or_default(), STATS).unwrap_or_default();
        let count = |at| u64_at(stats, at).unwrap_or(0);
        counts = (count(0), count(8));
    })?;
    Ok(counts)
}
