//! Windows are let go also when their owner was killed.

use crate::cgroup::Cgroup;
use crate::hold::Hold;
use crate::lift::lift;
use std::io;
use std::thread::sleep;
use std::time::Duration;
use unbloat_os::guard::Guard;

/// Connections that send let go by themselves within this; those that do not are found by their processes' descriptors.
const GRACE: Duration = Duration::from_millis(100);

/// A process that keeps the programs in the kernel until its owner is gone, lets all windows go, and removes the cgroup if it
/// was `made` for the owner. To be called while no other thread runs.
pub fn guard(hold: &mut Hold, cgroup: &Cgroup, made: bool) -> io::Result<Guard> {
    Guard::fork(|_| {
        let _ = hold.release();
        sleep(GRACE);
        lift(cgroup, hold.cookies().as_ref());
        if made {
            let _ = cgroup.remove();
        }
    })
}
