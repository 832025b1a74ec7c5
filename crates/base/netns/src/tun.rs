//! TUN devices: a descriptor at which a program reads and writes what a host sends and receives.

use crate::error::BedError;
use netlink_packet_route::link::LinkAttribute;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

const PATH: &str = "/dev/net/tun";

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
    /// What the device is told once it is there.
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
    let file = open()?;
    let header = if tun.offload { libc::IFF_VNET_HDR } else { 0 };
    // SAFETY: an all-zero ifreq is a valid value of this plain C struct.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | header) as libc::c_short;
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(15)) {
        *to = from as libc::c_char;
    }
    // SAFETY: the descriptor is open and `request` is a live ifreq, as TUNSETIFF expects.
    done(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) })?;
    if tun.offload {
        let kinds = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
        // SAFETY: the descriptor is a TUN device, and TUNSETOFFLOAD takes a number.
        done(unsafe {
            libc::ioctl(
                file.as_raw_fd(),
                libc::TUNSETOFFLOAD,
                libc::c_ulong::from(kinds),
            )
        })?;
    }
    Ok(file.into())
}

/// Why there is no device, in the bed's words.
pub(crate) fn not_made(name: &str, source: io::Error) -> BedError {
    match source.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => BedError::NoTun { source },
        Some(libc::EPERM) => BedError::NoPrivilege,
        _ => BedError::Tun {
            name: name.to_owned(),
            source,
        },
    }
}

/// The file with which devices are made.
fn open() -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK);
    options.open(PATH)
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
