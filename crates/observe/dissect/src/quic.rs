//! The names in the hello of a QUIC client.
//!
//! # References
//! RFC 9001 §4.1.3, §5.2 and §7 (the hello in Initial packets, readable by anyone), RFC 9369
//! (version 2), RFC 9000 §12.2 (several packets in a datagram), §17.2.5 (Retry).
//!
//! # Where we differ
//! | source | ours | why |
//! |---|---|---|
//! | RFC 9001 §5.3: a packet whose tag cannot be checked is dropped | a cut packet is decrypted unchecked and marked so | snap lengths cut the tag off first, the name stands before it |

use crate::crypto_assembler::CryptoAssembler;
use crate::quic_frames::crypto_frames;
use crate::quic_keys::{InitialKeys, OpenedPacket};
use crate::quic_packet::{InitialPacket, QuicVersion, initial_packets};
use crate::tls::ClientHello;

/// What is known of a QUIC client's hello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuicHello {
    pub version: QuicVersion,
    pub hello: ClientHello,
    /// Every packet that gave a part of it was whole and its tag right.
    pub is_authenticated: bool,
}

/// Reads the hello out of the datagrams that one client sent to one server: one value per flow,
/// kept until [`QuicClient::read`] has told enough.
#[derive(Clone, Debug, Default)]
pub struct QuicClient {
    datagrams: u8,
    /// Version and keys of the last packet that its own connection ID opened.
    keys: Option<(QuicVersion, InitialKeys)>,
    assembler: CryptoAssembler,
    has_unauthenticated: bool,
}

impl QuicClient {
    /// Datagrams looked at. A hello takes one to three, as often again if lost; more is no hello,
    /// and deriving keys for each of its packets would be the costliest thing that we do.
    pub const MAX_DATAGRAMS: u8 = 16;

    /// Reads the payload of the client's next datagram, which may be cut, and tells what is known
    /// of the hello so far; `None` while its beginning is not.
    ///
    /// Datagrams that hold no Initial packet, or a server's, change nothing.
    pub fn read(&mut self, datagram: &[u8]) -> Option<QuicHello> {
        if self.datagrams < Self::MAX_DATAGRAMS {
            self.datagrams += 1;
            for packet in initial_packets(datagram).take(Self::MAX_PACKETS) {
                self.read_packet(&packet);
            }
        }
        let (version, _) = self.keys.as_ref()?;
        Some(QuicHello {
            version: *version,
            hello: ClientHello::parse_handshake(self.assembler.prefix())?,
            is_authenticated: !self.has_unauthenticated,
        })
    }

    /// Initial packets looked at in one datagram; clients send one.
    const MAX_PACKETS: usize = 4;

    fn read_packet(&mut self, packet: &InitialPacket<'_>) -> Option<()> {
        let opened = self.open(packet)?;
        let frames = crypto_frames(&opened.payload, !opened.is_authenticated)?;
        for frame in frames {
            self.assembler.insert(frame.offset, frame.data);
            self.has_unauthenticated |= !opened.is_authenticated;
        }
        Some(())
    }

    /// A client's first packets, and those after a Retry, are sealed under their own destination
    /// ID; those that answer the server carry the server's ID and keep the keys.
    fn open(&mut self, packet: &InitialPacket<'_>) -> Option<OpenedPacket> {
        let own = InitialKeys::of_client(packet.version, packet.dcid);
        if let Some(opened) = open_plausibly(&own, packet) {
            self.keys = Some((packet.version, own));
            return Some(opened);
        }
        let (_, earlier) = self.keys.as_ref()?;
        open_plausibly(earlier, packet)
    }
}

/// Opens a packet whose frames are those of an Initial packet, which with wrong keys not one cut
/// packet in a hundred has.
fn open_plausibly(keys: &InitialKeys, packet: &InitialPacket<'_>) -> Option<OpenedPacket> {
    let opened = keys.open(packet)?;
    crypto_frames(&opened.payload, !opened.is_authenticated)?;
    Some(opened)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{crypto_frame, first_packet, hello_message, sealed};
    use proptest::prelude::*;

    const VERSIONS: [QuicVersion; 2] = [QuicVersion::V1, QuicVersion::V2];
    const DCID: &[u8] = b"client's choice";

    fn packet(number: u16, frames: &[u8]) -> Vec<u8> {
        let keys = InitialKeys::of_client(QuicVersion::V1, DCID);
        sealed(QuicVersion::V1, DCID, &keys, number, frames)
    }

    fn name(read: Option<QuicHello>) -> Option<String> {
        read?.hello.server_name
    }

    #[test]
    fn a_first_packet_shows_the_names() {
        for version in VERSIONS {
            let read = QuicClient::default().read(&first_packet(version)).unwrap();
            assert_eq!(read.version, version);
            assert_eq!(read.hello.server_name.unwrap(), "www.example.com");
            assert_eq!(read.hello.alpn.unwrap(), "h2");
            assert!(read.hello.is_complete && read.is_authenticated);
        }
    }

    #[test]
    fn every_cut_of_a_packet_gives_the_same_name_or_none() {
        // The packet's header, the CRYPTO frame's, and the hello up to the name's last byte.
        let hello = hello_message();
        let name_end = 20 + 5 + hello.windows(3).position(|w| w == b"com").unwrap() + 3;
        for packet in VERSIONS.map(first_packet) {
            for cut in 0..packet.len() {
                let read = QuicClient::default().read(&packet[..cut]);
                assert!(read.as_ref().is_none_or(|r| !r.is_authenticated));
                let expected = (cut >= name_end).then(|| "www.example.com".to_owned());
                assert_eq!(name(read), expected, "{cut}");
            }
        }
    }

    #[test]
    fn frames_out_of_order_are_put_together() {
        let hello = hello_message();
        let frames = [
            crypto_frame(&hello, 90, hello.len()),
            vec![1, 0, 0],
            crypto_frame(&hello, 40, 90),
            crypto_frame(&hello, 0, 40),
        ]
        .concat();
        let read = QuicClient::default().read(&packet(0, &frames)).unwrap();
        assert!(read.hello.is_complete);
        assert_eq!(read.hello.server_name.unwrap(), "www.example.com");
    }

    #[test]
    fn a_hello_spread_over_packets_is_put_together_in_any_order() {
        let hello = hello_message();
        let first = packet(0, &crypto_frame(&hello, 0, 64));
        let second = packet(1, &crypto_frame(&hello, 64, hello.len()));
        for [one, other] in [[&first, &second], [&second, &first]] {
            let mut client = QuicClient::default();
            assert_eq!(name(client.read(one)), None);
            assert_eq!(name(client.read(other)).unwrap(), "www.example.com");
        }
        let together = [first, second].concat();
        let read = QuicClient::default().read(&together);
        assert_eq!(name(read).unwrap(), "www.example.com");
    }

    #[test]
    fn keys_outlive_the_change_to_the_servers_connection_id_and_follow_a_retry() {
        let hello = hello_message();
        let mut client = QuicClient::default();
        client.read(&packet(0, &crypto_frame(&hello, 0, 50)));
        let keys = InitialKeys::of_client(QuicVersion::V1, DCID);
        let tail = crypto_frame(&hello, 50, hello.len());
        let to_server = sealed(QuicVersion::V1, b"server's", &keys, 1, &tail);
        assert_eq!(
            name(client.clone().read(&to_server)).unwrap(),
            "www.example.com"
        );

        let retry_keys = InitialKeys::of_client(QuicVersion::V1, b"retry's");
        let after_retry = sealed(QuicVersion::V1, b"retry's", &retry_keys, 1, &tail);
        assert_eq!(name(client.read(&after_retry)).unwrap(), "www.example.com");
    }

    #[test]
    fn a_packet_sealed_with_other_keys_tells_nothing() {
        let hello = hello_message();
        let server_keys = InitialKeys::of_client(QuicVersion::V1, b"something else");
        let frames = crypto_frame(&hello, 0, hello.len());
        let packet = sealed(QuicVersion::V1, DCID, &server_keys, 0, &frames);
        for cut in 0..=packet.len() {
            assert_eq!(QuicClient::default().read(&packet[..cut]), None, "{cut}");
        }
    }

    #[test]
    fn a_flow_that_never_greets_is_given_up() {
        let mut client = QuicClient::default();
        for _ in 0..QuicClient::MAX_DATAGRAMS {
            assert_eq!(client.read(b"\x40short header"), None);
        }
        assert_eq!(client.read(&first_packet(QuicVersion::V1)), None);
    }

    proptest! {
        #[test]
        fn no_change_of_a_packet_gives_another_authenticated_name(
            at in 0usize..1136, wrong in prop::collection::vec(any::<u8>(), 1..40), cut in 0usize..1300,
        ) {
            let mut packet = first_packet(QuicVersion::V1);
            let end = (at + wrong.len()).min(packet.len());
            packet[at..end].copy_from_slice(&wrong[..end - at]);
            packet.truncate(cut);
            if let Some(read) = QuicClient::default().read(&packet) && read.is_authenticated {
                prop_assert_eq!(read.hello.server_name.unwrap(), "www.example.com");
            }
        }

        #[test]
        fn any_bytes_behind_a_long_header_open_to_nothing_authenticated(
            first in 0xc0u8.., version in prop_oneof![Just(1u32), Just(0x6b33_43cf)],
            tail in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let datagram = [&[first], version.to_be_bytes().as_slice(), &tail].concat();
            let read = QuicClient::default().read(&datagram);
            prop_assert!(read.is_none_or(|r| !r.is_authenticated));
        }
    }
}
