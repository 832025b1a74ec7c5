//! irtt's packets, protocol version 1, as bytes.
//!
//! # References
//! irtt 0.9.2 (`packet.go`, `params.go`): the order of fields is that of its code; the drawing in the head of its `packet.go`
//! puts the HMAC elsewhere and is wrong.
//!
//! # The packets
//!
//! Little endian throughout. A field is there or not by what was agreed when the session was opened.
//!
//! | packet | magic 3 | flags 1 | HMAC-MD5 16 | token 8 | sequence 4 | count 4 | window 8 | times 8 each | rest |
//! |---|---|---|---|---|---|---|---|---|---|
//! | open | yes | open (close: only ask) | with key | | | | | | parameters |
//! | its reply | yes | open, reply (close: refused) | with key | yes | | | | | parameters |
//! | echo | yes | | with key | yes | yes | zeros | zeros | zeros | any |
//! | its reply | yes | reply (close: the last one) | with key | yes | yes | agreed | agreed | agreed | any |
//! | close | yes | close | with key | yes | | | | | |

mod key;
mod packet;
mod params;

pub use key::Key;
pub(crate) use packet::{EchoReply, encode_close, encode_echo, encode_open, encode_open_reply};
pub use packet::{Layout, Reply, Request, TOKEN_END, decode_reply, decode_request};
pub use params::{FILL_MAX, Params, ReceivedStats, StampAt, StampClock};

/// First three bytes of every packet.
pub const MAGIC: [u8; 3] = [0x14, 0xa7, 0x5b];
/// UDP port of a server unless told otherwise.
pub const PORT: u16 = 2112;
/// The version that is spoken here; irtt has had no other.
pub const PROTOCOL_VERSION: i64 = 1;

/// Bits of the flags byte.
pub(crate) mod flag {
    pub(crate) const OPEN: u8 = 1;
    pub(crate) const REPLY: u8 = 2;
    pub(crate) const CLOSE: u8 = 4;
    pub(crate) const HMAC: u8 = 8;
    pub(crate) const ALL: u8 = OPEN | REPLY | CLOSE | HMAC;
}

#[cfg(test)]
mod tests;
