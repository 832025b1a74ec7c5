//! What a device leaves to hardware that it does not have: switched off, so that queues see packets as
//! on a wire (`SIOCETHTOOL`, include/uapi/linux/ethtool.h).

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

const SIOCETHTOOL: libc::c_ulong = 0x8946;
const SET_TSO: u32 = 0x1f;
const SET_GSO: u32 = 0x24;
const SET_GRO: u32 = 0x2c;
const SET_TXCSUM: u32 = 0x17;
const SET_RXCSUM: u32 = 0x15;

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// For a device of the calling thread's namespace: no segmentation after TCP, no merging before it, and
/// checksums in the packets.
pub(crate) fn off(device: &str) -> io::Result<()> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    for command in [SET_TSO, SET_GSO, SET_GRO, SET_TXCSUM, SET_RXCSUM] {
        match set(&socket, device, command) {
            // A device without it needs not be told.
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
            result => result?,
        }
    }
    Ok(())
}

fn set(socket: &UdpSocket, device: &str, command: u32) -> io::Result<()> {
    let mut value = Value { command, data: 0 };
    // SAFETY: an ifreq is plain data, for which zeros are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(device.bytes().take(15)) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the request names a device and points to an ethtool_value; both outlive the call.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
