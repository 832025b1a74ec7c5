//! Receive windows of this process, held by the law of `unbloat drwa` during the second test.

use crate::drwa;
use unbloat_window::{Cgroup, Hold, WindowError, own_name};

/// Ends with the process that has it, however that ends: its connections are those that are held.
pub struct Window {
    hold: Hold,
    group: Cgroup,
}

impl Window {
    pub fn begin() -> Result<Window, WindowError> {
        let group = Cgroup::make(&own_name())?;
        let begun = hold(&group);
        if begun.is_err() {
            // What failed is told; nobody else is in the group.
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
