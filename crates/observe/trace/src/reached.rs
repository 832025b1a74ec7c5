//! How far a shard has come in ending flows and users.

use crate::tables::order;
use serde::{Deserialize, Serialize};
use unbloat_table::Order;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Tcp,
    Udp,
    User,
}

/// A point in the order in which things end: flows before users, the first first. In the top bit
/// whether it is a user, then the id, then whether it is a flow of UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cut(u64);

/// How far a shard has come in ending what was silent when packet `number` was the next: all before
/// `cut` has its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Reached {
    pub(crate) number: u64,
    pub(crate) cut: Cut,
}

impl Reached {
    /// Where a shard stands that has yet to end what comes from `cut` on, when `number` is the next packet.
    pub fn new(number: u64, cut: Cut) -> Reached {
        Reached { number, cut }
    }

    /// The number of the next packet.
    pub fn number(self) -> u64 {
        self.number
    }

    /// Rows about flows that are still to come stand here or later.
    pub(crate) fn in_flows(self) -> Order {
        match self.cut.is_user() {
            false => order(self.number, self.cut.id()),
            true => order(self.number + 1, 0),
        }
    }

    /// The same of look-ups, which end before flows and users.
    pub(crate) fn in_lookups(self) -> Order {
        order(self.number + 1, 0)
    }

    /// The same of users.
    pub(crate) fn in_users(self) -> Order {
        match self.cut.is_user() {
            false => order(self.number, 0),
            true => order(self.number, self.cut.id()),
        }
    }
}

impl Cut {
    /// Where the life ends whose first packet has the number `id`.
    pub(crate) fn new(life: Life, id: u64) -> Cut {
        Cut(match life {
            Life::Tcp => id << 1,
            Life::Udp => id << 1 | 1,
            Life::User => 1 << 63 | id << 1,
        })
    }

    pub(crate) fn life(self) -> Life {
        match (self.is_user(), self.0 & 1) {
            (true, _) => Life::User,
            (_, 1) => Life::Udp,
            _ => Life::Tcp,
        }
    }

    fn is_user(self) -> bool {
        self.0 >> 63 == 1
    }

    fn id(self) -> u64 {
        self.0 << 1 >> 2
    }
}
