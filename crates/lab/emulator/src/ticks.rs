//! Hosts whose TCP timestamps count in coarser ticks than their kernel's.
//!
//! Linux counts TSval in milliseconds; phones counted in 1, 4 and 10 ms. The TSval is divided where the packet enters the path,
//! and the peer's echo of it (TSecr) is turned back into the value that the kernel sent where it leaves, so that the host's own
//! round-trip times and undo logic stay right.
//!
//! # References
//! RFC 7323 sections 4.2 and 5.4; checksums by RFC 1624, equation 3.

use crate::ip::{Address, Header, TCP};
use crate::port::of_ip;
use crate::tcp;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use unbloat_os::checksum::replace;
use unbloat_units::Delta;

/// Echoes older than this many ticks are forgotten.
const REMEMBERED_TICKS: usize = 16_384;
const TIMESTAMPS: u8 = 8;

/// The clock of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    pub host: IpAddr,
    /// In whole milliseconds.
    pub tick: Delta,
}

/// Addresses and ports of one direction of a connection.
type Connection = (Address, Address, [u16; 2]);

/// Divides timestamps and remembers what the quotients stood for.
#[derive(Debug, Default)]
pub(crate) struct Ticks {
    by_host: HashMap<Address, u32>,
    sent: HashMap<Connection, BTreeMap<u32, u32>>,
}

impl Ticks {
    pub(crate) fn new(ticks: &[Tick]) -> Ticks {
        let in_ms = |tick: Delta| (tick.as_us() / 1_000).clamp(1, i64::from(u32::MAX)) as u32;
        let ticks = ticks.iter();
        Ticks {
            by_host: ticks
                .map(|one| (of_ip(one.host), in_ms(one.tick)))
                .collect(),
            sent: HashMap::new(),
        }
    }

    /// Coarsens the TSval of a packet that enters the path. `is_checked`: its checksum is to stay right.
    pub(crate) fn coarsen(&mut self, packet: &mut [u8], is_checked: bool) {
        if self.by_host.is_empty() {
            return;
        }
        let Some((ip, option)) = timestamps(packet) else {
            return;
        };
        let Some(tick_ms) = self.by_host.get(&ip.source) else {
            return;
        };
        let real = value(packet, option);
        let tick = real / tick_ms;
        let connection = (ip.source, ip.destination, ip.ports(packet));
        let sent = self.sent.entry(connection).or_default();
        sent.insert(tick, real);
        if sent.len() > REMEMBERED_TICKS {
            sent.pop_first();
        }
        rewrite(packet, ip.len, option, tick, is_checked);
    }

    /// Restores the TSecr of a packet that leaves the path: the newest TSval of the echoed tick. Echoes of what was never sent
    /// stay as they are.
    pub(crate) fn restore(&self, header: &mut [u8], is_checked: bool) {
        if self.by_host.is_empty() {
            return;
        }
        let Some((ip, option)) = timestamps(header) else {
            return;
        };
        let [from, to] = ip.ports(header);
        let sent = self.sent.get(&(ip.destination, ip.source, [to, from]));
        let echo = option + 4;
        if let Some(real) = sent.and_then(|ticks| ticks.get(&value(header, echo))) {
            rewrite(header, ip.len, echo, *real, is_checked);
        }
    }
}

/// The IP header of a segment, and where its TSval stands.
fn timestamps(bytes: &[u8]) -> Option<(Header, usize)> {
    let ip = Header::parse_alone(bytes).filter(|ip| ip.protocol == TCP && !ip.is_fragment)?;
    let end = ip.len + tcp::header_len(&bytes[ip.len..])?;
    let mut at = ip.len + 20;
    while at < end {
        match bytes[at] {
            0 => return None,
            1 => at += 1,
            TIMESTAMPS if at + 10 <= end => return Some((ip, at + 2)),
            _ => at += usize::from(*bytes.get(at + 1)?).max(2),
        }
    }
    None
}

fn value(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn word_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Writes four bytes, and mends the checksum.
fn rewrite(bytes: &mut [u8], transport: usize, at: usize, value: u32, is_checked: bool) {
    let field = transport + tcp::CHECKSUM;
    for (byte, new) in value.to_be_bytes().into_iter().enumerate() {
        // The option may begin at any byte.
        let word = (at + byte - transport) / 2 * 2 + transport;
        let before = word_at(bytes, word);
        bytes[at + byte] = new;
        if is_checked {
            let fixed = replace(word_at(bytes, field), before, word_at(bytes, word));
            bytes[field..field + 2].copy_from_slice(&fixed.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_os::checksum::{fold, sum};

    const PHONE: [u8; 4] = [10, 45, 0, 1];
    const SERVER: [u8; 4] = [10, 99, 0, 1];

    /// A segment with a sound checksum, its option behind so many bytes of padding.
    fn segment([from, to]: [([u8; 4], u16); 2], padding: usize, stamps: [u32; 2]) -> Vec<u8> {
        let mut bytes = vec![0; 52];
        bytes[..4].copy_from_slice(&[0x45, 0, 0, 52]);
        bytes[9] = TCP;
        bytes[12..16].copy_from_slice(&from.0);
        bytes[16..20].copy_from_slice(&to.0);
        bytes[20..22].copy_from_slice(&from.1.to_be_bytes());
        bytes[22..24].copy_from_slice(&to.1.to_be_bytes());
        bytes[32] = 8 << 4;
        bytes[40..40 + padding].fill(1);
        let at = 40 + padding;
        bytes[at..at + 2].copy_from_slice(&[TIMESTAMPS, 10]);
        bytes[at + 2..at + 6].copy_from_slice(&stamps[0].to_be_bytes());
        bytes[at + 6..at + 10].copy_from_slice(&stamps[1].to_be_bytes());
        let checksum = !total(&bytes);
        bytes[36..38].copy_from_slice(&checksum.to_be_bytes());
        bytes
    }

    /// All ones where the checksum is right.
    fn total(bytes: &[u8]) -> u16 {
        let pseudo = u64::from(TCP) + 32;
        fold(sum(&bytes[12..20]) + pseudo + sum(&bytes[20..]))
    }

    fn ticks() -> Ticks {
        let tick = Tick {
            host: PHONE.into(),
            tick: Delta::ms(10),
        };
        Ticks::new(&[tick])
    }

    #[test]
    fn the_path_carries_ticks_and_the_host_gets_its_own_values_back() {
        for padding in [0, 1, 2] {
            let mut ticks = ticks();
            let at = 42 + padding;
            for real in [123_456_781, 123_456_788, u32::MAX] {
                let mut up = segment([(PHONE, 5), (SERVER, 80)], padding, [real, 9]);
                ticks.coarsen(&mut up, true);
                assert_eq!((value(&up, at), value(&up, at + 4)), (real / 10, 9));
                assert_eq!(total(&up), 0xffff);

                let mut down = segment([(SERVER, 80), (PHONE, 5)], padding, [77, real / 10]);
                ticks.coarsen(&mut down, true);
                ticks.restore(&mut down, true);
                assert_eq!((value(&down, at), value(&down, at + 4)), (77, real));
                assert_eq!(total(&down), 0xffff);
            }
        }
    }

    #[test]
    fn what_others_send_an_unknown_echo_and_damage_are_left_alone() {
        let mut ticks = ticks();
        let mut packets = vec![
            segment([(SERVER, 80), (PHONE, 5)], 0, [77, 5]),
            segment([([10, 45, 0, 2], 5), (SERVER, 80)], 0, [123, 4]),
        ];
        let whole = segment([(PHONE, 5), (SERVER, 80)], 0, [123, 4]);
        packets.extend((0..50).map(|len| whole[..len].to_vec()));
        for before in packets {
            let mut after = before.clone();
            ticks.coarsen(&mut after, true);
            ticks.restore(&mut after, true);
            assert_eq!(after, before);
        }
    }

    #[test]
    fn an_unfinished_checksum_stays_unfinished() {
        let mut up = segment([(PHONE, 5), (SERVER, 80)], 0, [1_000, 9]);
        let checksum = up[36..38].to_vec();
        ticks().coarsen(&mut up, false);
        assert_eq!(value(&up, 42), 100);
        assert_eq!(up[36..38], checksum);
    }
}
