//! What is to be done when, and a timer that says so.

use super::fault::{Doing, Fault};
use crate::scenario::Scenario;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::os::fd::OwnedFd;

/// In the order in which they are done at equal times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Action {
    Start(u16),
    /// The arrival of that number.
    Send(usize),
    Ping,
    EndWarmup,
    Sample,
    End,
}

pub(crate) struct Agenda {
    actions: Vec<(u64, Action)>,
    next: usize,
    pub(crate) timer: OwnedFd,
    begin_ns: u64,
}

impl Agenda {
    pub(crate) fn of(scenario: &Scenario, begin_ns: u64) -> Result<Agenda, Fault> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::empty());
        Ok(Agenda {
            actions: actions(scenario),
            next: 0,
            timer: timer.doing(|| "making a timer".to_owned())?,
            begin_ns,
        })
    }

    /// Sets the timer for the next action.
    pub(crate) fn arm(&self) -> Result<(), Fault> {
        let Some(&(at_ns, _)) = self.actions.get(self.next) else {
            return Ok(());
        };
        let at_ns = (self.begin_ns + at_ns) as i64;
        let once = Itimerspec {
            it_interval: Timespec::default(),
            it_value: Timespec {
                tv_sec: at_ns / 1_000_000_000,
                tv_nsec: at_ns % 1_000_000_000,
            },
        };
        let set = timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once).map(drop);
        set.doing(|| "setting a timer".to_owned())
    }

    /// The next action, if its time has come.
    pub(crate) fn due(&mut self, now_ns: u64) -> Option<(u64, Action)> {
        let &(at_ns, action) = self.actions.get(self.next)?;
        if self.begin_ns + at_ns > now_ns {
            return None;
        }
        self.next += 1;
        Some((at_ns, action))
    }
}

fn actions(scenario: &Scenario) -> Vec<(u64, Action)> {
    let end = scenario.length_ns;
    let every = |step: u64| (0..end).step_by(usize::try_from(step.max(1)).unwrap_or(usize::MAX));
    let starts = (0..)
        .zip(&scenario.flows)
        .map(|(i, flow)| (flow.start_ns, Action::Start(i)));
    let sends = scenario.arrivals.iter().enumerate();
    let sends = sends.map(|(i, arrival)| (arrival.at_ns, Action::Send(i)));
    let pings = scenario.ping_every_ns.into_iter().flat_map(every);
    let mut actions: Vec<_> = starts
        .chain(sends)
        .chain(pings.map(|at| (at, Action::Ping)))
        .chain(every(scenario.sample_every_ns).map(|at| (at, Action::Sample)))
        .chain([(scenario.warmup_ns, Action::EndWarmup)])
        .filter(|&(at, _)| at < end)
        .chain([(end, Action::Sample), (end, Action::End)])
        .collect();
    // Stable, so that arrivals of one time stay in their order.
    actions.sort_by_key(|&(at, action)| (at, action));
    actions
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_units::{Delta, Rate};

    #[test]
    fn the_end_comes_last_and_nothing_after_it() {
        let mut scenario = Scenario::new(Rate::mbps(1), Delta::ms(1), "pfifo", Delta::ms(250));
        scenario = scenario.flow("reno");
        scenario.ping_every_ns = Some(200_000_000);
        let ms = 1_000_000;
        let expected = [
            (0, Action::Start(0)),
            (0, Action::Ping),
            (0, Action::EndWarmup),
            (0, Action::Sample),
            (100 * ms, Action::Sample),
            (200 * ms, Action::Ping),
            (200 * ms, Action::Sample),
            (250 * ms, Action::Sample),
            (250 * ms, Action::End),
        ];
        assert_eq!(actions(&scenario), expected);
    }
}
