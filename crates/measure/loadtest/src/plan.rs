//! The stages of a test, one after the other.

pub use unbloat_units::Direction;
use unbloat_units::{Delta, named};

named! {
    /// What loads the path during a stage.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Load {
        Idle = "idle",
        Down = "down",
        Up = "up",
        Both = "both",
    }
}

impl Load {
    pub fn has(self, direction: Direction) -> bool {
        match direction {
            Direction::Down => matches!(self, Load::Down | Load::Both),
            Direction::Up => matches!(self, Load::Up | Load::Both),
        }
    }
}

/// What loads one direction alone.
pub(crate) const fn alone(direction: Direction) -> Load {
    match direction {
        Direction::Down => Load::Down,
        Direction::Up => Load::Up,
    }
}

/// How the sending ends of load connections buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stack {
    /// As the systems do when nobody tells them: what waits in sockets is part of the delay.
    AsIs,
    /// No more than 5 ms of each connection's rate written and unsent, as draft-09 asks: what remains is the network's.
    NetworkOnly,
}

impl Stack {
    pub const fn name(self) -> &'static str {
        match self {
            Stack::AsIs => "as_is",
            Stack::NetworkOnly => "network_only",
        }
    }
}

/// One stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    pub load: Load,
    pub stack: Stack,
    pub lasts: Delta,
}

/// Stages in their order, and the draft's interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub stages: Vec<Stage>,
    /// ID of draft-09: what goodput and responsiveness are averaged over, and flows are added at.
    pub interval: Delta,
    /// How the plan is called.
    pub name: &'static str,
}

impl Plan {
    /// About half a minute, intervals of 1 s: idle 3 s, down and up 10 s, both 6 s.
    pub fn usual(stacks: &[Stack]) -> Plan {
        Plan::of(
            "usual",
            Delta::secs(1),
            [3, 10, 10, 6].map(Delta::secs),
            stacks,
        )
    }

    /// About 10 s: what can be said in that time, intervals of 0.5 s.
    pub fn glance(stacks: &[Stack]) -> Plan {
        let spans = [1_500, 4_000, 4_000, 0].map(Delta::ms);
        Plan::of("glance", Delta::ms(500), spans, stacks)
    }

    /// As draft-ietf-ippm-responsiveness-09 asks: intervals of 5 s, so that MAD = 4 of them and one more are 25 s for each
    /// direction; the draft's limit of 40 s for everything belongs to the older interval of 1 s.
    pub fn draft(stacks: &[Stack]) -> Plan {
        Plan::of(
            "draft-09",
            Delta::secs(5),
            [5, 40, 40, 0].map(Delta::secs),
            stacks,
        )
    }

    /// Idle, down, up, both of such lengths; those of no length are left out. Loads are run once with each of `stacks`.
    pub fn of(name: &'static str, interval: Delta, lengths: [Delta; 4], stacks: &[Stack]) -> Plan {
        let [idle, down, up, both] = lengths;
        let first = stacks.first().copied().unwrap_or(Stack::NetworkOnly);
        let quiet = Stage {
            load: Load::Idle,
            stack: first,
            lasts: idle,
        };
        let loads =
            stacks.iter().flat_map(|&stack| {
                [(Load::Down, down), (Load::Up, up), (Load::Both, both)]
                    .map(|(load, lasts)| Stage { load, stack, lasts })
            });
        let stages = std::iter::once(quiet).chain(loads);
        Plan {
            stages: stages.filter(|stage| stage.lasts > Delta::ZERO).collect(),
            interval,
            name,
        }
    }

    /// With a second idle stage as long as the longest: applications do not run in the first, against which delay is judged, and how
    /// they fare without load is what they are compared with.
    pub fn with_idle_for_apps(mut self) -> Plan {
        let longest = self.stages.iter().map(|stage| stage.lasts).max();
        let first = self.stages.first().copied();
        if let (Some(lasts), Some(first)) =
            (longest, first.filter(|stage| stage.load == Load::Idle))
        {
            self.stages.insert(1, Stage { lasts, ..first });
        }
        self
    }

    /// For senders whose buffers cannot be held: each load once, as the stacks are.
    pub fn as_is(mut self) -> Plan {
        let mut seen = Vec::new();
        self.stages.retain(|stage| {
            let is_new = stage.load == Load::Idle || !seen.contains(&stage.load);
            seen.push(stage.load);
            is_new
        });
        for stage in &mut self.stages {
            stage.stack = Stack::AsIs;
        }
        self
    }

    /// For servers that carry one direction at a time and no longer than that.
    pub fn one_way(mut self, most: Delta) -> Plan {
        self.stages.retain(|stage| stage.load != Load::Both);
        for stage in &mut self.stages {
            stage.lasts = stage.lasts.min(most);
        }
        self
    }

    /// With this load twice as long, so that what is judged begins later.
    pub fn twice(mut self, load: Load) -> Plan {
        for stage in self.stages.iter_mut().filter(|stage| stage.load == load) {
            stage.lasts = stage.lasts * 2;
        }
        self
    }

    /// What it takes, without the pauses between stages.
    pub fn lasts(&self) -> Delta {
        let spans = self.stages.iter().map(|stage| stage.lasts);
        spans.fold(Delta::ZERO, |sum, span| sum + span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_plan_takes_half_a_minute() {
        let plan = Plan::usual(&[Stack::NetworkOnly]);
        let loads: Vec<_> = plan.stages.iter().map(|stage| stage.load.name()).collect();
        assert_eq!(loads, ["idle", "down", "up", "both"]);
        assert_eq!(plan.lasts(), Delta::secs(29));
        assert!(Plan::glance(&[Stack::NetworkOnly]).lasts() <= Delta::secs(10));
    }

    #[test]
    fn one_load_may_be_twice_as_long() {
        let plan = Plan::usual(&[Stack::NetworkOnly]).twice(Load::Down);
        let lasts: Vec<_> = plan.stages.iter().map(|stage| stage.lasts).collect();
        assert_eq!(lasts, [3, 20, 10, 6].map(Delta::secs));
    }

    #[test]
    fn both_ways_runs_each_load_twice_and_idle_once() {
        let plan = Plan::usual(&[Stack::NetworkOnly, Stack::AsIs]);
        assert_eq!(plan.stages.len(), 7);
        let idle = plan.stages.iter().filter(|stage| stage.load == Load::Idle);
        assert_eq!(idle.count(), 1);
    }

    #[test]
    fn senders_that_cannot_be_held_are_loaded_once() {
        let both = Plan::usual(&[Stack::NetworkOnly, Stack::AsIs]);
        let plan = both.with_idle_for_apps().as_is();
        assert_eq!(plan.stages.len(), 5);
        assert!(plan.stages.iter().all(|stage| stage.stack == Stack::AsIs));
    }
}
