//! What is lined up for its end, and when its turn is.

use crate::reached::{Cut, Life};

/// 16 bytes, because there may be millions of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ending {
    cut: Cut,
    pub(super) slot: u32,
}

impl Ending {
    /// The life of `id`, the number of its first packet.
    pub(super) fn new(life: Life, id: u64, slot: u32) -> Ending {
        let cut = Cut::new(life, id);
        Ending { cut, slot }
    }

    pub(super) fn cut(self) -> Cut {
        self.cut
    }

    pub(super) fn life(self) -> Life {
        self.cut.life()
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
