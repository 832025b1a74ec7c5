//! What is lined up for its end, and when its turn is.

use crate::output::order;
use unbloat_table::Order;

/// 16 bytes, because there may be millions of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ending {
    cut: Cut,
    pub(super) slot: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Tcp,
    Udp,
    User,
}

/// A point in the order in which things end: flows before users, the first first. In the top bit
/// whether it is a user, then the id, then whether it is a flow of UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cut(u64);

/// How far a shard has come in ending what was silent when packet `number` was the next: all before
/// `cut` has its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reached {
    pub(super) number: u64,
    pub(super) cut: Cut,
}

impl Reached {
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
    fn is_user(self) -> bool {
        self.0 >> 63 == 1
    }

    fn id(self) -> u64 {
        self.0 << 1 >> 2
    }
}

impl Ending {
    /// The life of `id`, the number of its first packet.
    pub(super) fn new(life: Life, id: u64, slot: u32) -> Ending {
        let cut = match life {
            Life::Tcp => id << 1,
            Life::Udp => id << 1 | 1,
            Life::User => 1 << 63 | id << 1,
        };
        let cut = Cut(cut);
        Ending { cut, slot }
    }

    pub(super) fn cut(self) -> Cut {
        self.cut
    }

    pub(super) fn life(self) -> Life {
        match (self.cut.is_user(), self.cut.0 & 1) {
            (true, _) => Life::User,
            (_, 1) => Life::Udp,
            _ => Life::Tcp,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_end_before_users_and_the_first_first() {
        let lives = [
            (Life::User, 0),
            (Life::Udp, 3),
            (Life::Tcp, 7),
            (Life::Tcp, 2),
        ];
        let mut endings = lives.map(|(life, id)| Ending::new(life, id, 9));
        endings.sort_unstable();
        let order = endings.map(Ending::life);
        assert_eq!(order, [Life::Tcp, Life::Udp, Life::Tcp, Life::User]);
    }
}
