//! A flow of a tin: its queue and where it stands in the rotation.

use crate::law::cobalt;
use crate::slab::List;

/// Queues of a tin.
pub(super) const QUEUES: usize = 1_024;

/// Where a flow stands in the rotation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Set {
    /// In no list.
    #[default]
    Idle,
    /// In the new list.
    Sparse,
    /// Empty and moved to the old list for its deficit, but still counted as sparse.
    SparseWait,
    Bulk,
    /// Empty, until the law has nothing left to remember.
    Decaying,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flow {
    pub(super) packets: List,
    pub(super) deficit: i32,
    pub(super) set: Set,
    /// Its hosts' places in the tables.
    pub(super) source: u16,
    pub(super) destination: u16,
    pub(super) law: cobalt::State,
}
