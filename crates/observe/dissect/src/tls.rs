//! The names in a TLS ClientHello.
//!
//! # References
//! RFC 8446 §4.1.2 (ClientHello), §5.1 (records); RFC 6066 §3 (server name); RFC 7301 §3.1
//! (ALPN). The layout is that of TLS 1.0 to 1.3; the hello of SSL 2 is not read.
//!
//! A client that encrypts its hello (RFC 9849) shows the name of its provider here, not the name
//! that it asks for.

use crate::cursor::Cursor;
use crate::text::Text;
use std::borrow::Cow;

/// What the visible part of a ClientHello says. A value that is `None` is absent if the hello is
/// complete, else unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientHello {
    /// The host asked for, escaped as [`Text`] does.
    pub server_name: Option<String>,
    /// The first application protocol offered ("h2", "http/1.1", "h3"), escaped likewise.
    pub alpn: Option<String>,
    /// All extensions were visible.
    pub is_complete: bool,
}

impl ClientHello {
    /// Reads the beginning of a TCP stream: TLS records that may be cut anywhere.
    ///
    /// A hello that goes on in later segments can be put together first, with a
    /// [`crate::CryptoAssembler`] fed with stream offsets.
    pub fn parse_records(stream: &[u8]) -> Option<ClientHello> {
        ClientHello::parse_handshake(&handshake(stream)?)
    }

    /// Reads a handshake message without record framing, as QUIC's CRYPTO frames carry it
    /// (RFC 9001 §4.1.3); may be cut anywhere after its first 6 bytes.
    pub fn parse_handshake(message: &[u8]) -> Option<ClientHello> {
        let mut cursor = Cursor::new(message);
        let is_hello = cursor.u8()? == CLIENT_HELLO;
        let len = cursor.u24()? as usize;
        let mut body = Cursor::new(cursor.take_visible(len));
        let is_tls = body.u16()? >> 8 == 3;
        let mut hello = ClientHello::default();
        (is_hello && is_tls).then(|| {
            hello.is_complete = hello.read_body(body, len - 2).is_some();
            hello
        })
    }

    /// Reads what follows the version; `left` bytes of it were sent. `None` at a cut or a
    /// contradiction.
    fn read_body(&mut self, mut body: Cursor<'_>, left: usize) -> Option<()> {
        let visible = body.rest().len();
        body.take(32)?;
        let session_id_len = body.u8()?;
        body.take(usize::from(session_id_len))?;
        let cipher_suites_len = body.u16()?;
        body.take(usize::from(cipher_suites_len))?;
        let compressions_len = body.u8()?;
        body.take(usize::from(compressions_len))?;
        if visible == left && body.is_empty() {
            return Some(());
        }
        let extensions_len = usize::from(body.u16()?);
        let extensions = body.take_visible(extensions_len);
        self.read_extensions(Cursor::new(extensions))?;
        (extensions.len() == extensions_len).then_some(())
    }

    fn read_extensions(&mut self, mut extensions: Cursor<'_>) -> Option<()> {
        while !extensions.is_empty() {
            let kind = extensions.u16()?;
            let len = usize::from(extensions.u16()?);
            let data = extensions.take_visible(len);
            match kind {
                SERVER_NAME if self.server_name.is_none() => self.server_name = server_name(data),
                ALPN if self.alpn.is_none() => self.alpn = first_protocol(data),
                _ => {}
            }
            if data.len() < len {
                return None;
            }
        }
        Some(())
    }
}

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const ALPN: u16 = 16;

/// The bytes of the first handshake message out of the records that it is spread over.
fn handshake(stream: &[u8]) -> Option<Cow<'_, [u8]>> {
    let mut records = Cursor::new(stream);
    let mut message = Cow::Borrowed(fragment(&mut records)?);
    while !holds_message(&message) {
        match fragment(&mut records) {
            Some(next) if !next.is_empty() => message.to_mut().extend_from_slice(next),
            _ => break,
        }
    }
    Some(message)
}

/// The visible part of the next record's content, if it is a handshake record.
fn fragment<'a>(records: &mut Cursor<'a>) -> Option<&'a [u8]> {
    let kind = records.u8()?;
    let major = records.u16()? >> 8;
    let len = records.u16()?;
    let plausible = kind == HANDSHAKE && major == 3 && (1..=1 << 14).contains(&len);
    plausible.then(|| records.take_visible(usize::from(len)))
}

fn holds_message(bytes: &[u8]) -> bool {
    let mut cursor = Cursor::new(bytes);
    cursor.u8();
    cursor
        .u24()
        .is_some_and(|len| cursor.rest().len() >= len as usize)
}

/// The first host name of the list; other types of names were never defined.
fn server_name(data: &[u8]) -> Option<String> {
    let mut list = Cursor::new(data);
    list.u16()?;
    let is_host_name = list.u8()? == 0;
    let len = list.u16()?;
    let name = list.take(usize::from(len))?;
    (is_host_name && !name.is_empty()).then(|| Text(name).to_string())
}

fn first_protocol(data: &[u8]) -> Option<String> {
    let mut list = Cursor::new(data);
    list.u16()?;
    let len = list.u8()?;
    let name = list.take(usize::from(len))?;
    (!name.is_empty()).then(|| Text(name).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::hello_message;
    use proptest::prelude::*;

    #[test]
    fn a_hello_shows_its_names() {
        let hello = ClientHello::parse_records(&records(&hello_message(), 1 << 14)).unwrap();
        assert_eq!(hello.server_name.unwrap(), "www.example.com");
        assert_eq!(hello.alpn.unwrap(), "h2");
        assert!(hello.is_complete);
    }

    #[test]
    fn a_hello_spread_over_records_reads_the_same() {
        let whole = ClientHello::parse_handshake(&hello_message());
        for size in 1..100 {
            let spread = records(&hello_message(), size);
            assert_eq!(ClientHello::parse_records(&spread), whole, "{size}");
        }
    }

    #[test]
    fn a_hello_without_extensions_is_complete_and_nameless() {
        let mut message = hello_message();
        message.truncate(4 + 2 + 32 + 1 + 2 + 2 + 2);
        message[3] = (message.len() - 4) as u8;
        let hello = ClientHello::parse_handshake(&message).unwrap();
        assert_eq!(hello.server_name, None);
        assert!(hello.is_complete);
    }

    #[test]
    fn what_is_no_client_hello_gives_nothing() {
        let mut server_hello = hello_message();
        server_hello[0] = 2;
        assert_eq!(ClientHello::parse_handshake(&server_hello), None);
        assert_eq!(ClientHello::parse_records(b"GET / HTTP/1.1\r\n\r\n"), None);
        assert_eq!(
            ClientHello::parse_records(b"\x17\x03\x03\x00\x10\x01\0\0\x0c\x03\x03"),
            None
        );
    }

    #[test]
    fn every_cut_gives_the_same_value_or_none() {
        let truth = ClientHello::parse_handshake(&hello_message()).unwrap();
        for size in [1 << 14, 60, 7] {
            let whole = records(&hello_message(), size);
            for cut in 0..whole.len() {
                let Some(seen) = ClientHello::parse_records(&whole[..cut]) else {
                    continue;
                };
                assert!(!seen.is_complete, "{cut}");
                assert!(seen.server_name.is_none() || seen.server_name == truth.server_name);
                assert!(seen.alpn.is_none() || seen.alpn == truth.alpn);
            }
        }
    }

    #[test]
    fn a_name_counts_as_soon_as_its_last_byte_is_visible() {
        let message = hello_message();
        let end = message.windows(3).position(|w| w == b"com").unwrap() + 3;
        let name_at = |cut| {
            ClientHello::parse_handshake(&message[..cut])
                .unwrap()
                .server_name
        };
        assert_eq!(name_at(end - 1), None);
        assert_eq!(name_at(end).unwrap(), "www.example.com");
    }

    proptest! {
        #[test]
        fn any_bytes_give_printable_names_or_none(
            at in 0usize..120, wrong in prop::collection::vec(any::<u8>(), 1..40), size in 1usize..90,
        ) {
            let mut bytes = records(&hello_message(), size);
            let at = at.min(bytes.len());
            let end = (at + wrong.len()).min(bytes.len());
            bytes.splice(at..end, wrong);
            if let Some(hello) = ClientHello::parse_records(&bytes) {
                for name in [hello.server_name, hello.alpn].into_iter().flatten() {
                    prop_assert!(name.bytes().all(|b| (0x20..0x7f).contains(&b)), "{name}");
                }
            }
        }
    }

    fn records(message: &[u8], size: usize) -> Vec<u8> {
        let record = |part: &[u8]| {
            let len = (part.len() as u16).to_be_bytes();
            [b"\x16\x03\x01".as_slice(), &len, part].concat()
        };
        message.chunks(size).flat_map(record).collect()
    }
}
