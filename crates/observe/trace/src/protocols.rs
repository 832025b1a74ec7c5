//! Breakdown by protocol and service port (§4.1).

use crate::flow::FlowCore;
use crate::tables::ProtocolRow;
use serde::{Deserialize, Serialize};
use unbloat_table::{Order, Rows};
use unbloat_wire::{PacketHeader, protocol};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Counts {
    flows: u64,
    packets: u64,
    wire_bytes: u64,
    payload_bytes: u64,
}

/// Service by server port, as named in tables; `other` is last.
const APPLICATIONS: [&str; 9] = [
    "http", "https", "dns", "mail", "ssh", "quic", "ntp", "iperf", "other",
];

fn application(number: u8, port: u16) -> usize {
    match (number, port) {
        (protocol::UDP, 443 | 8443) => 5,
        (protocol::TCP | protocol::UDP, port) => match port {
            80 | 8080 => 0,
            443 | 8443 => 1,
            53 | 853 | 5353 => 2,
            25 | 110 | 143 | 465 | 587 | 993 | 995 => 3,
            22 => 4,
            123 => 6,
            5001 | 5201 => 7,
            _ => 8,
        },
        _ => 8,
    }
}

/// Transport protocols told apart, `other` last; their names are [`protocol_name`]'s.
const TRANSPORTS: [u8; 7] = [
    protocol::TCP,
    protocol::UDP,
    protocol::ICMP,
    protocol::ICMPV6,
    50,
    132,
    255,
];

fn transport(number: u8) -> usize {
    match number {
        protocol::TCP => 0,
        protocol::UDP => 1,
        _ => TRANSPORTS
            .iter()
            .position(|&t| t == number)
            .unwrap_or(TRANSPORTS.len() - 1),
    }
}

/// Counts of what passed, whoever sent it. Those of several shards add up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Protocols {
    counts: [[Counts; APPLICATIONS.len()]; TRANSPORTS.len()],
}

impl Protocols {
    /// Counts a packet that belongs to no flow.
    pub(crate) fn packet(&mut self, header: &PacketHeader) {
        let port = if header.is_uplink() {
            header.dst_port
        } else {
            header.src_port
        };
        let at = (
            transport(header.protocol),
            application(header.protocol, port),
        );
        let counts = &mut self.counts[at.0][at.1];
        counts.packets += 1;
        counts.wire_bytes += u64::from(header.wire_len);
        counts.payload_bytes += u64::from(header.payload_len);
    }

    /// Counts a flow that has ended, with all its packets.
    pub(crate) fn flow(&mut self, core: &FlowCore) {
        let at = (
            transport(core.protocol),
            application(core.protocol, core.server_port),
        );
        let counts = &mut self.counts[at.0][at.1];
        counts.flows += 1;
        counts.packets += core.packets.iter().sum::<u64>();
        counts.wire_bytes += core.wire_bytes;
        counts.payload_bytes += core.payload.iter().sum::<u64>();
    }

    /// Adds what another shard counted.
    pub fn merge(&mut self, other: &Protocols) {
        for (a, b) in self
            .counts
            .iter_mut()
            .flatten()
            .zip(other.counts.iter().flatten())
        {
            a.flows += b.flows;
            a.packets += b.packets;
            a.wire_bytes += b.wire_bytes;
            a.payload_bytes += b.payload_bytes;
        }
    }

    /// Writes the `protocols` table.
    pub fn write(&self, rows: &mut Rows) {
        for (t, applications) in self.counts.iter().enumerate() {
            for (a, counts) in applications
                .iter()
                .enumerate()
                .filter(|(_, c)| c.packets > 0)
            {
                let order = Order {
                    written_at: u64::MAX,
                    subject: (t * APPLICATIONS.len() + a) as u64,
                };
                let row = ProtocolRow {
                    protocol: protocol_name(TRANSPORTS[t]),
                    application: APPLICATIONS[a],
                    flows: counts.flows,
                    packets: counts.packets,
                    wire_bytes: counts.wire_bytes,
                    payload_bytes: counts.payload_bytes,
                };
                rows.push(order, row);
            }
        }
    }
}

/// The name in tables.
pub(crate) fn protocol_name(number: u8) -> &'static str {
    match number {
        protocol::TCP => "tcp",
        protocol::UDP => "udp",
        protocol::ICMP => "icmp",
        protocol::ICMPV6 => "icmpv6",
        50 => "esp",
        132 => "sctp",
        _ => "other",
    }
}
