//! TUN devices: each read gives one IP packet, each write sends one.

use crate::error::LabError;
use crate::namespace::Namespace;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

/// Larger than any packet on the bed's devices.
const MAX_PACKET: usize = 2048;

/// A TUN device without packet information header; it goes away when this is dropped.
#[derive(Debug)]
pub(crate) struct Tun {
    file: File,
}

impl Tun {
    pub(crate) fn create(namespace: &Namespace, name: &str) -> Result<Tun, LabError> {
        namespace.within(|| {
            let file = open(name).map_err(|source| LabError::Tun {
                name: name.to_owned(),
                source,
            })?;
            Ok(Tun { file })
        })
    }

    /// The next waiting packet, or `None` when none waits.
    pub(crate) fn receive(&self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; MAX_PACKET];
        let length = (&self.file).read(&mut bytes).ok()?;
        bytes.truncate(length);
        Some(bytes)
    }

    /// Whether the device took the packet.
    pub(crate) fn send(&self, packet: &[u8]) -> bool {
        (&self.file).write(packet).is_ok_and(|n| n == packet.len())
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn open(name: &str) -> std::io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/net/tun")?;
    // SAFETY: an all-zero ifreq is a valid value of this plain C struct.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(15)) {
        *to = from as libc::c_char;
    }
    // SAFETY: the descriptor is open and `request` is a live ifreq, as TUNSETIFF expects.
    let made = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    if made < 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(file)
}
