//! Who, when, how much: identity, size, duration and rate of a flow (§4.1, Fig. 2, 3 and 5).
//!
//! Size is payload bytes, copies included; `unique_*_bytes` counts each byte of sequence space once.
//! Duration runs from the first to the last packet, rate is size over duration; both as in the paper.

use super::{Analysis, Context, Findings, Flow, Sees};
use crate::protocols::protocol_name;
use unbloat_table::{Column, RowWriter};
use unbloat_units::{Bytes, Direction};

pub(crate) struct Volume;

impl Analysis for Volume {
    type Light = ();
    type Deep = ();
    const SEES: Sees = Sees::NONE;

    fn columns(columns: &mut Vec<Column>) {
        columns.extend([
            Column::u64("flow_id", "number in the trace of the flow's first packet"),
            Column::u64("user_id", "number of the user's first packet"),
            Column::text("client", "client address"),
            Column::u64("client_port", "client port"),
            Column::text("server", "server address"),
            Column::u64("server_port", "server port"),
            Column::text("protocol", "tcp or udp"),
            Column::u64("ip_version", "4 or 6"),
            Column::text("orientation", "how client and server were told apart: client_net, tunnel, syn, syn_ack or port"),
            Column::i64("start_ns", "first packet, since the trace began"),
            Column::i64("end_ns", "last packet, since the trace began"),
            Column::f64("duration_ms", "first to last packet (section 4.1)"),
            Column::text("end_cause", "fin, rst, idle, reuse, evicted or trace_end"),
            Column::bool("syn_only", "nothing but SYN packets from the client (section 4.1)"),
            Column::u64("packets_down", "packets towards the client"),
            Column::u64("packets_up", "packets towards the server"),
            Column::u64("payload_down_bytes", "payload towards the client, copies included (section 4.1)"),
            Column::u64("payload_up_bytes", "payload towards the server, copies included"),
            Column::u64("wire_bytes", "both directions, all framing included"),
            Column::u64("unique_down_bytes", "sequence space seen or acknowledged towards the client, SYN and FIN excluded; modulo 4 GB"),
            Column::u64("unique_up_bytes", "the same towards the server"),
            Column::f64("rate_down_bps", "payload_down over duration (section 4.1)"),
            Column::f64("rate_up_bps", "payload_up over duration"),
            Column::f64("transfer_ms", "first to last packet with payload"),
            Column::f64("max_gap_ms", "longest silence between two packets"),
            Column::bool("large_down", "more than large_bytes of downlink payload in more than large_duration (section 5)"),
        ]);
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
        let mut address = address_text::Buffer::default();
        row.u64(core.flow_id);
        row.u64(core.user_id);
        row.text(address.format(core.client));
        row.u64(u64::from(core.client_port));
        row.text(address.format(core.server));
        row.u64(u64::from(core.server_port));
        row.text(protocol_name(core.protocol));
        row.u64(if core.is_ipv6 { 6 } else { 4 });
        row.text(core.evidence.name());
        row.i64(cx.since_origin(core.start));
        row.i64(cx.since_origin(core.last));
        row.f64(core.duration().as_ms());
        row.text(findings.end.name());
        row.bool(flow.is_tcp().then(|| is_syn_only(flow)));
        volumes(flow, row);
        row.f64(core.transfer_time().as_ms());
        row.f64(core.max_gap.as_ms());
        let large = core.payload.down > cx.params.large_bytes.as_u64()
            && core.transfer_time() > cx.params.large_duration;
        row.bool(flow.is_tcp().then_some(large));
    }
}

fn volumes(flow: &Flow<'_>, row: &mut RowWriter<'_>) {
    let core = flow.core;
    for side in Direction::BOTH {
        row.u64(core.packets[side]);
    }
    for side in Direction::BOTH {
        row.u64(core.payload[side]);
    }
    row.u64(core.wire_bytes);
    for side in Direction::BOTH {
        row.u64(flow.half(side).unique_payload(core.is_finished(side)));
    }
    for side in Direction::BOTH {
        let rate = Bytes::new(core.payload[side]).over(core.duration());
        row.f64(rate.map(|r| r.as_bps_f64()));
    }
}

/// The client's SYN, once or more, and nothing that answers it.
fn is_syn_only(flow: &Flow<'_>) -> bool {
    flow.core.packets.down == 0
        && flow.half(Direction::Up).is_syn_seen()
        && flow.half(Direction::Up).span() == Some(1)
}

/// Addresses as text without an allocation for each.
mod address_text {
    use std::fmt::Write;
    use unbloat_wire::Address;

    #[derive(Clone, Default)]
    pub(super) struct Buffer(String);

    impl Buffer {
        pub(super) fn format(&mut self, address: Address) -> &str {
            self.0.clear();
            match address.0 {
                // IPv4, ten times as fast as the general way: every flow writes two.
                [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d] => {
                    self.octet(a);
                    [b, c, d].into_iter().for_each(|octet| {
                        self.0.push('.');
                        self.octet(octet);
                    });
                }
                _ => write!(self.0, "{address}").expect("a String takes everything"),
            }
            &self.0
        }

        fn octet(&mut self, octet: u8) {
            let digit = |n: u8| char::from(b'0' + n % 10);
            if octet > 99 {
                self.0.push(digit(octet / 100));
            }
            if octet > 9 {
                self.0.push(digit(octet / 10));
            }
            self.0.push(digit(octet));
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn addresses_read_as_the_library_writes_them() {
            let mut buffer = Buffer::default();
            for octets in [[0, 9, 10, 99], [100, 101, 200, 255]] {
                let address = Address::v4(octets);
                assert_eq!(buffer.format(address), address.to_string());
            }
        }
    }
}
