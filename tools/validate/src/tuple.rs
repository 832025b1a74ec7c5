//! The ends of a TCP connection as they stand in one of its packets.

use std::net::Ipv4Addr;

/// Source and destination of a packet. Ordered, so that maps over it iterate the same each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tuple {
    pub(crate) source: (Ipv4Addr, u16),
    pub(crate) destination: (Ipv4Addr, u16),
}

impl Tuple {
    /// That of packets going the other way.
    pub(crate) fn reversed(self) -> Tuple {
        Tuple {
            source: self.destination,
            destination: self.source,
        }
    }
}

impl std::fmt::Display for Tuple {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Tuple {
            source,
            destination,
        } = self;
        write!(
            f,
            "{}:{} > {}:{}",
            source.0, source.1, destination.0, destination.1
        )
    }
}
