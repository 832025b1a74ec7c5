//! What can be wrong with a packet, and with a session.

use unbloat_units::Delta;

/// Why bytes are not a packet that was awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    #[error("packet of {len} bytes is shorter than its {needed} bytes of header")]
    Short { len: usize, needed: usize },
    #[error("packet does not begin as irtt's do")]
    Magic,
    #[error("flags {flags:#04x} hold bits that protocol 1 does not know")]
    Flags { flags: u8 },
    #[error("packet is a {found}, not a {awaited}")]
    Direction {
        found: &'static str,
        awaited: &'static str,
    },
    #[error("packet carries no HMAC, but a key was given: does the other end have it?")]
    Unauthenticated,
    #[error("packet carries an HMAC, but no key was given")]
    UnexpectedHmac,
    #[error("HMAC is wrong: do both ends have the same key?")]
    Hmac,
    #[error("parameters end within a number or text")]
    TruncatedParams,
    #[error("parameter {tag} holds {value}, which protocol 1 does not know")]
    Param { tag: u64, value: i64 },
    #[error("fill of {len} bytes is longer than the {max} that irtt takes", max = crate::wire::FILL_MAX)]
    LongFill { len: u64 },
}

/// Why a session did not come about or ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    #[error(
        "no answer after {tries} tries in {waited}: is an irtt server on that address and port, and with that key?"
    )]
    NoAnswer { tries: u32, waited: Delta },
    #[error("server refused the session: it is full, or speaks another version of the protocol")]
    Refused,
    #[error("server speaks version {version} of the protocol, not 1")]
    Version { version: i64 },
    #[error("server gave no token")]
    NoToken,
    #[error("server answered {field} = {got} to {asked}, which no server may")]
    Restriction {
        field: &'static str,
        asked: i64,
        got: i64,
    },
}
