//! One captured packet as its source lends it.

use unbloat_units::Time;
use unbloat_wire::LinkType;

/// A packet as captured: borrowed from its source until the next one is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// When it was captured, since 1970-01-01 UTC, [`Time::bounded`].
    pub time: Time,
    /// How `data` begins.
    pub link: LinkType,
    /// Bytes that the packet had on the wire.
    pub wire_len: u32,
    /// The bytes kept, from the link-layer header on; a snap length makes them fewer.
    pub data: &'a [u8],
}
