//! What passes the interface towards the server, by whomever: the kernel's counters.

use std::fs::File;
use std::io::{Read, Seek};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use unbloat_os::device::Device;
use unbloat_units::{Both, Bytes};

/// Of this process's network namespace, which /sys may not show.
const COUNTERS: &str = "/proc/thread-self/net/dev";
/// Fields of a line behind its name: received bytes come first, sent bytes after eight of the receiver's.
const SENT: usize = 8;

pub struct Interface {
    name: String,
    counters: File,
}

impl Interface {
    /// The one that packets to this address leave by; none of the loopback device, which counts both directions as one.
    pub fn towards(to: SocketAddr) -> Option<Interface> {
        let device = Device::with_address(own_address(to)?);
        let device = device.ok()?.filter(|device| !device.is_loopback)?;
        Some(Interface {
            name: device.name,
            counters: File::open(COUNTERS).ok()?,
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes received and sent so far.
    pub fn look(&mut self) -> Option<Both<Bytes>> {
        let mut text = String::new();
        self.counters.rewind().ok()?;
        self.counters.read_to_string(&mut text).ok()?;
        counts(&text, &self.name)
    }
}

/// This host's address on the way to another.
pub fn own_address(to: SocketAddr) -> Option<IpAddr> {
    let any: SocketAddr = match to {
        SocketAddr::V4(_) => ([0; 4], 0).into(),
        SocketAddr::V6(_) => ([0; 16], 0).into(),
    };
    // Connecting sends nothing: the kernel looks up the route.
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(to).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

fn counts(text: &str, name: &str) -> Option<Both<Bytes>> {
    let line = text.lines().find_map(|line| {
        let (of, counts) = line.split_once(':')?;
        (of.trim() == name).then_some(counts)
    })?;
    let field = |at: usize| line.split_whitespace().nth(at)?.parse().ok();
    Some(Both::new(Bytes::new(field(0)?), Bytes::new(field(SENT)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_both_directions_are_read_from_the_line_of_that_name() {
        let text = "Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 6163450   34405    0    0    0     0          0         0  6163450   34405    0    0    0     0       0          0
  eth0:1077018   29471    0    0    0     0          0         0   557192    4021    0    0    0     0       0          0
";
        assert_eq!(
            counts(text, "eth0"),
            Some(Both::new(Bytes::new(1_077_018), Bytes::new(557_192)))
        );
        assert_eq!(counts(text, "eth1"), None);
        assert_eq!(counts("eth0: 1 2", "eth0"), None);
    }

    #[test]
    fn the_loopback_device_is_none() {
        assert!(Interface::towards(([127, 0, 0, 1], 9).into()).is_none());
    }
}
