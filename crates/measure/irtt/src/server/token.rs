//! Tokens that carry what was agreed, so that an open needs no memory.

use crate::wire::{Key, Layout, ReceivedStats, StampAt, StampClock};
use std::net::SocketAddr;
use unbloat_units::{Delta, Time};

/// A token may be used first for one to two of these.
const EPOCH: Delta = Delta::secs(16);

/// Gives and knows tokens.
///
/// From the lowest byte: what the echo packets look like, DSCP and ECN, the millisecond (so that one session after another from
/// one address are two), and 40 bits of HMAC-MD5 over these, the address, the number of the key and the time. Who does not
/// get what is sent to the address has to guess them, and would gain an echo of the size of his own packet.
#[derive(Clone, Debug)]
pub(super) struct Tokens {
    secret: Key,
}

impl Tokens {
    pub(super) fn new(secret: [u8; 32]) -> Tokens {
        Tokens {
            secret: Key::new(&secret),
        }
    }

    pub(super) fn give(
        &self,
        address: SocketAddr,
        layout: Layout,
        dscp: u8,
        key: Option<usize>,
        now: Time,
    ) -> u64 {
        let millisecond = (now.as_ns() / 1_000_000) as u8;
        let agreed = [packed(layout), dscp, millisecond];
        self.token(address, agreed, key, epoch(now))
    }

    /// What was agreed, if the token was given to that address not long ago.
    pub(super) fn accept(
        &self,
        token: u64,
        address: SocketAddr,
        key: Option<usize>,
        now: Time,
    ) -> Option<(Layout, u8)> {
        let [look, dscp, millisecond, ..] = token.to_le_bytes();
        let layout = unpacked(look, key.is_some())?;
        let agreed = [look, dscp, millisecond];
        let current = epoch(now);
        let mut epochs = [current, current - 1].into_iter();
        epochs
            .any(|epoch| self.token(address, agreed, key, epoch) == token)
            .then_some((layout, dscp))
    }

    fn token(&self, address: SocketAddr, agreed: [u8; 3], key: Option<usize>, epoch: i64) -> u64 {
        let mut text = Vec::with_capacity(48);
        text.extend_from_slice(&agreed);
        text.extend_from_slice(&epoch.to_le_bytes());
        text.extend_from_slice(&key.map_or(u64::MAX, |k| k as u64).to_le_bytes());
        text.extend_from_slice(&address.port().to_le_bytes());
        match address.ip() {
            std::net::IpAddr::V4(ip) => text.extend_from_slice(&ip.octets()),
            std::net::IpAddr::V6(ip) => text.extend_from_slice(&ip.octets()),
        }
        let code = self.secret.code(&text);
        let mut token = [0; 8];
        token[..3].copy_from_slice(&agreed);
        token[3..].copy_from_slice(&code[..5]);
        u64::from_le_bytes(token)
    }
}

fn epoch(now: Time) -> i64 {
    now.as_ns().div_euclid(EPOCH.as_ns())
}

/// The top bit is set, so that no token is 0.
fn packed(layout: Layout) -> u8 {
    0x80 | u8::from(layout.received_stats.count)
        | u8::from(layout.received_stats.window) << 1
        | u8::from(layout.clock.wall) << 2
        | u8::from(layout.clock.mono) << 3
        | (layout.stamp_at as u8) << 4
}

fn unpacked(look: u8, authenticated: bool) -> Option<Layout> {
    let stamp_at = StampAt::from_number(i64::from(look >> 4 & 7))?;
    let bit = |n: u8| look >> n & 1 != 0;
    bit(7).then_some(Layout {
        authenticated,
        received_stats: ReceivedStats {
            count: bit(0),
            window: bit(1),
        },
        clock: StampClock {
            wall: bit(2),
            mono: bit(3),
        },
        stamp_at,
    })
}
