//! Coarser TCP timestamp clocks for the clients than their kernel has.
//!
//! Linux counts TSval in milliseconds; phones counted in 1, 4 and 10 ms. The client's TSval is
//! divided on its way out, and the server's echo of it (TSecr) is turned back into the value that
//! the client's kernel sent, so that its RTT samples and undo logic stay right
//! (RFC 7323, sections 4.2 and 5.4; checksums updated by RFC 1624, equation 3).

use crate::core::packet::{TCP, ip_header_bytes};
use crate::core::{FiveTuple, Packet};
use std::collections::{BTreeMap, HashMap};

/// Echoes older than this many ticks are forgotten.
const REMEMBERED_TICKS: usize = 16_384;

/// Divides timestamps and remembers what the quotients stood for.
#[derive(Clone, Debug)]
pub struct Ticks {
    tick_ms: u32,
    sent: HashMap<FiveTuple, BTreeMap<u32, u32>>,
}

impl Ticks {
    /// # Panics
    /// When `tick_ms` is 0.
    pub fn new(tick_ms: u32) -> Ticks {
        assert!(tick_ms > 0, "a clock needs a tick");
        Ticks {
            tick_ms,
            sent: HashMap::new(),
        }
    }

    /// Coarsens the TSval of a packet that leaves the client.
    pub fn coarsen(&mut self, packet: &mut Packet) {
        let Some((at, real)) = self.field(packet, 0) else {
            return;
        };
        let tick = real / self.tick_ms;
        let sent = self.sent.entry(packet.tuple).or_default();
        sent.insert(tick, real);
        if sent.len() > REMEMBERED_TICKS {
            sent.pop_first();
        }
        rewrite(&mut packet.bytes, at, tick);
    }

    /// Restores the TSecr of a packet that is about to reach the client: the newest TSval of the
    /// echoed tick. Echoes of ticks never sent (RST, UDP-like zeros) stay as they are.
    pub fn restore(&self, packet: &mut Packet) {
        let Some((at, tick)) = self.field(packet, 4) else {
            return;
        };
        let sent = self.sent.get(&packet.tuple.reversed());
        if let Some(real) = sent.and_then(|ticks| ticks.get(&tick)) {
            rewrite(&mut packet.bytes, at, *real);
        }
    }

    fn field(&self, packet: &Packet, within: usize) -> Option<(usize, u32)> {
        if self.tick_ms == 1 || packet.tuple.protocol != TCP {
            return None;
        }
        let at = timestamp_option(&packet.bytes)? + within;
        let value = packet.bytes.get(at..at + 4)?.try_into().ok()?;
        Some((at, u32::from_be_bytes(value)))
    }
}

/// Where the TSval stands in an IPv4 TCP packet.
fn timestamp_option(bytes: &[u8]) -> Option<usize> {
    let tcp = ip_header_bytes(bytes)?;
    let end = tcp + usize::from(bytes.get(tcp + 12)? >> 4) * 4;
    let mut at = tcp + 20;
    while at < end {
        match *bytes.get(at)? {
            0 => return None,
            1 => at += 1,
            8 => return Some(at + 2),
            _ => at += usize::from(*bytes.get(at + 1)?).max(2),
        }
    }
    None
}

/// Writes four bytes and mends the TCP checksum.
fn rewrite(bytes: &mut [u8], at: usize, value: u32) {
    let tcp = usize::from(bytes[0] & 15) * 4;
    let words = (at - (at - tcp) % 2)..(at + 4 + (at - tcp) % 2);
    let before = sum(&bytes[words.clone()]);
    bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
    let after = sum(&bytes[words]);
    let old = u16::from_be_bytes([bytes[tcp + 16], bytes[tcp + 17]]);
    let new = !fold(u32::from(!old) + u32::from(!fold(before)) + after);
    bytes[tcp + 16..tcp + 18].copy_from_slice(&new.to_be_bytes());
}

fn sum(bytes: &[u8]) -> u32 {
    let words = bytes.chunks_exact(2);
    words.map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum()
}

fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::Direction;
    use crate::core::packet::tests::{segment_with_timestamps, tcp_checksum};

    #[test]
    fn the_wire_carries_ticks_and_the_client_gets_its_own_values_back() {
        let mut ticks = Ticks::new(10);
        for real in [123_456_781, 123_456_788, 4_294_967_295] {
            let mut up = segment_with_timestamps(Direction::Up, 0, 1, 11, [real, 9]);
            ticks.coarsen(&mut up);
            let (_, wire) = ticks.field(&up, 0).unwrap();
            assert_eq!(wire, real / 10);
            assert_eq!(tcp_checksum(&up.bytes), 0);

            let mut down = segment_with_timestamps(Direction::Down, 0, 1, 5, [77, wire]);
            ticks.restore(&mut down);
            assert_eq!(ticks.field(&down, 4).unwrap().1, real);
            assert_eq!(ticks.field(&down, 0).unwrap().1, 77);
            assert_eq!(tcp_checksum(&down.bytes), 0);
        }
    }

    #[test]
    fn an_echo_of_nothing_sent_is_left_alone() {
        let ticks = Ticks::new(4);
        let mut down = segment_with_timestamps(Direction::Down, 0, 1, 5, [77, 5]);
        let before = down.clone();
        ticks.restore(&mut down);
        assert_eq!(down, before);
    }
}
