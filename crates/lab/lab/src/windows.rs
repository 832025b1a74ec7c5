//! Laws of receive windows for the length of a run.
//!
//! The sockets of a run are this process's, whichever host they are on: it joins a control group of its own, and each law has the
//! ports of its flows. The ports are the servers', so whose they are tells the side.

use crate::error::LabError;
use crate::mapping::{HeldWindow, Mapping};
use std::sync::{Mutex, MutexGuard, PoisonError};
use unbloat_emulator::Timing;
use unbloat_rwnd::{Cgroup, Hold, Options, Whose, WindowError, own_name, sweep};
use unbloat_workload_host::server_port;

/// A process is in one group.
static ALONE: Mutex<()> = Mutex::new(());
/// What a program has room for.
const PORTS: usize = 8;

pub(crate) struct Windows {
    holds: Vec<Hold>,
    group: Option<Cgroup>,
    _alone: Option<MutexGuard<'static, ()>>,
}

impl Windows {
    /// Holds what the mapping asks for.
    pub(crate) fn hold(mapping: &Mapping, timing: Timing) -> Result<Windows, LabError> {
        let Some(first) = mapping.windows.first() else {
            return Ok(Windows {
                holds: Vec::new(),
                group: None,
                _alone: None,
            });
        };
        if timing == Timing::Sleep {
            return Err(LabError::NoWindowLaw {
                law: first.law.name(),
            });
        }
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        sweep();
        let group = Cgroup::make(&own_name())?;
        // From here on it is removed whatever happens.
        let mut windows = Windows {
            holds: Vec::new(),
            group: Some(group),
            _alone: Some(alone),
        };
        windows.begin(mapping)?;
        Ok(windows)
    }

    fn begin(&mut self, mapping: &Mapping) -> Result<(), WindowError> {
        let group = self.group.as_ref().ok_or(WindowError::NoCgroups)?;
        let mut left: Vec<&HeldWindow> = mapping.windows.iter().collect();
        while let Some(first) = left.first().copied() {
            let is_like = |held: &&HeldWindow| held.law == first.law && held.side == first.side;
            let (like, others): (Vec<_>, Vec<_>) = left.into_iter().partition(is_like);
            left = others;
            for some in like.chunks(PORTS) {
                let options = Options {
                    law: first.law.clone(),
                    ports: some
                        .iter()
                        .map(|held| server_port(held.flow as u32))
                        .collect(),
                    whose: [Whose::Ours, Whose::Theirs][first.side],
                    interface: None,
                };
                self.holds.push(Hold::begin(group, &options)?);
            }
        }
        group.join(0)
    }

    /// Which laws, for the record.
    pub(crate) fn told(mapping: &Mapping) -> Vec<String> {
        let told = |held: &HeldWindow| {
            let law = held.law.name();
            format!("receive_window {law:?} is a BPF program that bounds the kernel's own window")
        };
        mapping.windows.iter().map(told).collect()
    }
}

impl Drop for Windows {
    fn drop(&mut self) {
        self.holds.clear();
        if let Some(group) = &self.group {
            // What is left is removed by the next who makes such a group.
            let _ = group.remove();
        }
    }
}
