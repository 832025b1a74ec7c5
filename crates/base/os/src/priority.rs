//! The scheduling class of this thread.

use rustix::process::setpriority_process;
use rustix::thread::set_current_timer_slack;
use std::num::NonZeroU64;

/// The real-time class SCHED_FIFO, above everything of the normal class; whether it is granted.
pub fn take_realtime(priority: i32) -> bool {
    set(libc::SCHED_FIFO, priority)
}

/// The normal class; whether it is granted.
pub fn take_normal() -> bool {
    set(libc::SCHED_OTHER, 0)
}

/// Within the normal class: before those of a higher number. Nothing happens where it is not permitted.
pub fn set_nice(nice: i32) {
    let _ = setpriority_process(None, nice);
}

/// Timers of this thread fire without the 50 µs of grace that the kernel otherwise takes.
pub fn make_timers_exact() {
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

fn set(class: i32, priority: i32) -> bool {
    let parameter = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: the call concerns this thread alone, and `parameter` outlives it.
    unsafe { libc::sched_setscheduler(0, class, &raw const parameter) == 0 }
}
