//! How a connection stands.

use crate::law::Kept;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use unbloat_units::{Bytes, Delta};

/// A connection whose window is held.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    pub local: SocketAddr,
    pub remote: SocketAddr,
    /// By which device it receives; none: nothing has come yet.
    pub ifindex: Option<u32>,
    /// Since its handshake.
    pub age: Delta,
    pub received: Bytes,
    /// What the window is held at.
    pub window: Bytes,
    /// What the sender had under way a round, by DRWA.
    pub cwnd_estimate: Option<Bytes>,
    /// Smoothed, the last sample, and the least one.
    pub rtt: Option<Delta>,
    pub last_rtt: Option<Delta>,
    pub least_rtt: Option<Delta>,
    pub has_timestamps: bool,
    /// How often the queue was emptied to see the least round-trip time.
    pub dips: u32,
    pub is_dipping: bool,
}

impl Flow {
    pub(crate) fn of(kept: &Kept, is_rledbat: bool, now_us: u64) -> Flow {
        let (drwa, rledbat) = (&kept.drwa, &kept.rledbat);
        let least = match is_rledbat {
            true => rledbat.base_us.iter().min(),
            false => drwa.min_rtt_us.iter().min(),
        };
        let rtt_us8 = match is_rledbat {
            true => u64::from(rledbat.rtt_us8),
            false => drwa.rtt_us8,
        };
        Flow {
            local: address(kept.version, kept.local, kept.local_port),
            remote: address(kept.version, kept.remote, kept.remote_port),
            ifindex: (kept.ifindex != 0).then_some(kept.ifindex),
            age: us(now_us.saturating_sub(kept.started_us)),
            received: Bytes::new(kept.received),
            window: Bytes::new(kept.window.into()),
            cwnd_estimate: (!is_rledbat && drwa.cwnd_estimate != 0)
                .then(|| Bytes::new(drwa.cwnd_estimate)),
            rtt: (rtt_us8 != 0).then(|| us(rtt_us8 / 8)),
            last_rtt: (kept.rtt_us != 0).then(|| us(kept.rtt_us.into())),
            least_rtt: least
                .filter(|span| **span != u32::MAX)
                .map(|span| us(u64::from(*span))),
            has_timestamps: kept.has_timestamps != 0,
            dips: drwa.dips,
            is_dipping: drwa.dip_end_us != 0,
        }
    }
}

pub(crate) fn us(us: u64) -> Delta {
    Delta::us(i64::try_from(us).unwrap_or(i64::MAX / 1_000))
}

pub(crate) fn address(version: u32, bytes: [u8; 16], port: u16) -> SocketAddr {
    let [a, b, c, d, ..] = bytes;
    let ip = match version {
        6 => {
            let six = Ipv6Addr::from(bytes);
            six.to_ipv4_mapped().map_or(IpAddr::V6(six), IpAddr::V4)
        }
        _ => IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
    };
    SocketAddr::new(ip, port)
}
