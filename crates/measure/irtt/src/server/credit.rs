//! How many bytes came from an address that has not shown that it hears us.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use unbloat_units::{Delta, Time};

/// Addresses in one generation.
const ADDRESSES: usize = 4096;
/// How long credit lasts, at least, and half of how long at most; irtt's client tries again after 1, 2 and 4 s.
const LASTS: Delta = Delta::secs(10);

/// Bytes that came from addresses and were not answered yet.
///
/// Bounded: when too many addresses have credit, the older half of them loses it and has to try once more.
#[derive(Clone, Debug, Default)]
pub(super) struct Credit {
    young: BTreeMap<SocketAddr, usize>,
    old: BTreeMap<SocketAddr, usize>,
    turned: Option<Time>,
}

impl Credit {
    /// Adds `came` bytes from `address` and takes `cost` away if there are as many.
    pub(super) fn spend(
        &mut self,
        address: SocketAddr,
        came: usize,
        cost: usize,
        now: Time,
    ) -> bool {
        if came >= cost {
            return true;
        }
        self.turn(now);
        let before = self.young.get(&address).or(self.old.get(&address));
        let has = before.copied().unwrap_or(0) + came;
        let left = has.checked_sub(cost);
        self.young.insert(address, left.unwrap_or(has));
        left.is_some()
    }

    #[cfg(test)]
    pub(super) fn addresses(&self) -> usize {
        self.young.len() + self.old.len()
    }

    fn turn(&mut self, now: Time) {
        let turned = *self.turned.get_or_insert(now);
        if now - turned >= LASTS * 2 {
            self.young.clear();
        }
        if self.young.len() >= ADDRESSES || now - turned >= LASTS {
            self.old = std::mem::take(&mut self.young);
            self.turned = Some(now);
        }
    }
}
