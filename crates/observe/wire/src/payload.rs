//! Which payloads are kept for application analyses: HTTP, TLS hellos, DNS, QUIC Initials.
//!
//! # References
//! - RFC 9112 §3, §4 (HTTP/1.1), RFC 8446 §4, §5.1 (TLS), RFC 1035 §4.2.1, RFC 6762 §3 (DNS)
//! - RFC 9000 §17.2, RFC 9369 §3.2 (QUIC long headers of versions 1 and 2)

use crate::protocol;
use crate::tcp::Transport;

/// Most of a payload that is kept; a TLS hello with its server name or HTTP headers fit.
pub(crate) const MAX_KEPT: usize = 2048;

/// The beginning of the payload if an analysis reads such, else nothing.
#[inline]
pub(crate) fn worth_keeping<'a>(number: u8, transport: &Transport<'a>) -> &'a [u8] {
    let bytes = transport.payload.bytes;
    let ports = (transport.src_port, transport.dst_port);
    let is_worth_it = match number {
        protocol::TCP => is_tcp_worth_keeping(bytes, ports),
        protocol::UDP => is_dns(transport) || is_quic_initial(transport),
        _ => false,
    };
    if is_worth_it { kept_of(bytes) } else { &[] }
}

/// Whether the payload of a segment between `ports` begins with something that an analysis reads.
#[inline]
pub(crate) fn is_tcp_worth_keeping(bytes: &[u8], ports: (u16, u16)) -> bool {
    !bytes.is_empty() && (is_http(bytes) || is_tls_client_hello(bytes) || is_dns_over_tcp(ports))
}

/// As much of it as is kept.
pub(crate) fn kept_of(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(MAX_KEPT)]
}

fn is_http(bytes: &[u8]) -> bool {
    const STARTS: [&[u8]; 9] = [
        b"GET ",
        b"HTTP/1.",
        b"POST ",
        b"PUT ",
        b"HEAD ",
        b"DELETE ",
        b"OPTIONS ",
        b"PATCH ",
        b"CONNECT ",
    ];
    matches!(bytes[0], b'C' | b'D' | b'G' | b'H' | b'O' | b'P')
        && STARTS.iter().any(|start| bytes.starts_with(start))
}

/// A handshake record of any 3.x version whose first message is a ClientHello.
fn is_tls_client_hello(bytes: &[u8]) -> bool {
    matches!(bytes, [0x16, 0x03, _, _, _, 0x01, ..])
}

#[inline]
fn is_dns(transport: &Transport<'_>) -> bool {
    matches!(transport.src_port, 53 | 5353) || matches!(transport.dst_port, 53 | 5353)
}

#[inline]
fn is_dns_over_tcp((src, dst): (u16, u16)) -> bool {
    src == 53 || dst == 53
}

fn is_quic_initial(transport: &Transport<'_>) -> bool {
    const QUIC: [u16; 2] = [443, 8443];
    const VERSION_2: u32 = 0x6b33_43cf;
    let on_port = QUIC.contains(&transport.src_port) || QUIC.contains(&transport.dst_port);
    let Some(&[first, v0, v1, v2, v3]) = transport.payload.bytes.first_chunk() else {
        return false;
    };
    let (long, packet_type) = (first & 0xc0 == 0xc0, first >> 4 & 3);
    on_port
        && long
        && match u32::from_be_bytes([v0, v1, v2, v3]) {
            0 => false,
            VERSION_2 => packet_type == 1,
            _ => packet_type == 0,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ACK, TIMESTAMPS, ipv4, parser, tcp, udp};
    use crate::{Batch, PacketFlags};
    use unbloat_units::Time;

    /// What is kept of a packet's payload.
    fn kept(packet: &[u8]) -> Vec<u8> {
        let mut batch = Batch::default();
        parser().push(&mut batch, 101.into(), packet, 0, Time::default());
        let header = batch.headers[0];
        let payload = batch.payload(&header).to_vec();
        assert_eq!(
            header.flags.has(PacketFlags::APP_PAYLOAD),
            !payload.is_empty()
        );
        payload
    }

    #[test]
    fn requests_answers_and_tls_hellos_are_kept_and_other_bytes_are_not() {
        for start in [
            &b"GET / HTTP/1.1"[..],
            b"POST /a",
            b"HTTP/1.1 200 OK",
            b"CONNECT a:443",
            b"\x16\x03\x01\x02\x00\x01\x00",
        ] {
            assert_eq!(kept(&ipv4(6, &tcp(ACK, &TIMESTAMPS, start))), start);
        }
        for start in [
            &b"GETTY"[..],
            b"\x17\x03\x03",
            b"\x16\x03\x03\0\x10\x02",
            b"H",
        ] {
            assert!(kept(&ipv4(6, &tcp(ACK, &TIMESTAMPS, start))).is_empty());
        }
    }

    #[test]
    fn dns_and_quic_initials_are_kept() {
        assert_eq!(kept(&ipv4(17, &udp(53, 4000, b"answer"))), b"answer");
        assert_eq!(kept(&ipv4(17, &udp(5353, 5353, b"mdns"))), b"mdns");
        let mut over_tcp = tcp(ACK, &TIMESTAMPS, b"\0\x07message");
        over_tcp[2..4].copy_from_slice(&[0, 53]);
        assert_eq!(kept(&ipv4(6, &over_tcp)), b"\0\x07message");
        let initials = [[0xc3, 0, 0, 0, 1], [0xd3, 0x6b, 0x33, 0x43, 0xcf]];
        for initial in initials {
            assert_eq!(kept(&ipv4(17, &udp(4000, 443, &initial))), initial);
            assert!(kept(&ipv4(17, &udp(4000, 4001, &initial))).is_empty());
        }
        // Handshake, version negotiation, short header.
        for other in [[0xe3, 0, 0, 0, 1], [0xc3, 0, 0, 0, 0], [0x43, 0, 0, 0, 1]] {
            assert!(kept(&ipv4(17, &udp(4000, 443, &other))).is_empty());
        }
    }

    #[test]
    fn two_kilobytes_are_kept_and_padding_never() {
        let long = [&b"GET /"[..], &[b'a'; 5000]].concat();
        assert_eq!(kept(&ipv4(6, &tcp(ACK, &[], &long))), long[..MAX_KEPT]);
        let mut padded = ipv4(17, &udp(53, 4000, b"dns"));
        padded.extend([0; 20]);
        assert_eq!(kept(&padded), b"dns");
    }
}
