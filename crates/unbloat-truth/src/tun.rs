//! TUN devices: each read gives one IP packet, each write sends one.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Larger than any packet on the bed's devices.
const MAX_PACKET: usize = 2048;

/// The packets of a host's device; it goes away when this is dropped.
#[derive(Debug)]
pub(crate) struct Tun {
    file: File,
}

impl From<OwnedFd> for Tun {
    fn from(fd: OwnedFd) -> Tun {
        Tun { file: fd.into() }
    }
}

impl Tun {
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
