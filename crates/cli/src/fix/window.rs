//! Controls the receive windows of this process during the second test, as `unbloat drwa` does.

use crate::drwa;
use unbloat_rwnd::{Cgroup, Hold, WindowError, own_name};

/// Ends with this process, even if it is killed, because it controls only the connections of this process.
pub struct Window {
    hold: Hold,
    group: Cgroup,
}

impl Window {
    pub fn begin() -> Result<Window, WindowError> {
        let group = Cgroup::make(&own_name())?;
        let begun = hold(&group);
        if begun.is_err() {
            // The error is already reported; the group has no other process.
            let _ = group.remove();
        }
        Ok(Window {
            hold: begun?,
            group,
        })
    }

    pub fn end(mut self) -> Result<(), WindowError> {
        self.hold.release()?;
        self.group.remove()
    }
}

fn hold(group: &Cgroup) -> Result<Hold, WindowError> {
    group.claim()?;
    group.join(std::process::id())?;
    Hold::begin(group, &drwa::standard())
}
