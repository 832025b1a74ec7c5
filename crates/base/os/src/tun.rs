//! TUN devices.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

/// The file with which devices are made.
const PATH: &str = "/dev/net/tun";

/// Opens the device of this name, made if there is none, in the calling thread's network namespace; it goes when the descriptor is closed. Reads
/// do not wait. With `offload`, packets come and go with a `virtio_net_hdr` in front, unsegmented (up to 64 kB) and without checksums.
pub fn open(name: &str, offload: bool) -> io::Result<OwnedFd> {
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true);
    let file: File = options.custom_flags(libc::O_NONBLOCK).open(PATH)?;
    let header = if offload { libc::IFF_VNET_HDR } else { 0 };
    // SAFETY: an all-zero ifreq is a valid value of this plain C struct.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | header) as libc::c_short;
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(15)) {
        *to = from as libc::c_char;
    }
    // SAFETY: the descriptor is open and `request` is a live ifreq, as TUNSETIFF expects.
    done(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) })?;
    if offload {
        let kinds = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
        let kinds = libc::c_ulong::from(kinds);
        // SAFETY: the descriptor is a TUN device, and TUNSETOFFLOAD takes a number.
        done(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETOFFLOAD, kinds) })?;
    }
    Ok(file.into())
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
