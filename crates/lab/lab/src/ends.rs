//! How hosts are joined to the emulator, directly or behind a router whose queue is the kernel's.
//!
//! In real time by a TUN device each; in virtual time by Ethernet pairs, whose other ends are in a namespace of the emulator's
//! own, because the kernel must be told when each packet is to arrive ([`unbloat_emulator::Ahead`]).

use crate::error::LabError;
use crate::stage::{DEVICE, Place};
use ipnet::{IpNet, Ipv4Net};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use unbloat_emulator::{Gate, Port, Side, Valve, Wire};
use unbloat_experiment::scenario::{KernelQueue, Pace};
use unbloat_netns::tc::Framing;
use unbloat_netns::{Bed, Host, Route, Tun};
use unbloat_units::{Both, Direction, Rate};

/// Whom hosts on Ethernet send to; there is nobody else.
const GATEWAY: Ipv4Addr = Ipv4Addr::new(169, 254, 1, 1);
/// Of nobody: the emulator's namespace is not to think that packets are for it.
const ELSEWHERE: [u8; 6] = [2, 0xff, 0, 0, 0, 1];
/// Lets every packet go at its time, to the nanosecond, however many there are and however long that is.
const AT_ITS_TIME: &str = "fq limit 10000000 flow_limit 10000000 timer_slack 0 horizon 1000s";
/// What the kernel counts of a packet on an Ethernet device beyond IP, and on a TUN device does not.
const ETHERNET_HEADER: i32 = 14;

/// The emulator's ends of all devices.
pub(crate) struct Ends {
    tuns: Vec<(Side, Vec<Ipv4Addr>, OwnedFd)>,
    wires: Vec<(Side, Vec<Ipv4Addr>, String, [u8; 6])>,
    /// Where the wires end, in virtual time.
    path: Option<Host>,
    has_offloads: bool,
    /// In front of the hosts that send in a direction.
    pub routers: Both<Option<Router>>,
}

/// Where a queue of the kernel's stands, on the device towards the emulator.
pub(crate) struct Router {
    pub host: Host,
    /// The devices towards its hosts, with their addresses.
    pub hosts: Vec<(String, Ipv4Addr)>,
    /// If its queue waits for the path's link: the number of the device among the emulator's.
    gate: Option<(usize, Arc<unbloat_netns::Gate>)>,
}

struct Opener(Arc<unbloat_netns::Gate>);

impl Valve for Opener {
    fn open(&mut self) -> io::Result<()> {
        self.0.open()
    }
}

impl Ends {
    pub(crate) fn new(bed: &Bed, is_virtual: bool, has_offloads: bool) -> Result<Ends, LabError> {
        Ok(Ends {
            tuns: Vec::new(),
            wires: Vec::new(),
            path: is_virtual.then(|| bed.host("the-path")).transpose()?,
            has_offloads,
            routers: Both::default(),
        })
    }

    /// Joins the hosts of a side to the emulator.
    pub(crate) fn join<'a>(
        &mut self,
        bed: &Bed,
        side: Side,
        places: impl Iterator<Item = &'a Place>,
        queue: Option<&KernelQueue>,
    ) -> Result<(), LabError> {
        let Some(queue) = queue else {
            for place in places {
                self.attach(&place.host, side, vec![place.address])?;
                own_address(&place.host, place.address)?;
            }
            return Ok(());
        };
        let direction = match side {
            Side::Server => Direction::Down,
            Side::Client => Direction::Up,
        };
        let router = bed.host(&format!("router-{direction}"))?;
        router.forward()?;
        let mut hosts = Vec::new();
        for (nth, place) in places.enumerate() {
            let device = format!("host{nth}");
            behind(&router, &device, place)?;
            hosts.push((device, place.address));
        }
        let addresses = hosts.iter().map(|(_, address)| *address);
        let number = self.attach(&router, side, addresses.collect())?;
        // Cake reads lengths by itself.
        let is_short = self.path.is_none() && !queue.words.starts_with("cake");
        let on_tun = if is_short { ETHERNET_HEADER } else { 0 };
        let framing = Framing(queue.overhead_bytes + on_tun);
        let constant = match queue.pace {
            Pace::Own => Some(Rate::ZERO),
            Pace::Rate(rate) => Some(rate),
            Pace::Link => None,
        };
        let gate = match constant {
            Some(rate) => {
                router.bottleneck(DEVICE, &queue.words, rate, framing)?;
                None
            }
            None => {
                let gate = router.gate(DEVICE, &queue.words, framing)?;
                Some((number, Arc::new(gate)))
            }
        };
        self.routers[direction] = Some(Router {
            host: router,
            hosts,
            gate,
        });
        Ok(())
    }

    /// Gives a host a device towards the emulator, by which everybody else is reached; its number among the emulator's.
    fn attach(
        &mut self,
        host: &Host,
        side: Side,
        behind: Vec<Ipv4Addr>,
    ) -> Result<usize, LabError> {
        let everybody = IpNet::from(Ipv4Net::default());
        let Some(path) = &self.path else {
            let tun = Tun {
                offload: self.has_offloads,
                ..Tun::default()
            };
            let fd = host.tun(DEVICE, &tun)?;
            host.route(everybody, Route::Device(DEVICE))?;
            self.tuns.push((side, behind, fd));
            return Ok(self.tuns.len() - 1);
        };
        let end = format!("wire{}", self.wires.len());
        host.veth(DEVICE, path, &end)?;
        host.offloads_off(DEVICE)?;
        path.offloads_off(&end)?;
        path.queue(&end, AT_ITS_TIME)?;
        by_gateway(host, ELSEWHERE)?;
        self.wires.push((side, behind, end, host.mac(DEVICE)));
        Ok(self.wires.len() - 1)
    }

    /// Queues of the kernel's that wait for the links of the path.
    pub(crate) fn gates(&self) -> Both<Option<Gate>> {
        self.routers.as_ref().map(|router| {
            let (port, gate) = router.as_ref()?.gate.as_ref()?;
            Some(Gate {
                port: *port,
                valve: Box::new(Opener(gate.clone())),
            })
        })
    }

    /// For an emulator in real time.
    pub(crate) fn ports(&self) -> Result<Vec<Port>, LabError> {
        let port = |(side, behind, fd): &(Side, Vec<Ipv4Addr>, OwnedFd)| {
            Ok(Port {
                fd: fd.try_clone().map_err(LabError::File)?,
                side: *side,
                addresses: nets(behind),
            })
        };
        self.tuns.iter().map(port).collect()
    }

    /// For an emulator in virtual time; none: time is real.
    pub(crate) fn wires(&self) -> Result<Option<Vec<Wire>>, LabError> {
        let Some(path) = &self.path else {
            return Ok(None);
        };
        let wires = self.wires.iter().map(|(side, behind, device, peer)| {
            let wire = path.within(|| Wire::open(device, *peer, *side, nets(behind)))?;
            wire.map_err(LabError::File)
        });
        wires.collect::<Result<_, _>>().map(Some)
    }
}

/// Puts a host behind a router.
fn behind(router: &Host, device: &str, place: &Place) -> Result<(), LabError> {
    let Place { host, address, .. } = place;
    host.veth(DEVICE, router, device)?;
    host.offloads_off(DEVICE)?;
    router.offloads_off(device)?;
    own_address(host, *address)?;
    by_gateway(host, router.mac(device))?;
    router.neighbour(device, (*address).into(), host.mac(DEVICE))?;
    let net = Ipv4Net::new_assert(*address, 32);
    Ok(router.route(net.into(), Route::Device(device))?)
}

fn by_gateway(host: &Host, mac: [u8; 6]) -> Result<(), LabError> {
    let gateway = Ipv4Net::new_assert(GATEWAY, 32);
    host.neighbour(DEVICE, GATEWAY.into(), mac)?;
    host.route(gateway.into(), Route::Device(DEVICE))?;
    Ok(host.route(Ipv4Net::default().into(), Route::Gateway(GATEWAY.into()))?)
}

fn own_address(host: &Host, address: Ipv4Addr) -> Result<(), LabError> {
    Ok(host.address(DEVICE, Ipv4Net::new_assert(address, 32).into())?)
}

fn nets(addresses: &[Ipv4Addr]) -> Vec<IpNet> {
    let nets = addresses
        .iter()
        .map(|address| IpNet::from(IpAddr::from(*address)));
    nets.collect()
}
