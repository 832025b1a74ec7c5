//! One host of the bed: a network namespace with its devices.

use super::fault::{Doing, Fault};
use super::rtnetlink::{Mac, Rtnetlink};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::Path;
use unbloat_os::offload::MERGING;
use unbloat_os::{device, namespace};

/// A namespace of this process. Sockets belong to the one in which they were opened.
pub(crate) struct Host {
    namespace: File,
    pub(crate) netlink: Rtnetlink,
}

impl Host {
    /// Makes a namespace and enters it.
    pub(crate) fn new() -> Result<Host, Fault> {
        namespace::enter_new_network().doing(|| "making a network namespace".to_owned())?;
        let here = File::open("/proc/thread-self/ns/net");
        let namespace = here.doing(|| "opening a network namespace".to_owned())?;
        for key in ["all", "default"] {
            set(&format!("net/ipv6/conf/{key}/disable_ipv6"), "1")?;
        }
        set("net/ipv4/ip_forward", "1")?;
        Ok(Host {
            namespace,
            netlink: Rtnetlink::open()?,
        })
    }

    pub(crate) fn enter(&self) -> Result<(), Fault> {
        move_into_link_name_space(self.namespace.as_fd(), Some(LinkNameSpaceType::Network))
            .doing(|| "entering a network namespace".to_owned())
    }

    /// Joins two hosts by a pair of devices; their MAC addresses follow from the names.
    pub(crate) fn join(&self, name: &str, other: &Host, other_name: &str) -> Result<(), Fault> {
        let ends = ((name, mac(name)), (other_name, mac(other_name)));
        self.netlink.veth(ends.0, ends.1, other.namespace.as_fd())?;
        for (host, device) in [(self, name), (other, other_name)] {
            host.enter()?;
            offloads_off(device)?;
            host.netlink.up(index(device)?, true)?;
        }
        Ok(())
    }
}

/// Locally administered, the same in each run.
pub(crate) fn mac(name: &str) -> Mac {
    let mut mac = [2, 0, 0, 0, 0, 0];
    for (byte, letter) in mac[1..].iter_mut().zip(name.bytes()) {
        *byte = letter;
    }
    mac
}

/// The index of a device of the entered host.
pub(crate) fn index(name: &str) -> Result<u32, Fault> {
    device::index(name).doing(|| format!("finding {name}"))
}

/// Sets what is below /proc/sys of the entered host.
pub(crate) fn set(key: &str, value: &str) -> Result<(), Fault> {
    fs::write(Path::new("/proc/sys").join(key), value).doing(|| format!("setting {key} to {value}"))
}

/// No segmentation after TCP, and no merging before it: queues see packets as on a wire.
fn offloads_off(name: &str) -> Result<(), Fault> {
    let mut switched = MERGING.iter().map(|offload| offload.set(name, false));
    let all = switched.try_for_each(|offload| offload);
    all.doing(|| format!("switching offloads of {name} off"))
}
