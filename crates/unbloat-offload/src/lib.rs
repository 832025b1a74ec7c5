//! What a device leaves to hardware, or to the kernel on its behalf (`SIOCETHTOOL`, include/uapi/linux/ethtool.h).
//!
//! Queues see packets as on a wire only where segments are neither put off nor merged.

use serde::{Deserialize, Serialize};
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

const SIOCETHTOOL: libc::c_ulong = 0x8946;

/// As `ethtool -K` calls them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Offload {
    /// TCP's segments are made by the device.
    Tso,
    /// Segments are made after the queue discipline.
    Gso,
    /// What arrives is merged.
    Gro,
    TxChecksum,
    RxChecksum,
}

/// Those that make several packets one, for queue disciplines and filters.
pub const MERGING: [Offload; 3] = [Offload::Tso, Offload::Gso, Offload::Gro];

impl Offload {
    /// `ETHTOOL_G*`; the number after it is `ETHTOOL_S*`.
    fn question(self) -> u32 {
        match self {
            Offload::Tso => 0x1e,
            Offload::Gso => 0x23,
            Offload::Gro => 0x2b,
            Offload::TxChecksum => 0x16,
            Offload::RxChecksum => 0x14,
        }
    }

    /// Whether a device of this thread's namespace does it; one that knows nothing of it does not.
    pub fn is_on(self, device: &str) -> io::Result<bool> {
        let asked = call(device, self.question(), 0);
        match asked {
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(false),
            asked => Ok(asked? != 0),
        }
    }

    /// Switches it. A device that cannot do it needs not be told to leave it.
    pub fn set(self, device: &str, on: bool) -> io::Result<()> {
        match call(device, self.question() + 1, on.into()) {
            Err(error) if !on && error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(()),
            told => told.map(drop),
        }
    }
}

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

fn call(device: &str, command: u32, data: u32) -> io::Result<u32> {
    // Any address: that of loopback cannot be had while that device is down.
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    let mut value = Value { command, data };
    // SAFETY: an ifreq is plain data, for which zeros are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // One byte less than there is: it ends with a zero.
    for (to, from) in request.ifr_name.iter_mut().zip(device.bytes().take(15)) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the request names a device and points to an ethtool_value; both outlive the call.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(value.data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_not_there_is_an_error() {
        let error = Offload::Gso.is_on("no-such-device").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
    }

    #[test]
    fn loopback_tells_what_it_merges() {
        assert!(Offload::Gso.is_on("lo").unwrap());
    }
}
