//! What can be wrong with a packet, and with a session.

use unbloat_units::Delta;

/// Why bytes are not a packet that was awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    #[error("packet of {len} bytes is shorter than its header of {needed} bytes")]
    Short { len: usize, needed: usize },
    #[error("packet does not begin with irtt's magic number")]
    Magic,
    #[error("flags {flags:#04x} contain bits unknown to protocol version 1")]
    Flags { flags: u8 },
    #[error("packet is a {found}, expected a {awaited}")]
    Direction {
        found: &'static str,
        awaited: &'static str,
    },
    #[error("packet has no HMAC, but a key was given; check that the other end uses the same key")]
    Unauthenticated,
    #[error("packet has an HMAC, but no key was given")]
    UnexpectedHmac,
    #[error("HMAC does not match; check that both ends use the same key")]
    Hmac,
    #[error("parameters are truncated within a number or text")]
    TruncatedParams,
    #[error("parameter {tag} has value {value}, which is unknown to protocol version 1")]
    Param { tag: u64, value: i64 },
    #[error("fill of {len} bytes exceeds irtt's maximum of {max} bytes")]
    LongFill { len: u64, max: usize },
}

/// Why a session did not come about or ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    #[error(
        "no answer after {tries} tries in {waited}; check that an irtt server runs on that address and port, and uses that key"
    )]
    NoAnswer { tries: u32, waited: Delta },
    #[error("server refused the session: it is full or uses another protocol version")]
    Refused,
    #[error("server uses protocol version {version}, not 1")]
    Version { version: i64 },
    #[error("server sent no token")]
    NoToken,
    #[error("server answered {field} = {got} to {asked}, which the protocol does not allow")]
    Restriction {
        field: &'static str,
        asked: i64,
        got: i64,
    },
}
