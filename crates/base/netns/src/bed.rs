//! A bed: hosts that belong together.

use crate::error::{BedError, at};
use crate::host::Host;
use crate::maker::Maker;
use crate::names::Names;
use crate::sweep::{Swept, sweep};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const LONGEST_ROLE: usize = 63;
static NEXT: AtomicU32 = AtomicU32::new(0);

/// Makes hosts. Several beds may be in use at once, in one process or in many.
#[derive(Debug)]
pub struct Bed {
    mark: String,
    names: Arc<Names>,
    swept: Swept,
}

impl Bed {
    /// Removes what dead makers left, then begins a bed without hosts.
    pub fn new() -> Result<Bed, BedError> {
        let maker = Maker::this().map_err(at("/proc/self/stat"))?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Ok(Bed {
            names: Arc::default(),
            mark: format!("{maker}-{number}"),
            swept: sweep(),
        })
    }

    /// What the names of all things of this bed begin with; see [`Maker`].
    pub fn mark(&self) -> &str {
        &self.mark
    }

    /// What was found of dead makers at the beginning.
    pub fn swept(&self) -> &Swept {
        &self.swept
    }

    /// A new host, as `ip netns` knows it: `<mark>-<role>`. It goes away when it is dropped.
    pub fn host(&self, role: &str) -> Result<Host, BedError> {
        let is_fit = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if role.is_empty() || role.len() > LONGEST_ROLE || !role.chars().all(is_fit) {
            return Err(BedError::Role {
                role: role.to_owned(),
            });
        }
        Host::make(format!("{}-{role}", self.mark), role, self.names.clone())
    }
}
