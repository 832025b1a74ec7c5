//! The scheduling class of the thread: an application that waits for a CPU blames the network for it.
//!
//! On a busy machine a thread of the normal class is woken milliseconds late, one of the real-time class 0.03 ms. But what moves
//! gigabits works all the time, and would starve the machine: such a thread goes back to the normal class.

use unbloat_os::clock::thread_cpu;
use unbloat_os::priority;
use unbloat_units::{Delta, Time};

/// SCHED_FIFO: above everything of the normal class, below the emulator.
const PRIORITY: i32 = 3;
/// Of the normal class: before everyone else.
const NICE: i32 = -20;
/// Share of the time that a real-time thread may work, looked at so often.
const MOST_WORK: f64 = 0.4;
const EVERY: Delta = Delta::ms(100);

/// The class, and what was worked since it was last looked at.
pub(crate) struct Class {
    is_realtime: bool,
    at: Time,
    cpu: Delta,
}

impl Class {
    /// The best class that is granted, or the thread's own where none is wanted.
    pub(crate) fn take(is_wanted: bool, now: Time) -> Class {
        Class {
            is_realtime: is_wanted && priority::take_realtime(PRIORITY),
            at: now,
            cpu: thread_cpu(),
        }
    }

    pub(crate) fn is_realtime(&self) -> bool {
        self.is_realtime
    }

    /// Goes back to the normal class if it works too much.
    pub(crate) fn look(&mut self, now: Time) {
        let passed = now.since(self.at);
        if !self.is_realtime || passed < EVERY {
            return;
        }
        let cpu = thread_cpu();
        let share = (cpu - self.cpu).as_secs() / passed.as_secs();
        if share > MOST_WORK {
            self.is_realtime = !priority::take_normal();
            priority::set_nice(NICE);
        }
        (self.at, self.cpu) = (now, cpu);
    }
}
