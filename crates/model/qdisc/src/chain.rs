//! Round-robin lists of flows: doubly linked through one table of numbers.
//!
//! A flow is in one list at a time, and moves from any place of it to the end of another in a few
//! writes. Lists are sentinels behind the flows' own entries.

#[derive(Clone, Copy, Debug)]
struct Link {
    previous: u16,
    next: u16,
}

/// `LISTS` lists over flows numbered from 0.
#[derive(Clone, Debug)]
pub(crate) struct Chains<const LISTS: usize> {
    links: Vec<Link>,
    flows: u16,
}

impl<const LISTS: usize> Chains<LISTS> {
    /// All lists empty. At most 65,535 less `LISTS` flows.
    pub(crate) fn new(flows: u16) -> Self {
        let links = (0..flows + LISTS as u16)
            .map(|at| Link {
                previous: at,
                next: at,
            })
            .collect();
        Chains { links, flows }
    }

    #[inline]
    fn sentinel(&self, list: usize) -> u16 {
        debug_assert!(list < LISTS);
        self.flows + list as u16
    }

    #[inline]
    pub(crate) fn first(&self, list: usize) -> Option<u16> {
        let next = self.links[self.sentinel(list) as usize].next;
        (next < self.flows).then_some(next)
    }

    #[inline]
    pub(crate) fn is_linked(&self, flow: u16) -> bool {
        self.links[flow as usize].next != flow
    }

    /// Takes the flow out of its list, if it is in one.
    #[inline]
    pub(crate) fn unlink(&mut self, flow: u16) {
        let Link { previous, next } = self.links[flow as usize];
        self.links[previous as usize].next = next;
        self.links[next as usize].previous = previous;
        self.links[flow as usize] = Link {
            previous: flow,
            next: flow,
        };
    }

    /// Puts the flow at the end of the list, wherever it was before.
    #[inline]
    pub(crate) fn move_to_end(&mut self, flow: u16, list: usize) {
        self.unlink(flow);
        let end = self.sentinel(list);
        let previous = self.links[end as usize].previous;
        self.links[previous as usize].next = flow;
        self.links[end as usize].previous = flow;
        self.links[flow as usize] = Link {
            previous,
            next: end,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(chains: &mut Chains<2>, list: usize) -> Vec<u16> {
        std::iter::from_fn(|| {
            let first = chains.first(list)?;
            chains.unlink(first);
            Some(first)
        })
        .collect()
    }

    #[test]
    fn flows_move_between_lists_and_leave_from_the_middle() {
        let mut chains = Chains::<2>::new(8);
        for flow in [3, 0, 7, 5] {
            chains.move_to_end(flow, 0);
        }
        chains.move_to_end(0, 1);
        chains.move_to_end(3, 0);
        chains.unlink(7);
        assert!(!chains.is_linked(7) && chains.is_linked(0));
        assert_eq!(drain(&mut chains, 0), [5, 3]);
        assert_eq!(drain(&mut chains, 1), [0]);
        assert_eq!(chains.first(0), None);
    }
}
