//! Counts how many packets really passed one that was held back.

use crate::core::FiveTuple;
use std::collections::HashMap;

/// Packets of each flow that are held on one segment, with the number that overtook them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overtaking {
    held: HashMap<FiveTuple, Vec<(u64, u32)>>,
}

impl Overtaking {
    /// The packet that entered as number `entry` is held.
    pub(crate) fn hold(&mut self, flow: FiveTuple, entry: u64) {
        self.held.entry(flow).or_default().push((entry, 0));
    }

    /// The packet `entry` leaves; if it was held, returns how many later ones left before it.
    pub(crate) fn leave(&mut self, flow: &FiveTuple, entry: u64) -> Option<u32> {
        let held = self.held.get_mut(flow)?;
        let mine = held.iter().position(|(number, _)| *number == entry);
        let overtaken_by = mine.map(|index| held.remove(index).1);
        for (_, count) in held.iter_mut().filter(|(number, _)| *number < entry) {
            *count += 1;
        }
        if held.is_empty() {
            self.held.remove(flow);
        }
        overtaken_by
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::Direction;
    use crate::core::packet::tests::segment;

    #[test]
    fn only_later_packets_of_the_same_flow_overtake() {
        let flow = segment(Direction::Down, 0, 0, 0).tuple;
        let other = segment(Direction::Down, 1, 0, 0).tuple;
        let mut overtaking = Overtaking::default();
        overtaking.hold(flow, 5);
        for (passing, entry) in [(flow, 4), (other, 6), (flow, 7), (flow, 8)] {
            assert_eq!(overtaking.leave(&passing, entry), None);
        }
        assert_eq!(overtaking.leave(&flow, 5), Some(2));
        assert_eq!(overtaking.leave(&flow, 9), None);
    }
}
