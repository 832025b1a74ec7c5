//! Application protocols seen in cut payloads: DNS, HTTP/1, TLS and QUIC Initial.
//!
//! Each parser takes the beginning of a payload, however short the capture cut it, and says what
//! the visible bytes prove: a value in the answer is the value that the whole message would give,
//! and what a cut hides is `None`. Bytes from outside never panic, and no parser's work or memory
//! grows faster than its input.

#![warn(clippy::disallowed_methods)]

mod content;
mod crypto_assembler;
mod cursor;
mod dns;
mod dns_name;
mod http;
mod http_head;
mod http_range;
mod http_request_line;
mod quic;
mod quic_frames;
mod quic_keys;
mod quic_packet;
#[cfg(test)]
mod samples;
mod text;
mod tls;

pub use content::{ContentClass, is_octet_stream};
pub use crypto_assembler::CryptoAssembler;
pub use dns::{DnsMessage, DnsRcode, DnsType};
pub use dns_name::DnsName;
pub use http::{HttpRequest, HttpResponse};
pub use http_range::{ByteRange, ContentRange};
pub use quic::{QuicClient, QuicHello};
pub use quic_packet::QuicVersion;
pub use text::Text;
pub use tls::ClientHello;
