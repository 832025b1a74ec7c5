//! Opens Initial packets: their keys follow from what everyone on the path can see.
//!
//! # References
//! RFC 9001 §5.2 (secrets), §5.3 (nonce), §5.4 (header protection); RFC 9369 §3.3 (version 2's
//! salt and labels); NIST SP 800-38D §7.2 (AES-GCM is AES-CTR, its counter starting at 2).

use crate::quic_packet::{InitialPacket, QuicVersion};
use ring::aead::quic::{self, HeaderProtectionKey};
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};

/// Length of the tag that ends a protected packet (RFC 9001 §5.3).
const TAG_LEN: usize = 16;

/// The keys of a client's Initial packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InitialKeys {
    key: [u8; 16],
    iv: [u8; 12],
    header: [u8; 16],
}

/// An Initial packet's frames in the clear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenedPacket {
    pub(crate) payload: Vec<u8>,
    /// The tag was visible and right. If it was not visible, the payload is cut or may be.
    pub(crate) is_authenticated: bool,
}

impl InitialKeys {
    /// Keys that follow from the destination connection ID of the client's first packet, or from
    /// the first after a Retry.
    pub(crate) fn of_client(version: QuicVersion, dcid: &[u8]) -> InitialKeys {
        let (salt, [key_label, iv_label, header_label]) = match version {
            QuicVersion::V1 => (&SALT_V1, ["quic key", "quic iv", "quic hp"]),
            QuicVersion::V2 => (&SALT_V2, ["quicv2 key", "quicv2 iv", "quicv2 hp"]),
        };
        let initial = Salt::new(HKDF_SHA256, salt).extract(dcid);
        let secret: [u8; 32] = expand_label(&initial, "client in");
        let client = Prk::new_less_safe(HKDF_SHA256, &secret);
        InitialKeys {
            key: expand_label(&client, key_label),
            iv: expand_label(&client, iv_label),
            header: expand_label(&client, header_label),
        }
    }

    /// Opens a packet; `None` if too little of it is visible, or if these are not its keys.
    ///
    /// A packet that is cut has no tag to check. Its visible part is decrypted all the same, and
    /// wrong keys show only in what comes out: the caller must doubt it.
    pub(crate) fn open(&self, packet: &InitialPacket<'_>) -> Option<OpenedPacket> {
        let (header, number) = self.unprotect(packet)?;
        let body_len = packet.sent_len.checked_sub(header.len() + TAG_LEN)?;
        let mut payload = packet.bytes[header.len()..].to_vec();
        let is_authenticated = packet.bytes.len() == packet.sent_len;
        if is_authenticated {
            let aad = Aad::from(&header);
            self.cipher()
                .open_in_place(self.nonce(number), aad, &mut payload)
                .ok()?;
        }
        payload.truncate(body_len);
        if !is_authenticated {
            // AES-CTR is its own inverse, so sealing what was sealed opens it. The new tag means nothing.
            let _tag = self
                .cipher()
                .seal_in_place_separate_tag(self.nonce(number), Aad::empty(), &mut payload)
                .ok()?;
        }
        Some(OpenedPacket {
            payload,
            is_authenticated,
        })
    }

    /// The header in the clear, packet number included, and the packet number.
    ///
    /// The number is taken as sent: a client's Initial packets are too few for it to be shortened
    /// (RFC 9000 §17.1).
    fn unprotect(&self, packet: &InitialPacket<'_>) -> Option<(Vec<u8>, u32)> {
        let at = packet.number_at;
        let mask = self.mask(packet.bytes.get(at + 4..at + 20)?)?;
        let first = packet.bytes[0] ^ mask[0] & 0x0f;
        // Reserved bits are zero in every packet (RFC 9000 §17.2); wrong keys mostly show here.
        if first & 0x0c != 0 {
            return None;
        }
        let number_len = usize::from(first & 3) + 1;
        let mut header = packet.bytes[..at + number_len].to_vec();
        header[0] = first;
        let mut number = 0;
        for (byte, cover) in header[at..].iter_mut().zip(&mask[1..]) {
            *byte ^= cover;
            number = number << 8 | u32::from(*byte);
        }
        Some((header, number))
    }

    /// What covers the first byte and the packet number (RFC 9001 §5.4.3).
    fn mask(&self, sample: &[u8]) -> Option<[u8; 5]> {
        let key = HeaderProtectionKey::new(&quic::AES_128, &self.header);
        key.expect("16 bytes are a key").new_mask(sample).ok()
    }

    fn cipher(&self) -> LessSafeKey {
        let key = UnboundKey::new(&AES_128_GCM, &self.key);
        LessSafeKey::new(key.expect("16 bytes are a key"))
    }

    fn nonce(&self, number: u32) -> Nonce {
        let mut nonce = self.iv;
        for (byte, n) in nonce[8..].iter_mut().zip(number.to_be_bytes()) {
            *byte ^= n;
        }
        Nonce::assume_unique_for_key(nonce)
    }
}

/// RFC 9001 §5.2.
const SALT_V1: [u8; 20] = [
    0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad,
    0xcc, 0xbb, 0x7f, 0x0a,
];

/// RFC 9369 §3.3.1.
const SALT_V2: [u8; 20] = [
    0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93, 0x81, 0xbe, 0x6e, 0x26, 0x9d, 0xcb,
    0xf9, 0xbd, 0x2e, 0xd9,
];

/// HKDF-Expand-Label with an empty context (RFC 8446 §7.1).
fn expand_label<const N: usize>(secret: &Prk, label: &str) -> [u8; N] {
    const PREFIX: &str = "tls13 ";
    let label_len = (PREFIX.len() + label.len()) as u8;
    let info = [
        &(N as u16).to_be_bytes(),
        &[label_len][..],
        PREFIX.as_bytes(),
        label.as_bytes(),
        &[0],
    ];
    let mut out = [0; N];
    secret
        .expand(&info, Length(N))
        .and_then(|key| key.fill(&mut out))
        .expect("32 bytes are within what HKDF gives");
    out
}

/// Bytes of a key.
struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

#[cfg(test)]
impl InitialKeys {
    /// What a client does: seals `frames` behind a clear header that ends in the packet number.
    pub(crate) fn seal(&self, header: &[u8], number: u32, frames: &[u8]) -> Vec<u8> {
        let mut body = frames.to_vec();
        let tag = self
            .cipher()
            .seal_in_place_separate_tag(self.nonce(number), Aad::from(header), &mut body)
            .unwrap();
        let mut packet = [header, &body, tag.as_ref()].concat();
        let number_len = usize::from(header[0] & 3) + 1;
        let at = header.len() - number_len;
        let mask = self.mask(&packet[at + 4..at + 20]).unwrap();
        packet[0] ^= mask[0] & 0x0f;
        for (byte, cover) in packet[at..at + number_len].iter_mut().zip(&mask[1..]) {
            *byte ^= cover;
        }
        packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quic_packet::initial_packets;
    use crate::samples::{first_packet, hex, sealed};

    const VERSIONS: [QuicVersion; 2] = [QuicVersion::V1, QuicVersion::V2];

    fn rfc_keys(version: QuicVersion) -> InitialKeys {
        InitialKeys::of_client(version, &hex("8394c8f03e515708"))
    }

    fn opened(datagram: &[u8]) -> Option<OpenedPacket> {
        let packet = initial_packets(datagram).next()?;
        InitialKeys::of_client(packet.version, packet.dcid).open(&packet)
    }

    #[test]
    fn keys_of_version_1_are_those_of_rfc_9001_appendix_a_1() {
        let keys = rfc_keys(QuicVersion::V1);
        assert_eq!(keys.key.to_vec(), hex("1f369613dd76d5467730efcbe3b1a22d"));
        assert_eq!(keys.iv.to_vec(), hex("fa044b2f42a3fd3b46fb255c"));
        assert_eq!(
            keys.header.to_vec(),
            hex("9f50449e04a0e810283a1e9933adedd2")
        );
    }

    #[test]
    fn keys_of_version_2_are_those_of_rfc_9369_appendix_a_1() {
        let keys = rfc_keys(QuicVersion::V2);
        assert_eq!(keys.key.to_vec(), hex("8b1a0bc121284290a29e0971b5cd045d"));
        assert_eq!(keys.iv.to_vec(), hex("91f73e2351d8fa91660e909f"));
        assert_eq!(
            keys.header.to_vec(),
            hex("45b95e15235d6f45a6b19cbcb0294ba9")
        );
    }

    /// The printed header and sample, which is the first block of the sealed payload, are a
    /// packet cut after 38 bytes; the printed CRYPTO frame tells what it must open to.
    #[test]
    fn the_beginnings_of_the_packets_of_both_appendices_a_2_open_to_the_printed_frame() {
        for beginning in [
            "c000000001088394c8f03e5157080000449e7b9aec34d1b1c98dd7689fb8ec11d242b123dc9b",
            "d76b3343cf088394c8f03e5157080000449ea0c95e82ffe67b6abcdb4298b485dd04de806071",
        ] {
            let part = opened(&hex(beginning)).unwrap();
            assert!(!part.is_authenticated);
            assert_eq!(part.payload, hex("060040f1010000ed0303ebf8fa56f129"));
        }
    }

    #[test]
    fn a_whole_packet_opens_authenticated_whatever_its_number() {
        for (version, number) in VERSIONS.into_iter().zip([1, 0xfedc]) {
            let keys = rfc_keys(version);
            let packet = sealed(version, b"other", &keys, number, &[1; 40]);
            let packet = initial_packets(&packet).next().unwrap();
            let whole = keys.open(&packet).unwrap();
            assert_eq!((whole.payload, whole.is_authenticated), (vec![1; 40], true));
        }
    }

    #[test]
    fn every_cut_opens_to_a_beginning_of_the_same_payload() {
        for packet in VERSIONS.map(first_packet) {
            let whole = opened(&packet).unwrap().payload;
            let header_len = packet.len() - whole.len() - TAG_LEN;
            for cut in 0..packet.len() {
                let Some(part) = opened(&packet[..cut]) else {
                    // The sample is taken as if the packet number had 4 bytes; it has 2.
                    assert!(cut < header_len + 18, "{cut}");
                    continue;
                };
                assert!(!part.is_authenticated);
                assert_eq!(part.payload.len(), (cut - header_len).min(whole.len()));
                assert!(whole.starts_with(&part.payload));
            }
        }
    }

    #[test]
    fn a_changed_packet_stays_shut() {
        let mut packet = first_packet(QuicVersion::V1);
        packet[700] ^= 1;
        assert_eq!(opened(&packet), None);
    }

    #[test]
    fn a_packet_too_short_for_its_tag_stays_shut() {
        let short = [b"\xc0\0\0\0\x01\0\0\0\x14".as_slice(), &[0; 20]].concat();
        for len in 0..=20 {
            let mut packet = short.clone();
            packet[8] = len;
            assert!(opened(&packet).is_none_or(|p| !p.is_authenticated), "{len}");
        }
    }
}
