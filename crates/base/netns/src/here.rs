//! The network in which this process itself runs.

use crate::error::{BedError, at};
use crate::link;
use crate::masquerade::Masquerade;
use crate::netlink::{Mode, Netlink, refused};
use crate::sysctl;
use crate::tun::{self, Tun};
use ipnet::{IpNet, Ipv4Net};
use netlink_packet_route::RouteNetlinkMessage;
use rustix::io::Errno;
use std::fs;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;

pub(crate) const NAME: &str = "this process's network";
const ROUTES: &str = "/proc/thread-self/net/route";

/// The network namespace of the calling thread. Only what goes away by itself can be made here, so that nothing
/// is left of it when the process is killed.
#[derive(Debug)]
pub struct Here {
    netlink: Netlink,
}

impl Here {
    pub fn open() -> Result<Here, BedError> {
        let netlink = Netlink::open().map_err(|source| BedError::Make {
            name: NAME.to_owned(),
            source,
        })?;
        Ok(Here { netlink })
    }

    /// A TUN device that is up, with an address and the network behind it. All of it is there as long as
    /// the descriptor. None: somebody has a device of that name.
    pub fn tun(&self, name: &str, tun: &Tun, net: IpNet) -> Result<Option<OwnedFd>, BedError> {
        let fd = match tun::make(name, tun) {
            Err(error) if Errno::from_io_error(&error) == Some(Errno::BUSY) => return Ok(None),
            made => made.map_err(|source| match Errno::from_io_error(&source) {
                Some(Errno::ACCESS) => BedError::NoPrivilege,
                _ => tun::not_made(name, source),
            })?,
        };
        let index = self.index(name)?;
        let change = link::change(index, tun.attributes());
        self.tell(change, Mode::Change, name)?;
        self.tell(link::switch(index, true), Mode::Change, name)?;
        self.tell(link::address(index, net), Mode::Create, name)?;
        Ok(Some(fd))
    }

    /// Gives a device that was made here one more address, with the network behind it.
    pub fn address(&self, device: &str, net: IpNet) -> Result<(), BedError> {
        let message = link::address(self.index(device)?, net);
        self.tell(message, Mode::Create, device)
    }

    /// Whether a device may have addresses of IPv6.
    pub fn speaks_ipv6(&self, device: &str) -> bool {
        let switch = format!("net/ipv6/conf/{device}/disable_ipv6");
        sysctl::get(&switch).is_ok_and(|is_off| is_off == "0")
    }

    /// Lets what comes from networks behind a device go on to others under an address of this network's, as long as the result lives.
    /// This network must be one that forwards; with `is_alone` it does so for nobody else meanwhile.
    pub fn masquerade(
        &self,
        device: &str,
        nets: &[IpNet],
        is_alone: bool,
    ) -> Result<Masquerade, BedError> {
        Masquerade::begin(device, nets, is_alone)
    }

    /// The networks to which there are routes, but for the default, each with its device.
    pub fn networks(&self) -> Result<Vec<(String, Ipv4Net)>, BedError> {
        let table = fs::read_to_string(ROUTES).map_err(at(ROUTES))?;
        let routes = table.lines().skip(1).filter_map(route);
        Ok(routes.filter(|(_, net)| net.prefix_len() > 0).collect())
    }

    fn index(&self, device: &str) -> Result<u32, BedError> {
        let found = link::find(&self.netlink, device);
        let no_device = || BedError::NoDevice {
            host: NAME.to_owned(),
            device: device.to_owned(),
        };
        Ok(found.ok_or_else(no_device)?.0)
    }

    fn tell(&self, message: RouteNetlinkMessage, mode: Mode, device: &str) -> Result<(), BedError> {
        let told = self.netlink.tell(message, mode);
        told.map_err(|refusal| refused(refusal, NAME, format!("set up {device}")))
    }
}

/// Device and network of a line of /proc/net/route, where addresses are in the byte order of the machine.
fn route(line: &str) -> Option<(String, Ipv4Net)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let address = |field: &str| {
        let bits = u32::from_str_radix(field, 16).ok()?;
        Some(Ipv4Addr::from(bits.to_ne_bytes()))
    };
    let net = Ipv4Net::with_netmask(address(fields.get(1)?)?, address(fields.get(7)?)?).ok()?;
    Some(((*fields.first()?).to_owned(), net))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn routes_are_read_with_their_devices() {
        let line = "eth0\t0000A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0";
        let (device, net) = route(line).unwrap();
        assert_eq!(
            (device.as_str(), net.to_string().as_str()),
            ("eth0", "192.168.0.0/24")
        );
        assert_eq!(route("eth0\tnonsense"), None);
    }
}
