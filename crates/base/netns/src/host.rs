//! One host: a network namespace with its devices.

use crate::command;
use crate::error::BedError;
use crate::link::{self, Counters, Mac};
use crate::names::Names;
use crate::namespace::Namespace;
use crate::netlink::{self, Mode, Netlink};
use crate::process::{self, VARIABLE};
use crate::sweep::sweep;
use crate::sysctl;
use crate::tun::{self, Tun};
use ipnet::IpNet;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::LinkAttribute;
use rustix::io::Errno;
use std::ffi::OsStr;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use tracing::debug;
use unbloat_os::netlink::Refusal;
use unbloat_os::offload::{MERGING, Offload};

/// For commands to put down what they are at when their host goes.
const GRACE: Duration = Duration::from_millis(300);

/// Which way packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route<'a> {
    /// Out of this device: who is addressed is on the other side of it.
    Device(&'a str),
    /// To this host, which has a route.
    Gateway(IpAddr),
}

/// A host of a bed. All of it goes away when it is dropped.
#[derive(Debug)]
pub struct Host {
    role: String,
    namespace: Namespace,
    pub(crate) netlink: Netlink,
    names: Arc<Names>,
}

impl Host {
    pub(crate) fn make(name: String, role: &str, names: Arc<Names>) -> Result<Host, BedError> {
        let namespace = Namespace::make(name)?;
        let netlink = namespace.within(Netlink::open)?;
        let netlink = netlink.map_err(|source| BedError::Make {
            name: namespace.name.clone(),
            source,
        })?;
        let host = Host {
            role: role.to_owned(),
            namespace,
            netlink,
            names,
        };
        host.within(|| {
            for (key, value) in sysctl::PINNED {
                host.pin(key, value)?;
            }
            Ok(())
        })??;
        host.up("lo")?;
        debug!(
            host = host.role,
            namespace = host.namespace.name,
            "host made"
        );
        Ok(host)
    }

    /// What the bed's maker called it.
    pub fn role(&self) -> &str {
        &self.role
    }

    /// The name by which `ip netns` knows it.
    pub fn name(&self) -> &str {
        &self.namespace.name
    }

    /// The namespace, for what enters it by itself.
    pub fn namespace(&self) -> BorrowedFd<'_> {
        self.namespace.file.as_fd()
    }

    /// Runs `job` on a thread inside, where sockets and devices belong to this host.
    pub fn within<T: Send>(&self, job: impl FnOnce() -> T + Send) -> Result<T, BedError> {
        self.namespace.within(job)
    }

    /// Moves the calling thread, for good, into the host.
    pub fn enter(&self) -> Result<(), BedError> {
        self.namespace.enter()
    }

    /// A TUN device that is up. It is there as long as the descriptor.
    ///
    /// It has no queue besides the one that the descriptor is read from, whatever this system gives to
    /// new devices: packets come from sockets at once.
    pub fn tun(&self, name: &str, tun: &Tun) -> Result<OwnedFd, BedError> {
        let fd = self.within(|| tun::make(name, tun))?;
        let fd = fd.map_err(|source| tun::not_made(name, source))?;
        let change = link::change(self.index(name)?, tun.attributes());
        self.tell(change, Mode::Change, || format!("set up {name}"))?;
        self.queue(name, "noqueue")?;
        self.up(name)?;
        Ok(fd)
    }

    /// Joins two hosts by a pair of Ethernet devices that are up.
    pub fn veth(&self, name: &str, other: &Host, other_name: &str) -> Result<(), BedError> {
        let macs = [self.mac(name), other.mac(other_name)];
        let there = other.namespace.file.as_fd();
        debug!(
            host = self.role,
            device = name,
            other = other.role,
            other_device = other_name,
            "hosts joined"
        );
        let pair = link::veth(name, macs[0], other_name, macs[1], there);
        self.tell(pair, Mode::Create, || format!("make {name}"))?;
        self.up(name)?;
        other.up(other_name)
    }

    /// The address of this host's device in a [`Host::veth`].
    pub fn mac(&self, device: &str) -> Mac {
        link::mac(&self.role, device)
    }

    /// Gives a device an address and the network that it is in.
    pub fn address(&self, device: &str, address: IpNet) -> Result<(), BedError> {
        let message = link::address(self.index(device)?, address);
        self.tell(message, Mode::Create, || format!("add {address}"))?;
        self.names.add(&self.role, address.addr());
        Ok(())
    }

    pub fn route(&self, to: IpNet, route: Route<'_>) -> Result<(), BedError> {
        let message = match route {
            Route::Device(name) => link::route(to, Some(self.index(name)?), None),
            Route::Gateway(gateway) => link::route(to, None, Some(gateway)),
        };
        self.tell(message, Mode::Create, || format!("add the route to {to}"))
    }

    /// Sets how long a packet of a device may be, in bytes of IP.
    pub fn mtu(&self, device: &str, bytes: u32) -> Result<(), BedError> {
        let message = link::change(self.index(device)?, vec![LinkAttribute::Mtu(bytes)]);
        self.tell(message, Mode::Change, || format!("set the MTU of {device}"))
    }

    /// Tells who has an address, so that no packets ask for it.
    pub fn neighbour(&self, device: &str, address: IpAddr, mac: Mac) -> Result<(), BedError> {
        let message = link::neighbour(self.index(device)?, address, mac);
        self.tell(message, Mode::Replace, || {
            format!("add neighbour {address}")
        })
    }

    pub fn up(&self, device: &str) -> Result<(), BedError> {
        let message = link::switch(self.index(device)?, true);
        self.tell(message, Mode::Change, || format!("switch {device} on"))
    }

    /// Lets nothing more into or out of a device.
    pub fn down(&self, device: &str) -> Result<(), BedError> {
        let message = link::switch(self.index(device)?, false);
        self.tell(message, Mode::Change, || format!("switch {device} off"))
    }

    /// Makes a device carry packets as they are on a wire: TCP segments them itself, receives them one by
    /// one, and checksums are in them. Do it at both ends of a [`Host::veth`].
    pub fn offloads_off(&self, device: &str) -> Result<(), BedError> {
        let all = [Offload::TxChecksum, Offload::RxChecksum];
        let mut all = MERGING.into_iter().chain(all);
        let done = self.within(|| all.try_for_each(|offload| offload.set(device, false)))?;
        done.map_err(|source| match Errno::from_io_error(&source) {
            Some(Errno::NODEV) => self.no_device(device),
            _ => BedError::Offload {
                host: self.role.clone(),
                device: device.to_owned(),
                source,
            },
        })
    }

    /// Makes TCP queue and send through a device one segment at a time, as kernels did before they segmented late. Else a socket whose
    /// congestion window lets it send at once takes far more than its send buffer in one call: memory is looked at for each
    /// new packet of the queue, and the last one there is cut from the front while it grows.
    pub fn single_segments(&self, device: &str) -> Result<(), BedError> {
        let attributes = vec![LinkAttribute::GsoMaxSegs(1)];
        let message = link::change(self.index(device)?, attributes);
        self.tell(message, Mode::Change, || {
            format!("bound the segments of {device}")
        })
    }

    /// Lets the host hand packets on that are for others: makes it a router.
    pub fn forward(&self) -> Result<(), BedError> {
        self.set("net/ipv4/ip_forward", "1")
    }

    /// Lets the host's devices have addresses of IPv6, and hand on packets as [`Host::forward`] does. Before they are given addresses.
    pub fn speak_ipv6(&self) -> Result<(), BedError> {
        for switch in ["all", "default"] {
            self.set(&format!("net/ipv6/conf/{switch}/disable_ipv6"), "0")?;
        }
        self.set("net/ipv6/conf/all/forwarding", "1")
    }

    /// Sets what is at `key` below /proc/sys.
    pub fn set(&self, key: &str, value: &str) -> Result<(), BedError> {
        let set = self.within(|| sysctl::set(key, value))?;
        set.map_err(|source| self.not_set(key, value, source))
    }

    /// Settings that decide what TCP does, as they are: for the run's record.
    pub fn settings(&self) -> Result<Vec<(String, String)>, BedError> {
        self.within(|| {
            let keys = sysctl::PINNED.iter().map(|(key, _)| *key);
            let read = keys.filter_map(|key| Some((key.to_owned(), sysctl::get(key).ok()?)));
            read.collect()
        })
    }

    pub fn counters(&self, device: &str) -> Result<Counters, BedError> {
        Ok(self.device(device)?.1)
    }

    /// A command as if it ran on this host: in its network and under its name, with files of names of
    /// its own (`client.lab` is the first address of host `client`). Where hosts get addresses later, a
    /// running command does not learn of it.
    ///
    /// Processes of a host end with it. `/sys` is the machine's, so that cgroups and BPF are at hand; for
    /// the same reason, `/sys/class/net` does not show the host's devices. Set another user by the command
    /// itself (`setpriv`), not by [`Command`]: entering needs root.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Result<Command, BedError> {
        let namespace = self.namespace.file.try_clone();
        let namespace = namespace.map_err(|source| BedError::Enter {
            name: self.name().to_owned(),
            source,
        })?;
        let mut command = Command::new(program);
        command.env(VARIABLE, self.name());
        debug!(host = self.role, program = %command.get_program().to_string_lossy(), "command on a host");
        let files = self.names.files();
        command::enter(&mut command, namespace.into(), &self.role, files);
        Ok(command)
    }

    /// Ends all processes of this host: commands, what they started, and what others started in its
    /// namespace. They are asked first, and killed if they do not end at once.
    pub fn end_processes(&self) {
        self.end_all();
    }

    /// Whether there were any.
    fn end_all(&self) -> bool {
        let namespace = self.namespace.identity();
        process::end(
            |process| {
                process.host.as_deref() == Some(self.name())
                    || namespace.is_some() && process.namespace == namespace
            },
            GRACE,
        )
    }

    fn pin(&self, key: &str, value: &str) -> Result<(), BedError> {
        match sysctl::set(key, value) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(self.not_set(key, value, source))
            }
            _ => Ok(()),
        }
    }

    fn not_set(&self, key: &str, value: &str, source: std::io::Error) -> BedError {
        BedError::Sysctl {
            host: self.role.clone(),
            key: key.to_owned(),
            value: value.to_owned(),
            source,
        }
    }

    pub(crate) fn index(&self, device: &str) -> Result<u32, BedError> {
        Ok(self.device(device)?.0)
    }

    fn device(&self, name: &str) -> Result<(u32, Counters), BedError> {
        let found = link::find(&self.netlink, name);
        found.ok_or_else(|| self.no_device(name))
    }

    fn no_device(&self, name: &str) -> BedError {
        BedError::NoDevice {
            host: self.role.clone(),
            device: name.to_owned(),
        }
    }

    pub(crate) fn tell(
        &self,
        message: RouteNetlinkMessage,
        mode: Mode,
        doing: impl FnOnce() -> String,
    ) -> Result<(), BedError> {
        let told = self.netlink.tell(message, mode);
        told.map_err(|refusal| self.refused(doing(), refusal))
    }

    pub(crate) fn refused(&self, doing: String, refusal: Refusal) -> BedError {
        netlink::refused(refusal, &self.role, doing)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // Among what has ended may have been somebody with a bed inside this one.
        if self.end_all() {
            sweep();
        }
        self.names.remove(&self.role);
    }
}
