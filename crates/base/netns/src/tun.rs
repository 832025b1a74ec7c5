//! TUN devices: a descriptor at which a program reads and writes what a host sends and receives.

use crate::error::BedError;
use netlink_packet_route::link::LinkAttribute;
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;

/// What kind of TUN device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tun {
    pub mtu: u32,
    /// Packets that may wait for the program that reads; Linux's own 500 drop at once.
    pub queue_packets: u32,
    /// Packets come and go with a `virtio_net_hdr` in front, unsegmented (up to 64 kB) and without
    /// checksums.
    pub offload: bool,
}

impl Default for Tun {
    fn default() -> Tun {
        Tun {
            mtu: 1500,
            queue_packets: 10_000,
            offload: false,
        }
    }
}

impl Tun {
    /// Attributes that are set when the device exists.
    pub(crate) fn attributes(&self) -> Vec<LinkAttribute> {
        vec![
            LinkAttribute::Mtu(self.mtu),
            LinkAttribute::TxQueueLen(self.queue_packets),
        ]
    }
}

/// Opens the device in the calling thread's namespace; it goes when the descriptor is closed.
/// Reads do not wait.
pub(crate) fn make(name: &str, tun: &Tun) -> io::Result<OwnedFd> {
    unbloat_os::tun::open(name, tun.offload)
}

/// Why there is no device, in the bed's words.
pub(crate) fn not_made(name: &str, source: io::Error) -> BedError {
    match Errno::from_io_error(&source) {
        Some(Errno::NOENT | Errno::NODEV | Errno::NXIO) => BedError::NoTun { source },
        Some(Errno::PERM) => BedError::NoPrivilege,
        _ => BedError::Tun {
            name: name.to_owned(),
            source,
        },
    }
}
