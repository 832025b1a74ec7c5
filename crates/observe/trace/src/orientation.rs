//! Which end of a packet is the client.
//!
//! Runs over every packet in trace order, before packets are dealt to shards by client address, so
//! it keeps no state for ordinary flows: it guesses from the packet alone, and remembers only the
//! flows whose SYN showed the guess to be wrong.

use hashbrown::HashMap;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::net::IpAddr;
use unbloat_units::named;
use unbloat_wire::{Address, Batch, PacketFlags, PacketHeader, protocol};

/// A network in CIDR notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    address: Address,
    prefix: u8,
}

impl Network {
    /// `None` when `prefix` is longer than the address.
    pub fn new(ip: IpAddr, prefix: u8) -> Option<Network> {
        let offset = if ip.is_ipv4() { 96 } else { 0 };
        (prefix <= 128 - offset).then(|| Network {
            address: ip.into(),
            prefix: prefix + offset,
        })
    }

    pub fn contains(&self, address: &Address) -> bool {
        let bits = u32::from(self.prefix);
        let differ = u128::from_be_bytes(self.address.0) ^ u128::from_be_bytes(address.0);
        bits == 0 || differ >> (128 - bits) == 0
    }
}

named! {
    /// How a flow's client was told from its server, best evidence first.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Evidence {
        /// The user said which network the clients are in.
        ClientNet = "client_net",
        /// The tunnel's PDU session container said which way the packet goes.
        Tunnel = "tunnel",
        /// The client sent the SYN.
        Syn = "syn",
        /// The client was sent the SYN-ACK; the SYN is not in the trace.
        SynAck = "syn_ack",
        /// No handshake in the trace: the lower port is taken for the server's.
        #[default]
        Port = "port",
    }
}

/// The orientation stage.
#[derive(Debug, Default)]
pub struct Orientation {
    client_nets: Vec<Network>,
    /// Flows, by hash, whose guess from the ports is wrong. Two flows of equal hash share their
    /// fate; hashes are 64 bits and keyed, so nobody can bring that about.
    reversed: HashMap<u64, Known>,
    /// Insertion order of `reversed`, so that it stays bounded.
    oldest: VecDeque<u64>,
    /// What this part of a trace adds, if only a part is read.
    part: Option<Learnt>,
}

/// How it is known that a flow is reversed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// From a SYN in this part.
    Seen,
    /// From the part of the trace before this one, which was not read.
    Told,
    /// The same, and it decided the direction of a packet.
    Used,
}

/// What a part of a trace adds to the knowledge of reversed flows, by hash.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Learnt {
    /// In trace order: true where a SYN contradicts the guess from the ports, false where a later SYN agrees with it.
    pub changes: Vec<(u64, bool)>,
    /// Flows reversed before this part, with a packet in it whose direction follows from that.
    pub used: Vec<u64>,
}

impl Orientation {
    /// Reversed flows remembered; a scan from low to high ports can make them up at will.
    pub const MAX_REVERSED: usize = 1 << 20;

    pub fn new(client_nets: Vec<Network>) -> Orientation {
        Orientation {
            client_nets,
            ..Orientation::default()
        }
    }

    /// Continues a trace at a packet before which these flows were reversed.
    pub fn resume(client_nets: Vec<Network>, reversed: impl IntoIterator<Item = u64>) -> Self {
        let mut resumed = Orientation::new(client_nets);
        for flow_hash in reversed {
            resumed.learn(flow_hash, true);
        }
        resumed.begin_part();
        resumed
    }

    /// Starts to collect what [`learnt`](Orientation::learnt) returns.
    pub fn begin_part(&mut self) {
        self.part = Some(Learnt::default());
        self.reversed.values_mut().for_each(|k| *k = Known::Told);
    }

    /// What the packets since [`begin_part`](Orientation::begin_part) added.
    pub fn learnt(&mut self) -> Learnt {
        self.part.take().unwrap_or_default()
    }

    /// Sets `UPLINK` on every packet of the batch whose source is the client.
    pub fn mark(&mut self, batch: &mut Batch) {
        for header in &mut batch.headers {
            if self.is_uplink(header) {
                header.flags.set(PacketFlags::UPLINK);
            }
        }
    }

    #[inline]
    fn is_uplink(&mut self, header: &PacketHeader) -> bool {
        if !self.client_nets.is_empty()
            && let Some(uplink) = self.by_client_net(header)
        {
            return uplink;
        }
        if header
            .flags
            .has(PacketFlags::TUNNEL_UPLINK | PacketFlags::TUNNEL_DOWNLINK)
        {
            return header.flags.has(PacketFlags::TUNNEL_UPLINK);
        }
        let guess = guess_uplink(header);
        if header.protocol == protocol::TCP && header.tcp_flags.syn() {
            let uplink = !header.tcp_flags.ack();
            self.learn(header.flow_hash, guess != uplink);
            return uplink;
        }
        guess != (!self.reversed.is_empty() && self.is_reversed(header.flow_hash))
    }

    fn is_reversed(&mut self, flow_hash: u64) -> bool {
        let Some(known) = self.reversed.get_mut(&flow_hash) else {
            return false;
        };
        if let (Known::Told, Some(part)) = (*known, &mut self.part) {
            *known = Known::Used;
            part.used.push(flow_hash);
        }
        true
    }

    /// Whether this is a SYN that says who the client is, against the guess from the ports.
    pub fn is_contradicted(&self, header: &PacketHeader) -> bool {
        let tunnel = PacketFlags::TUNNEL_UPLINK | PacketFlags::TUNNEL_DOWNLINK;
        header.protocol == protocol::TCP
            && header.tcp_flags.syn()
            && guess_uplink(header) == header.tcp_flags.ack()
            && !header.flags.has(tunnel)
            && self.by_client_net(header).is_none()
    }

    fn by_client_net(&self, header: &PacketHeader) -> Option<bool> {
        let inside = |address| self.client_nets.iter().any(|net| net.contains(address));
        match (inside(&header.src), inside(&header.dst)) {
            (true, false) => Some(true),
            (false, true) => Some(false),
            _ => None,
        }
    }

    fn learn(&mut self, flow_hash: u64, reversed: bool) {
        let before = match reversed {
            true => self.reversed.insert(flow_hash, Known::Seen),
            false => self.reversed.remove(&flow_hash),
        };
        let is_news = match reversed {
            true => before != Some(Known::Seen),
            false => before.is_some(),
        };
        if let (true, Some(part)) = (is_news, &mut self.part) {
            part.changes.push((flow_hash, reversed));
        }
        if reversed && before.is_none() {
            self.oldest.push_back(flow_hash);
            while self.oldest.len() > Self::MAX_REVERSED {
                let oldest = self.oldest.pop_front().expect("longer than the bound");
                self.reversed.remove(&oldest);
            }
        }
    }
}

/// From the packet alone: the client has the higher port; between equal ports, the higher address.
fn guess_uplink(header: &PacketHeader) -> bool {
    let source = (header.src_port, &header.src);
    source > (header.dst_port, &header.dst)
}

/// The evidence that the first packet of a flow gives; later handshake packets can only better it.
pub(crate) fn evidence(header: &PacketHeader, client_nets: &[Network]) -> Evidence {
    let inside = |address| client_nets.iter().any(|net| net.contains(address));
    if inside(&header.src) != inside(&header.dst) {
        Evidence::ClientNet
    } else if header
        .flags
        .has(PacketFlags::TUNNEL_UPLINK | PacketFlags::TUNNEL_DOWNLINK)
    {
        Evidence::Tunnel
    } else if header.protocol != protocol::TCP || !header.tcp_flags.syn() {
        Evidence::Port
    } else if header.tcp_flags.ack() {
        Evidence::SynAck
    } else {
        Evidence::Syn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_wire::TcpFlags;

    fn packet(src: ([u8; 4], u16), dst: ([u8; 4], u16), tcp_flags: u8) -> PacketHeader {
        PacketHeader {
            src: Address::v4(src.0),
            src_port: src.1,
            dst: Address::v4(dst.0),
            dst_port: dst.1,
            protocol: protocol::TCP,
            tcp_flags: TcpFlags(tcp_flags),
            flow_hash: 7,
            ..PacketHeader::default()
        }
    }

    const PHONE: ([u8; 4], u16) = ([10, 45, 0, 2], 40_000);
    const SERVER: ([u8; 4], u16) = ([192, 0, 2, 1], 443);

    fn uplinks(orientation: &mut Orientation, headers: &[PacketHeader]) -> Vec<bool> {
        let mut batch = Batch {
            headers: headers.to_vec(),
            ..Batch::default()
        };
        orientation.mark(&mut batch);
        batch.headers.iter().map(PacketHeader::is_uplink).collect()
    }

    #[test]
    fn the_syn_sender_is_the_client_even_from_the_lower_port() {
        let (low, high) = (([10, 0, 0, 1], 20), ([10, 0, 0, 2], 50_000));
        let headers = [
            packet(low, high, TcpFlags::SYN),
            packet(high, low, TcpFlags::SYN | TcpFlags::ACK),
            packet(low, high, TcpFlags::ACK),
        ];
        assert_eq!(
            uplinks(&mut Orientation::default(), &headers),
            [true, false, true]
        );
    }

    #[test]
    fn without_a_handshake_the_lower_port_is_the_server() {
        let headers = [
            packet(SERVER, PHONE, TcpFlags::ACK),
            packet(PHONE, SERVER, TcpFlags::ACK),
        ];
        assert_eq!(
            uplinks(&mut Orientation::default(), &headers),
            [false, true]
        );
    }

    #[test]
    fn the_client_network_overrides_the_syn() {
        let net = Network::new("192.0.2.0".parse().unwrap(), 24).unwrap();
        let headers = [packet(PHONE, SERVER, TcpFlags::SYN)];
        assert_eq!(uplinks(&mut Orientation::new(vec![net]), &headers), [false]);
    }

    #[test]
    fn networks_hold_exactly_their_prefix() {
        let net = Network::new("10.45.0.0".parse().unwrap(), 15).unwrap();
        assert!(
            net.contains(&Address::v4([10, 44, 0, 1]))
                && net.contains(&Address::v4([10, 45, 9, 9]))
        );
        assert!(!net.contains(&Address::v4([10, 46, 0, 1])));
        assert_eq!(Network::new("10.0.0.0".parse().unwrap(), 33), None);
    }

    #[test]
    fn memory_of_reversed_flows_is_bounded() {
        let mut orientation = Orientation::default();
        for hash in 0..(Orientation::MAX_REVERSED as u64 + 10) {
            orientation.learn(hash, true);
        }
        assert_eq!(orientation.reversed.len(), Orientation::MAX_REVERSED);
    }
}
