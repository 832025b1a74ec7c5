//! Who, when, how much: identity, size, duration and rate of a flow (§4.1, Fig. 2, 3 and 5).
//!
//! Size is payload bytes, copies included; `unique_*_bytes` counts each byte of sequence space once.
//! Duration runs from the first to the last packet, rate is size over duration; both as in the paper.

use super::{Analysis, Context, Findings, Flow, Sees};
use crate::protocols::protocol_name;
use unbloat_table::{Columns, RowWriter, columns};
use unbloat_units::{Bytes, Direction, Rate};
use unbloat_wire::Address;

pub(crate) struct Volume;

columns! {
    pub struct VolumeColumns<'a> {
        flow_id: u64 = "number in the trace of the flow's first packet",
        user_id: u64 = "number of the user's first packet",
        client: &'a str = "client address",
        client_port: u16 = "client port",
        server: &'a str = "server address",
        server_port: u16 = "server port",
        protocol: &'a str = "tcp or udp",
        ip_version: u8 = "4 or 6",
        orientation: &'a str = "how client and server were told apart: client_net, tunnel, syn, syn_ack or port",
        start_ns: i64 = "first packet, since the trace began",
        end_ns: i64 = "last packet, since the trace began",
        duration_ms: f64 = "first to last packet (section 4.1)",
        end_cause: &'a str = "fin, rst, idle, reuse, evicted or trace_end",
        syn_only: Option<bool> = "nothing but SYN packets from the client (section 4.1)",
        packets_down: u64 = "packets towards the client",
        packets_up: u64 = "packets towards the server",
        payload_down_bytes: u64 = "payload towards the client, copies included (section 4.1)",
        payload_up_bytes: u64 = "payload towards the server, copies included",
        wire_bytes: u64 = "both directions, all framing included",
        unique_down_bytes: Option<u64> = "sequence space seen or acknowledged towards the client, SYN and FIN excluded; modulo 4 GB",
        unique_up_bytes: Option<u64> = "the same towards the server",
        rate_down_bps: Option<f64> = "payload_down over duration (section 4.1)",
        rate_up_bps: Option<f64> = "payload_up over duration",
        transfer_ms: f64 = "first to last packet with payload",
        max_gap_ms: f64 = "longest silence between two packets",
        large_down: Option<bool> = "more than large_bytes of downlink payload in more than large_duration (section 5)",
    }
}

impl Analysis for Volume {
    type Light = ();
    type Deep = ();
    type Columns = VolumeColumns<'static>;
    const SEES: Sees = Sees::NONE;
    const IS_OF_ALL: bool = true;

    fn is_alone(_: &str) -> bool {
        true
    }

    fn finish(
        (): &mut (),
        _: Option<&mut ()>,
        flow: &Flow<'_>,
        findings: &mut Findings,
        cx: &mut Context<'_>,
        row: &mut RowWriter<'_>,
    ) {
        let core = flow.core;
        let large = core.payload.down > cx.params.large_bytes.as_u64()
            && core.transfer_time() > cx.params.large_duration;
        let unique = |side| flow.half(side).unique_payload(core.is_finished(side));
        let rate = |bytes| {
            Bytes::new(bytes)
                .over(core.duration())
                .map(Rate::as_bps_f64)
        };
        let columns = VolumeColumns {
            flow_id: core.flow_id,
            user_id: core.user_id,
            client: &address_text(core.client),
            client_port: core.client_port,
            server: &address_text(core.server),
            server_port: core.server_port,
            protocol: protocol_name(core.protocol),
            ip_version: if core.is_ipv6 { 6 } else { 4 },
            orientation: core.evidence.name(),
            start_ns: cx.since_origin(core.start),
            end_ns: cx.since_origin(core.last),
            duration_ms: core.duration().as_ms(),
            end_cause: findings.end.name(),
            syn_only: flow.is_tcp().then(|| is_syn_only(flow)),
            packets_down: core.packets.down,
            packets_up: core.packets.up,
            payload_down_bytes: core.payload.down,
            payload_up_bytes: core.payload.up,
            wire_bytes: core.wire_bytes,
            unique_down_bytes: unique(Direction::Down),
            unique_up_bytes: unique(Direction::Up),
            rate_down_bps: rate(core.payload.down),
            rate_up_bps: rate(core.payload.up),
            transfer_ms: core.transfer_time().as_ms(),
            max_gap_ms: core.max_gap.as_ms(),
            large_down: flow.is_tcp().then_some(large),
        };
        columns.write(row);
    }
}

/// The client's SYN, once or more, and nothing that answers it.
fn is_syn_only(flow: &Flow<'_>) -> bool {
    flow.core.packets.down == 0
        && flow.half(Direction::Up).is_syn_seen()
        && flow.half(Direction::Up).span() == Some(1)
}

/// An address as text; IPv4 ten times as fast as the general way: every flow writes two.
pub(super) fn address_text(address: Address) -> String {
    let [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, octets @ ..] = address.0 else {
        return address.to_string();
    };
    let digit = |n: u8| char::from(b'0' + n % 10);
    let mut text = String::with_capacity("255.255.255.255".len());
    for (at, octet) in octets.into_iter().enumerate() {
        if at > 0 {
            text.push('.');
        }
        if octet > 99 {
            text.push(digit(octet / 100));
        }
        if octet > 9 {
            text.push(digit(octet / 10));
        }
        text.push(digit(octet));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_read_as_the_library_writes_them() {
        let v6 = Address(
            "2001:db8::1"
                .parse::<std::net::Ipv6Addr>()
                .unwrap()
                .octets(),
        );
        let v4 = [[0, 9, 10, 99], [100, 101, 200, 255]].map(Address::v4);
        for address in v4.into_iter().chain([v6]) {
            assert_eq!(address_text(address), address.to_string());
        }
    }
}
