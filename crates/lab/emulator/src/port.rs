//! Where packets come in and go out: TUN devices, and the addresses behind them.

use crate::ip::Address;
use ipnet::IpNet;
use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::net::IpAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use unbloat_units::Time;

/// A device behind which packets are exchanged, and a row of addresses there.
#[derive(Debug)]
pub struct Port {
    /// A TUN device without packet information headers, with or without IFF_VNET_HDR.
    pub fd: OwnedFd,
    pub side: Side,
    /// Packets for these addresses leave through this port. Of several prefixes the longest decides.
    pub addresses: Vec<IpNet>,
}

/// The end of the path at which a port is. The direction `down` is from the server's to the client's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Client,
    Server,
}

/// Network and mask of a prefix among all addresses.
pub(crate) fn bits(prefix: &IpNet) -> (Address, Address) {
    let (address, len) = match prefix.addr() {
        IpAddr::V4(v4) => (v4.to_ipv6_mapped(), 96 + u32::from(prefix.prefix_len())),
        IpAddr::V6(v6) => (v6, u32::from(prefix.prefix_len())),
    };
    let mask = Address::MAX.checked_shl(128 - len).unwrap_or(0);
    (Address::from_be_bytes(address.octets()) & mask, mask)
}

/// An address of either family among all.
pub(crate) fn of_ip(address: IpAddr) -> Address {
    bits(&IpNet::from(address)).0
}

/// What packets are read from and written to: a TUN device, or what a test puts in its place.
pub(crate) trait Device {
    /// Whether a vnet header stands before each packet.
    fn has_header(&self) -> bool;
    fn read(&self, room: &mut [u8]) -> io::Result<usize>;
    /// Lets one packet be read, where packets must be asked for one by one.
    fn let_read(&self) {}
    /// Whether the device took the packet, which is due then.
    fn write(&self, parts: &[IoSlice<'_>], due: Time) -> bool;
    /// When a packet leaves that is handed over now.
    fn leaves_at(&self, now: Time, _due: Time) -> Time {
        now
    }
}

/// A TUN device.
#[derive(Debug)]
pub(crate) struct Tun {
    file: File,
    has_header: bool,
}

impl Tun {
    /// Asks a device what it is and takes on as much of its work as this crate understands. The inner error is that of a device
    /// that is none.
    pub(crate) fn new(fd: OwnedFd) -> Result<Tun, TunError> {
        let mut request = interface();
        ioctl(
            fd.as_raw_fd(),
            libc::TUNGETIFF as _,
            (&raw mut request).cast(),
        )
        .map_err(TunError::NotTun)?;
        // SAFETY: TUNGETIFF has filled in the flags.
        let flags = i32::from(unsafe { request.ifr_ifru.ifru_flags });
        if flags & libc::IFF_TUN == 0 || flags & libc::IFF_NO_PI == 0 {
            return Err(TunError::NotBare);
        }
        let tun = Tun {
            file: File::from(fd),
            has_header: flags & libc::IFF_VNET_HDR != 0,
        };
        tun.set_up().map_err(TunError::SetUp)?;
        Ok(tun)
    }

    /// TCP is split here, so it may come whole. Segments with CWR are left out (no TSO_ECN): of them the kernel splits what it
    /// must.
    fn set_up(&self) -> io::Result<()> {
        let fd = self.raw_fd();
        if self.has_header {
            let len = crate::vnet::LEN as libc::c_int;
            ioctl(
                fd,
                libc::TUNSETVNETHDRSZ as _,
                (&raw const len).cast_mut().cast(),
            )?;
            let work = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6;
            let argument = std::ptr::without_provenance_mut(work as usize);
            ioctl(fd, libc::TUNSETOFFLOAD as _, argument)?;
        }
        // SAFETY: the descriptor is open; both calls only read and write its flags.
        unsafe {
            let flags = libc::fcntl(fd, libc::F_GETFL);
            if flags < 0 || libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK) < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }

    /// Moves the calling thread, for good, into the namespace of the device; its name there.
    pub(crate) fn enter(&self) -> Option<String> {
        let mut request = interface();
        ioctl(
            self.raw_fd(),
            libc::TUNGETIFF as _,
            (&raw mut request).cast(),
        )
        .ok()?;
        // SAFETY: the call takes no argument and gives a new descriptor; setns takes it and changes this thread alone.
        unsafe {
            let namespace = libc::ioctl(self.raw_fd(), libc::TUNGETDEVNETNS as _);
            if namespace < 0 {
                return None;
            }
            let namespace = OwnedFd::from_raw_fd(namespace);
            if libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) < 0 {
                return None;
            }
        }
        let name = request.ifr_name.iter().take_while(|byte| **byte != 0);
        Some(name.map(|byte| *byte as u8 as char).collect())
    }

    pub(crate) fn raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

pub(crate) enum TunError {
    NotTun(io::Error),
    NotBare,
    SetUp(io::Error),
}

impl Device for Tun {
    fn has_header(&self) -> bool {
        self.has_header
    }

    #[inline]
    fn read(&self, room: &mut [u8]) -> io::Result<usize> {
        (&self.file).read(room)
    }

    #[inline]
    fn write(&self, parts: &[IoSlice<'_>], _due: Time) -> bool {
        (&self.file).write_vectored(parts).is_ok()
    }
}

pub(crate) fn interface() -> libc::ifreq {
    // SAFETY: an all-zero ifreq is a valid value of this plain C struct.
    unsafe { std::mem::zeroed() }
}

fn ioctl(fd: RawFd, request: libc::c_ulong, argument: *mut libc::c_void) -> io::Result<()> {
    // SAFETY: every caller passes what its request wants, alive for the call.
    let done = unsafe { libc::ioctl(fd, request as _, argument) };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_of_all_ipv4_holds_no_ipv6() {
        let (network, mask) = bits(&"0.0.0.0/0".parse().unwrap());
        let [v4, v6] = ["10.1.2.3", "fd00::1"].map(|text| of_ip(text.parse().unwrap()));
        assert_eq!(v4 & mask, network);
        assert_ne!(v6 & mask, network);
        assert_eq!(bits(&"::/0".parse().unwrap()), (0, 0));
        assert_eq!(
            bits(&"10.1.2.3/8".parse().unwrap()).0,
            of_ip("10.0.0.0".parse().unwrap())
        );
    }
}
