//! Hellos and sealed packets for tests.

use crate::quic_keys::InitialKeys;
use crate::quic_packet::QuicVersion;

/// A ClientHello for `www.example.com`, its server name before its protocols.
pub(crate) fn hello_message() -> Vec<u8> {
    let extensions = [
        extension(0x2a2a, b""),
        extension(0, b"\0\x12\0\0\x0fwww.example.com"),
        extension(16, b"\0\x0c\x02h2\x08http/1.1"),
        extension(21, &[0; 9]),
    ]
    .concat();
    let body = [
        b"\x03\x03".as_slice(),
        &[7; 32],
        b"\0\0\x02\x13\x01\x01\0",
        &(extensions.len() as u16).to_be_bytes(),
        &extensions,
    ]
    .concat();
    [&[1, 0, 0, body.len() as u8], body.as_slice()].concat()
}

fn extension(kind: u16, data: &[u8]) -> Vec<u8> {
    let len = data.len() as u16;
    [&kind.to_be_bytes(), len.to_be_bytes().as_slice(), data].concat()
}

/// A CRYPTO frame with `hello[from..to]` (both below 256).
pub(crate) fn crypto_frame(hello: &[u8], from: usize, to: usize) -> Vec<u8> {
    let data = &hello[from..to];
    let header = [6, 0x40, from as u8, 0x40, data.len() as u8];
    [header.as_slice(), data].concat()
}

/// An Initial packet to `dcid`, sealed with `keys`, its packet number in 2 bytes.
pub(crate) fn sealed(
    version: QuicVersion,
    dcid: &[u8],
    keys: &InitialKeys,
    number: u16,
    frames: &[u8],
) -> Vec<u8> {
    let (first, version_number) = match version {
        QuicVersion::V1 => (0xc1, 1u32),
        QuicVersion::V2 => (0xd1, 0x6b33_43cf),
    };
    let len = 0x4000 | (2 + frames.len() + 16) as u16;
    let header = [
        [first].as_slice(),
        &version_number.to_be_bytes(),
        &[dcid.len() as u8],
        dcid,
        &[0, 0],
        &len.to_be_bytes(),
        &number.to_be_bytes(),
    ]
    .concat();
    keys.seal(&header, u32::from(number), frames)
}

/// A client's first packet: the hello as one CRYPTO frame, then padding.
pub(crate) fn first_packet(version: QuicVersion) -> Vec<u8> {
    let hello = hello_message();
    let mut frames = crypto_frame(&hello, 0, hello.len());
    frames.resize(1100, 0);
    let dcid = b"8 bytes!";
    sealed(
        version,
        dcid,
        &InitialKeys::of_client(version, dcid),
        0,
        &frames,
    )
}

/// Bytes from hexadecimal digits.
pub(crate) fn hex(digits: &str) -> Vec<u8> {
    (0..digits.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap())
        .collect()
}
