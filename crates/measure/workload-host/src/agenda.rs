//! What is to be done when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use unbloat_units::Time;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Task {
    Start(u32),
    Stop(u32),
    Wake { flow: u32, tag: u32 },
    Sample,
    End,
}

/// Tasks by their times; at equal times in the order in which they were planned.
#[derive(Default)]
pub(crate) struct Agenda {
    tasks: BinaryHeap<Reverse<(Time, u64, Task)>>,
    planned: u64,
}

impl Agenda {
    pub(crate) fn plan(&mut self, at: Time, task: Task) {
        self.tasks.push(Reverse((at, self.planned, task)));
        self.planned += 1;
    }

    pub(crate) fn next_at(&self) -> Option<Time> {
        self.tasks.peek().map(|Reverse((at, ..))| *at)
    }

    /// The next task, if its time has come.
    pub(crate) fn due(&mut self, now: Time) -> Option<(Time, Task)> {
        if self.next_at()? > now {
            return None;
        }
        self.tasks.pop().map(|Reverse((at, _, task))| (at, task))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_come_by_time_and_then_as_they_were_planned() {
        let mut agenda = Agenda::default();
        let at = Time::from_ns;
        agenda.plan(at(2), Task::Sample);
        agenda.plan(at(1), Task::Stop(1));
        agenda.plan(at(1), Task::Start(0));
        assert_eq!(agenda.due(at(0)), None);
        let order: Vec<_> = std::iter::from_fn(|| agenda.due(at(2))).collect();
        let expected = [
            (at(1), Task::Stop(1)),
            (at(1), Task::Start(0)),
            (at(2), Task::Sample),
        ];
        assert_eq!(order, expected);
    }
}
