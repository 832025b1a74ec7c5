//! Why a packet gave no header. Nothing is dropped silently: each reason is counted and shown.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::AddAssign;

macro_rules! skip_reasons {
    ($($(#[$doc:meta])* $variant:ident => $name:literal,)*) => {
        /// Why a packet gave no header.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum SkipReason { $($(#[$doc])* $variant,)* }

        impl SkipReason {
            pub const ALL: &'static [SkipReason] = &[$(SkipReason::$variant,)*];

            /// The name in tables and reports.
            pub fn name(self) -> &'static str {
                match self { $(SkipReason::$variant => $name,)* }
            }
        }
    };
}

skip_reasons! {
    /// The capture's link type is none that we read.
    LinkType => "link_type",
    /// An encrypted frame of IEEE 802.11, as it was on the air.
    Encrypted => "encrypted",
    /// Too short for the link layer's header.
    LinkCut => "link_cut",
    /// ARP, LLDP, EAPOL and other frames that carry no IP.
    NotIp => "not_ip",
    /// Cut before the end of the IP header or its extension headers.
    IpCut => "ip_cut",
    /// An IP header that contradicts itself: version, header length, total length.
    IpMalformed => "ip_malformed",
    /// A later fragment: it has no transport header.
    LaterFragment => "later_fragment",
    /// Cut before the end of what must be known: UDP's header, TCP's up to its window.
    TransportCut => "transport_cut",
    /// A transport header that contradicts itself.
    TransportMalformed => "transport_malformed",
    /// Tunnels nested deeper than we follow.
    TunnelDepth => "tunnel_depth",
    /// A tunnel header that contradicts itself.
    TunnelMalformed => "tunnel_malformed",
    /// GTP-U that carries no user packet: echo, error indication, end marker.
    GtpSignalling => "gtp_signalling",
    /// Carried encrypted or otherwise opaque below IP's payload (ESP).
    Opaque => "opaque",
}

/// How many packets were skipped for each reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkipCounts([u64; SkipReason::ALL.len()]);

impl SkipCounts {
    pub fn count(&mut self, reason: SkipReason) {
        self.0[reason as usize] += 1;
    }

    pub fn get(&self, reason: SkipReason) -> u64 {
        self.0[reason as usize]
    }

    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The reasons that occurred, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (SkipReason, u64)> + '_ {
        SkipReason::ALL
            .iter()
            .map(|&r| (r, self.get(r)))
            .filter(|&(_, n)| n > 0)
    }
}

/// Packets of link types that are not read, by LINKTYPE_ number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkCounts(Vec<(u16, u64)>);

impl LinkCounts {
    /// A capture may name any number of link types; those beyond count as the last one kept.
    const MOST: usize = 8;

    pub fn add(&mut self, number: u16, packets: u64) {
        let known = self.0.iter().position(|&(link, _)| link == number);
        let is_full = self.0.len() == Self::MOST;
        match known.or(is_full.then_some(Self::MOST - 1)) {
            Some(at) => self.0[at].1 += packets,
            None => self.0.push((number, packets)),
        }
    }

    /// Numbers with their packets, in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        self.0.iter().copied()
    }
}

impl AddAssign for SkipCounts {
    fn add_assign(&mut self, other: SkipCounts) {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a += b;
        }
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
