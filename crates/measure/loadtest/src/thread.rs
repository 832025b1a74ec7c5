//! The class of a thread that keeps a pace.

use unbloat_os::priority;

/// SCHED_FIFO: above everything of the normal class.
const PRIORITY: i32 = 3;

/// Puts this thread into the real-time class, where that is permitted: on a busy machine a thread of the normal class is woken milliseconds
/// late, and would blame the network for it.
pub fn hurry() -> bool {
    priority::make_timers_exact();
    priority::take_realtime(PRIORITY)
}
