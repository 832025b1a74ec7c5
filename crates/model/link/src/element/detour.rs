//! Routes that change: from given times on, packets take a way that is longer by so much.

use super::Sorted;
use crate::seam::{Element, Output};
use unbloat_qdisc::{Backlog, Packet};
use unbloat_units::{Delta, Time};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params {
    /// After how long each begins, and how much longer it takes than the first route. It holds until the next.
    pub routes: Vec<(Delta, Delta)>,
}

/// A stretch of path whose route changes. What takes a shorter one may overtake what is still on the longer.
#[derive(Debug)]
pub struct Detour {
    /// By their beginnings.
    routes: Vec<(Time, Delta)>,
    under_way: Sorted,
}

impl Detour {
    pub fn new(params: &Params, start: Time) -> Detour {
        let routes = params.routes.iter();
        let mut routes: Vec<_> = routes
            .map(|(after, longer)| (start + *after, (*longer).max(Delta::ZERO)))
            .collect();
        routes.sort_by_key(|(begin, _)| *begin);
        Detour {
            routes,
            under_way: Sorted::default(),
        }
    }

    pub(crate) fn build(params: &Params, start: Time, _rng: &mut fastrand::Rng) -> Detour {
        Detour::new(params, start)
    }

    fn longer_at(&self, now: Time) -> Delta {
        let begun = self.routes.partition_point(|(begin, _)| *begin <= now);
        let current = begun.checked_sub(1).and_then(|nth| self.routes.get(nth));
        current.map_or(Delta::ZERO, |(_, longer)| *longer)
    }
}

impl Element for Detour {
    fn accept(&mut self, now: Time, packet: Packet, out: &mut impl Output) {
        self.advance(now, out);
        match self.longer_at(now) {
            Delta::ZERO => out.deliver(now, packet),
            longer => self.under_way.push(now + longer, packet),
        }
    }

    fn next_at(&self) -> Option<Time> {
        self.under_way.next_at()
    }

    fn advance(&mut self, now: Time, out: &mut impl Output) {
        self.under_way.deliver_due(now, out);
    }

    fn backlog(&self) -> Backlog {
        self.under_way.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Log, at_ms, drive, packet, run_until};

    #[test]
    fn packets_take_the_route_of_their_time_and_a_shorter_one_overtakes() {
        let routes = [(40, 5), (10, 60)];
        let routes = routes.map(|(after, longer)| (Delta::ms(after), Delta::ms(longer)));
        let params = Params {
            routes: routes.to_vec(),
        };
        let mut detour = Detour::new(&params, at_ms(0));
        let arrivals: Vec<_> = (0..)
            .zip([9, 10, 39, 40])
            .map(|(k, ms)| (at_ms(ms), packet(k, 40)))
            .collect();
        let mut log = Log::default();
        drive(&mut detour, &arrivals, &mut log);
        run_until(&mut detour, Time::MAX, &mut log);
        let expected = [(9, 0), (45, 3), (70, 1), (99, 2)];
        assert_eq!(log.departures(), expected.map(|(ms, k)| (at_ms(ms), k)));
    }
}
