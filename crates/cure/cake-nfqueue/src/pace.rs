//! When a turn of the loop comes after another.

use std::thread::sleep;
use std::time::Duration;
use unbloat_os::clock::monotonic;
use unbloat_os::priority;
use unbloat_units::{Delta, Time};

/// Turns with something to do are so far apart at least: a turn costs as much as several packets, and none waits longer for it.
const PAUSE: Delta = Delta::us(200);
/// The least pause, which leaves others a part of the processor whatever comes.
const REST: Delta = Delta::us(50);
/// The lowest of the real-time class.
const PRIORITY: i32 = 1;

/// Has this thread woken when it is due, where that is permitted: on a busy machine, one of the normal class is woken milliseconds late,
/// and all packets wait for it.
pub(crate) fn hurry() {
    priority::make_timers_exact();
    priority::take_realtime(PRIORITY);
}

/// Lets packets gather after a turn that began then.
pub(crate) fn pause_since(began: Time) {
    let left = (began + PAUSE).since(monotonic());
    sleep(Duration::from_nanos(left.max(REST).as_ns() as u64));
}

/// Between two turns of which the first left something to do.
pub(crate) fn rest() {
    sleep(Duration::from_nanos(REST.as_ns() as u64));
}
