//! Packets made by hand.

use unbloat_units::{Delta, Seq, Time};
use unbloat_wire::{Address, PacketFlags, PacketHeader, TcpFlags, protocol};

pub(crate) fn at_ms(ms: i64) -> Time {
    Time::from_ns(1_700_000_000_000_000_000) + Delta::ms(ms)
}

/// A segment of 1,000 bytes towards the client, with the identification `id` and a timestamp of its time.
pub(crate) fn data(ms: i64, seq: u32, id: u16) -> PacketHeader {
    let mut header = PacketHeader {
        time: at_ms(ms),
        flow_hash: 77,
        src: Address::v4([192, 0, 2, 1]),
        dst: Address::v4([10, 0, 0, 1]),
        src_port: 443,
        dst_port: 40_000,
        seq: Seq::new(seq),
        ack: Seq::new(9),
        tsval: Seq::new(ms as u32),
        tsecr: Seq::new(5),
        payload_len: 1000,
        header_len: 52,
        wire_len: 1066,
        window: 500,
        ip_id: id,
        tcp_flags: TcpFlags(TcpFlags::ACK),
        protocol: protocol::TCP,
        ..PacketHeader::default()
    };
    header
        .flags
        .set(PacketFlags::IP_ID | PacketFlags::TIMESTAMPS);
    header
}

/// The client's answer.
pub(crate) fn pure_ack(ms: i64, id: u16) -> PacketHeader {
    let data = data(ms, 9, id);
    let mut header = PacketHeader {
        src: data.dst,
        dst: data.src,
        src_port: data.dst_port,
        dst_port: data.src_port,
        payload_len: 0,
        wire_len: 66,
        ..data
    };
    header.flags.set(PacketFlags::UPLINK);
    header
}

/// A server that sends every 10 ms and a client that answers in between, for four seconds, as seen
/// between them.
pub(crate) struct Talk {
    /// Of both ends' timestamps; zero is without.
    pub(crate) tick_ms: i64,
    /// Nobody sends from the first to the second.
    pub(crate) silence: Option<(f64, f64)>,
    /// Seconds from the sender to the capture point, by when it was sent.
    pub(crate) down_delay: fn(f64) -> f64,
    pub(crate) up_delay: fn(f64) -> f64,
}

impl Default for Talk {
    fn default() -> Talk {
        Talk {
            tick_ms: 1,
            silence: None,
            down_delay: |_| 0.02,
            up_delay: |_| 0.02,
        }
    }
}

impl Talk {
    /// In the order in which they pass.
    pub(crate) fn packets(&self) -> Vec<PacketHeader> {
        let mut packets: Vec<PacketHeader> = (0..400).flat_map(|i| self.exchange(i)).collect();
        packets.sort_by_key(|packet| packet.time);
        packets
    }

    fn exchange(&self, i: i64) -> Vec<PacketHeader> {
        let down = data(i * 10, i as u32 * 1000, i as u16 + 1);
        let up = pure_ack(i * 10 + 5, i as u16 + 1);
        let both = [(down, self.down_delay), (up, self.up_delay)];
        let sent = both.into_iter().filter_map(|(packet, delay)| {
            let sent = packet.time.since(at_ms(0));
            let s = sent.as_secs();
            let is_silent = self
                .silence
                .is_some_and(|(from, to)| (from..to).contains(&s));
            (!is_silent).then(|| self.stamped(packet, sent, delay(s)))
        });
        sent.collect()
    }

    fn stamped(&self, packet: PacketHeader, sent: Delta, delay: f64) -> PacketHeader {
        let mut packet = packet;
        packet.time += Delta::from_secs_f64(delay);
        match self.tick_ms {
            0 => packet.flags.0 &= !PacketFlags::TIMESTAMPS,
            tick => {
                let ticks = sent.as_ns() / 1_000_000 / tick;
                let start = if packet.is_uplink() {
                    3_000_000_000
                } else {
                    u32::MAX - 90
                };
                packet.tsval = Seq::new(start) + ticks as u32;
            }
        }
        packet
    }
}
