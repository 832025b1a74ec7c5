//! Captures of a run: what a packet capture on each host sees, and what a tap at each end of the path sees.
//!
//! Hosts' captures are as `tcpdump` would make them there: packets before they are split and after they are merged, stamped by
//! the kernel. Those of the path hold every packet of the model with its logical time. All of them count from the run's zero on
//! the wall clock, so that they can be laid side by side. Beside them lies the path's own account of every packet that crossed
//! it: what is true of the queues, for whoever judges an analysis of the captures.

mod hosts;
mod packet_log;
mod path;

pub(crate) use hosts::HostCaptures;
pub(crate) use path::path_capture;

use crate::error::LabError;
use std::path::{Path, PathBuf};

/// What is captured, and where it goes.
#[derive(Clone, Debug)]
pub struct Captures {
    /// It must exist.
    pub folder: PathBuf,
    /// Bytes of each packet that are kept.
    pub snap_len: u32,
    /// Roles of the hosts at which packets are captured too; none: all.
    pub hosts: Option<Vec<String>>,
}

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureFile {
    /// The role of the host, or `path-server-side` and `path-client-side`.
    pub name: String,
    pub path: PathBuf,
    pub packets: u64,
    /// Packets that were not written, because the kernel's buffer was full.
    pub missed: u64,
}

/// LINKTYPE_RAW: the packet begins with its IP header.
const RAW_IP: u16 = 101;
/// LINKTYPE_ETHERNET
const ETHERNET: u16 = 1;

fn unwritable(path: &Path) -> impl FnOnce(std::io::Error) -> LabError {
    let path = path.to_owned();
    move |source| LabError::Write { path, source }
}
