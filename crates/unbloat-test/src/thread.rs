//! The class of a thread that keeps a pace.

/// SCHED_FIFO: above everything of the normal class.
const PRIORITY: libc::c_int = 3;

/// Puts this thread into the real-time class, where that is permitted: on a busy machine a thread of the normal class is woken milliseconds
/// late, and would blame the network for it.
pub fn hurry() -> bool {
    let parameter = libc::sched_param {
        sched_priority: PRIORITY,
    };
    // SAFETY: both calls concern this thread alone, and `parameter` outlives the first.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameter) == 0
    }
}
