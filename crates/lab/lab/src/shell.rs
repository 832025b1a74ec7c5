//! A network whose only way out is an emulated path to the network of the caller, for any command; such networks nest.
//!
//! # What is made
//! A network namespace with a device, and a TUN device in the caller's network. The caller's routes, addresses and settings stay
//! as they are: the device, its address and the route to the network behind it are the only things there, and they go with the
//! process, however it ends. Addresses come from 100.64.0.0/10 (RFC 6598), and a shell within a shell has a part of its
//! parent's: so whoever knows the way to the outer one knows the way to the inner one, and nothing is translated. Each address
//! of IPv4 has one of IPv6 that holds it, in 2001:db8::/32 (RFC 3849).
//!
//! What is beyond the caller's network is reached where that forwards, if it is asked for: under the caller's address.

use crate::error::LabError;
use crate::path_series::{PathSeries, recorder};
use crate::stage::DEVICE;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::ffi::OsStr;
use std::fs::File;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;
use tracing::{debug, info};
use unbloat_emulator::{Emulated, Emulator, EmulatorError, Port, Setup, Side, Timing, Witness};
use unbloat_experiment::scenario::BothWays;
use unbloat_netns::{Bed, Here, Host, Masquerade, Route, Tun};
use unbloat_units::{Delta, Time};

/// Carrier-grade NAT's addresses (RFC 6598): nobody's on the Internet.
const ALL: Ipv4Net = Ipv4Net::new_assert(Ipv4Addr::new(100, 64, 0, 0), 10);
/// In front of an address of IPv4: a prefix that is nobody's on the Internet (RFC 3849), and no private one, as theirs is none.
const BEFORE: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
/// Its bits. Those of the address of IPv4 follow, so that two hosts have no /64 in common: it would make one the other's router at home.
const BEFORE_BITS: u8 = 32;
/// Devices of shells in the caller's network; a number follows.
const OUTSIDE: &str = "ub-shell";
const SAMPLE_EVERY: Delta = Delta::ms(10);
/// Tells the command where the caller is.
const BASE_VARIABLE: &str = "UNBLOAT_BASE";
/// The same over IPv6, where the caller's network has that.
const BASE6_VARIABLE: &str = "UNBLOAT_BASE6";

/// What a shell is to have beside a path.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShellOptions {
    pub seed: u64,
    /// Series of what the path does.
    pub is_recorded: bool,
    /// What the caller's network reaches is reached from inside, under its address.
    pub reaches_out: bool,
    /// The caller's network forwards only for shells: not for its neighbours.
    pub forwards_alone: bool,
}

/// A network behind an emulated path. It goes away when it is dropped, with all that runs in it.
pub struct Shell {
    host: Host,
    outside: Ipv4Addr,
    outside6: Option<Ipv6Addr>,
    stop: Arc<AtomicBool>,
    carrier: Option<JoinHandle<Result<Emulated, EmulatorError>>>,
    series: Option<Receiver<PathSeries>>,
    zero: Time,
    _masquerade: Option<Masquerade>,
    _bed: Bed,
}

/// What came of a shell.
pub struct Closed {
    pub emulated: Emulated,
    /// Where the shell was made to record them.
    pub series: Option<PathSeries>,
    /// Zero of all times, on `CLOCK_MONOTONIC`.
    pub zero: Time,
}

impl Shell {
    /// Makes the network and begins to carry packets.
    pub fn open(path: BothWays, seed: u64) -> Result<Shell, LabError> {
        let options = ShellOptions {
            seed,
            ..ShellOptions::default()
        };
        Self::make(path, &options)
    }

    /// Makes the network.
    pub fn make(path: BothWays, options: &ShellOptions) -> Result<Shell, LabError> {
        let bed = Bed::new()?;
        let here = Here::open()?;
        let (net, outer) = claim(&here)?;
        let net6 = claim6(&here, &outer.device, net)?;
        let nets: Vec<IpNet> = [Some(net.into()), net6.map(IpNet::V6)]
            .into_iter()
            .flatten()
            .collect();
        let masquerade = options
            .reaches_out
            .then(|| here.masquerade(&outer.device, &nets, options.forwards_alone))
            .transpose()?;
        let host = bed.host("shell")?;
        let inner = join(&host, net, net6)?;
        let port = |fd, side, addresses| Port {
            fd,
            side,
            addresses,
        };
        let everybody = vec![Ipv4Net::default().into(), Ipv6Net::default().into()];
        let ports = vec![
            port(inner, Side::Client, nets),
            port(outer.fd, Side::Server, everybody),
        ];
        let (witness, series) = options.is_recorded.then(recorder).unzip();
        let setup = Setup {
            shares_radio: path.shares_radio,
            seed: options.seed,
            sample_every: Some(SAMPLE_EVERY),
            witness: witness.map(|witness| Box::new(witness) as Box<dyn Witness>),
            ..Setup::new(path.hops.down, path.hops.up, ports, Timing::Spin)
        };
        let zero = Time::from_ns(setup.clock.zero_ns());
        let emulator = Emulator::new(setup)?;
        let stop = Arc::new(AtomicBool::new(false));
        let seen = stop.clone();
        let thread = std::thread::Builder::new().name("path".to_owned());
        let carrier = thread.spawn(move || emulator.run(&seen));
        info!(outside = %ends(net).0, inside = %ends(net).1, "path open");
        Ok(Shell {
            host,
            outside: ends(net).0,
            outside6: net6.map(|_| as_ipv6(ends(net).0)),
            stop,
            carrier: Some(carrier.map_err(LabError::Thread)?),
            series,
            zero,
            _masquerade: masquerade,
            _bed: bed,
        })
    }

    /// The caller's address, as seen from inside.
    pub fn outside(&self) -> Ipv4Addr {
        self.outside
    }

    /// Its address of IPv6; none: its network has none.
    pub fn outside6(&self) -> Option<Ipv6Addr> {
        self.outside6
    }

    /// Runs `job` on a thread inside.
    pub fn within<T: Send>(&self, job: impl FnOnce() -> T + Send) -> Result<T, LabError> {
        Ok(self.host.within(job)?)
    }

    /// A command in this network, and otherwise as the caller's; it ends with the process that started it.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Result<Command, LabError> {
        let namespace = self
            .host
            .within(|| File::open("/proc/thread-self/ns/net"))?;
        let namespace = namespace.map_err(LabError::File)?;
        let mut command = Command::new(program);
        debug!(program = %command.get_program().to_string_lossy(), "command behind the path");
        command.env(BASE_VARIABLE, self.outside.to_string());
        match self.outside6 {
            Some(address) => command.env(BASE6_VARIABLE, address.to_string()),
            None => command.env_remove(BASE6_VARIABLE),
        };
        let enter = move || {
            set_parent_process_death_signal(Some(Signal::HUP))?;
            let kind = Some(LinkNameSpaceType::Network);
            Ok(move_into_link_name_space(namespace.as_fd(), kind)?)
        };
        // SAFETY: between fork and exec it makes system calls only.
        unsafe { command.pre_exec(enter) };
        Ok(command)
    }

    /// Stops carrying packets; what came of it.
    pub fn close(mut self) -> Result<Closed, LabError> {
        self.stop.store(true, Ordering::Relaxed);
        let carrier = self.carrier.take().ok_or(LabError::Panicked)?;
        let mut emulated = carrier.join().map_err(|_| LabError::Panicked)??;
        // It hands its series over when it goes.
        drop(emulated.witness.take());
        let series = self.series.take();
        info!("path closed");
        Ok(Closed {
            emulated,
            series: series.and_then(|series| series.recv().ok()),
            zero: self.zero,
        })
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(carrier) = self.carrier.take() {
            let _ = carrier.join();
        }
    }
}

/// The device towards a shell in the caller's network.
struct Outer {
    device: String,
    fd: OwnedFd,
}

/// Takes a network that nobody uses, and makes the device towards it in the caller's.
fn claim(here: &Here) -> Result<(Ipv4Net, Outer), LabError> {
    let known = here.networks()?;
    let tun = device();
    for (net, number) in free(&known)?.zip(0..) {
        let (address, _) = ends(net);
        let own = Ipv4Net::new_assert(address, net.prefix_len());
        let device = format!("{OUTSIDE}{number}");
        if let Some(fd) = here.tun(&device, &tun, own.into())? {
            return Ok((net, Outer { device, fd }));
        }
    }
    Err(LabError::NoNetwork { within: ALL })
}

/// The same network in IPv6, if the caller's has that. Whoever has the one has the other.
fn claim6(here: &Here, device: &str, net: Ipv4Net) -> Result<Option<Ipv6Net>, LabError> {
    if !here.speaks_ipv6(device) {
        return Ok(None);
    }
    let own = in_ipv6(Ipv4Net::new_assert(ends(net).0, net.prefix_len()));
    here.address(device, own.into())?;
    Ok(Some(own.trunc()))
}

fn as_ipv6(address: Ipv4Addr) -> Ipv6Addr {
    Ipv6Addr::from(u128::from(BEFORE) | u128::from(u32::from(address)) << 64)
}

fn in_ipv6(net: Ipv4Net) -> Ipv6Net {
    Ipv6Net::new_assert(as_ipv6(net.addr()), BEFORE_BITS + net.prefix_len())
}

/// Networks for a shell, from the routes of the caller; those that overlap one of them are still counted, so that the number of
/// a network is that of its device.
fn free(known: &[(String, Ipv4Net)]) -> Result<impl Iterator<Item = Ipv4Net>, LabError> {
    let parent = known
        .iter()
        .find(|(device, net)| device == DEVICE && ALL.contains(net))
        .map(|(_, net)| *net);
    let len = match parent.unwrap_or(ALL).prefix_len() {
        10 => 16,
        len @ 16..=24 => len + 4,
        28 => 30,
        _ => return Err(LabError::TooDeep),
    };
    let own = parent.map(ends);
    let used: Vec<Ipv4Net> = known
        .iter()
        .map(|(_, net)| *net)
        .filter(|net| Some(*net) != parent)
        .collect();
    let all = parent.unwrap_or(ALL).subnets(len);
    Ok(all.into_iter().flatten().filter(move |net| {
        let is_own = own.is_some_and(|(a, b)| net.contains(&a) || net.contains(&b));
        let is_used = used
            .iter()
            .any(|used| used.contains(net) || net.contains(used));
        !is_own && !is_used
    }))
}

/// The first addresses of a network: that of the caller, and that of the shell.
fn ends(net: Ipv4Net) -> (Ipv4Addr, Ipv4Addr) {
    let first = u32::from(net.network());
    (Ipv4Addr::from(first + 1), Ipv4Addr::from(first + 2))
}

fn device() -> Tun {
    Tun {
        offload: true,
        ..Tun::default()
    }
}

/// Makes the inside: a router, for shells in it.
fn join(host: &Host, net: Ipv4Net, net6: Option<Ipv6Net>) -> Result<OwnedFd, LabError> {
    if net6.is_some() {
        host.speak_ipv6()?;
    }
    let fd = host.tun(DEVICE, &device())?;
    let own = Ipv4Net::new_assert(ends(net).1, net.prefix_len());
    host.address(DEVICE, own.into())?;
    host.route(Ipv4Net::default().into(), Route::Device(DEVICE))?;
    host.forward()?;
    if net6.is_some() {
        host.address(DEVICE, in_ipv6(own).into())?;
        host.route(Ipv6Net::default().into(), Route::Device(DEVICE))?;
    }
    Ok(fd)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(known: &[(&str, &str)]) -> Result<String, LabError> {
        let known: Vec<_> = known
            .iter()
            .map(|(device, net)| ((*device).to_owned(), net.parse().unwrap()))
            .collect();
        Ok(free(&known)?.next().unwrap().to_string())
    }

    #[test]
    fn a_shell_takes_a_network_that_nobody_has_a_route_to() {
        assert_eq!(
            first(&[("eth0", "192.168.0.0/24")]).unwrap(),
            "100.64.0.0/16"
        );
        let used = [("ub-shell0", "100.64.0.0/16"), ("vpn", "100.65.3.4/32")];
        assert_eq!(first(&used).unwrap(), "100.66.0.0/16");
    }

    #[test]
    fn both_versions_of_ip_lay_the_same_networks() {
        let net: Ipv4Net = "100.64.17.16/28".parse().unwrap();
        let own = in_ipv6(Ipv4Net::new_assert(ends(net).0, net.prefix_len()));
        assert_eq!(own.to_string(), "2001:db8:6440:1111::1/60");
        let host = as_ipv6(ends(net).1);
        assert!(own.contains(&host));
        assert_ne!(host.segments()[..4], own.addr().segments()[..4]);
    }

    #[test]
    fn shells_nest_within_the_networks_of_their_parents() {
        let mut parent = "100.64.0.0/16".to_owned();
        let mut nets = Vec::new();
        while let Ok(net) = first(&[(DEVICE, &parent)]) {
            nets.push(net.clone());
            parent = net;
        }
        let expected = [
            "100.64.16.0/20",
            "100.64.17.0/24",
            "100.64.17.16/28",
            "100.64.17.20/30",
        ];
        assert_eq!(nets, expected);
    }
}
