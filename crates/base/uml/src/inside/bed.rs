//! Four hosts in a row: sender, router with the queue in question, delay, receiver.

use super::counters;
use super::fault::{Fault, fault};
use super::host::{self, Host, index, mac};
use super::rtnetlink::ROOT;
use super::tap::Tap;
use crate::outcome::KernelCounters;
use crate::scenario::Scenario;
use std::net::Ipv4Addr;
use unbloat_netns::tc::{self, Discipline, Framing, Netem};

pub(crate) const SENDER: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 1);
pub(crate) const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 0, 3, 2);

const HANDLE_1: u32 = 0x1_0000;
const CLASS_1_1: u32 = 0x1_0001;
const HANDLE_2: u32 = 0x2_0000;

pub(crate) struct Bed {
    pub(crate) sender: Host,
    router: Host,
    delay: Host,
    pub(crate) receiver: Host,
    queue: Discipline,
    queue_device: u32,
    queue_handle: u32,
}

impl Bed {
    pub(crate) fn build(scenario: &Scenario) -> Result<Bed, Fault> {
        let framing = Framing(scenario.framing_bytes);
        let queue = Discipline::parse(&scenario.queue, scenario.rate_bps, framing)
            .map_err(|error| fault("reading the scenario", error.to_string()))?;
        // Both hold for all hosts, and can be set from the first namespace only.
        host::set("net/core/netdev_max_backlog", "1000000")?;
        host::set("net/ipv4/tcp_mem", "1000000 1000000 1000000")?;
        let sender = Host::new()?;
        let router = Host::new()?;
        let delay = Host::new()?;
        let receiver = Host::new()?;
        sender.join("a0", &router, "r0")?;
        router.join("r1", &delay, "d0")?;
        delay.join("d1", &receiver, "b0")?;
        let mut bed = Bed {
            sender,
            router,
            delay,
            receiver,
            queue_handle: if queue.shapes { HANDLE_1 } else { HANDLE_2 },
            queue,
            queue_device: 0,
        };
        bed.address()?;
        bed.shape(scenario, framing)?;
        bed.tune(scenario)?;
        Ok(bed)
    }

    /// Addresses, neighbours and routes.
    fn address(&self) -> Result<(), Fault> {
        let net = |third: u8, last: u8| Ipv4Addr::new(10, 0, third, last);
        let ends: [(&Host, &str, u8, u8, &str); 6] = [
            (&self.sender, "a0", 1, 1, "r0"),
            (&self.router, "r0", 1, 2, "a0"),
            (&self.router, "r1", 2, 1, "d0"),
            (&self.delay, "d0", 2, 2, "r1"),
            (&self.delay, "d1", 3, 1, "b0"),
            (&self.receiver, "b0", 3, 2, "d1"),
        ];
        for (host, device, third, last, peer) in ends {
            host.enter()?;
            let index = index(device)?;
            host.netlink.address(index, net(third, last))?;
            host.netlink
                .neighbour(index, net(third, 3 - last), mac(peer))?;
        }
        self.sender.netlink.route(net(3, 0), net(1, 2))?;
        self.router.netlink.route(net(3, 0), net(2, 2))?;
        self.delay.netlink.route(net(1, 0), net(2, 1))?;
        self.receiver.netlink.route(net(1, 0), net(3, 1))
    }

    fn shape(&mut self, scenario: &Scenario, framing: Framing) -> Result<(), Fault> {
        self.delay.enter()?;
        let forward = Netem {
            delay_ns: scenario.forward_delay_ns,
            rate_bps: Some(scenario.rate_bps),
            framing,
            ..Netem::default()
        };
        let back = Netem {
            delay_ns: scenario.return_delay_ns,
            ..Netem::default()
        };
        for (device, netem) in [("d1", forward), ("d0", back)] {
            let at = (ROOT, HANDLE_1);
            self.delay
                .netlink
                .qdisc(index(device)?, at, "netem", &netem.options(), None)?;
        }
        self.router.enter()?;
        self.queue_device = index("r1")?;
        let (device, netlink) = (self.queue_device, &self.router.netlink);
        let (kind, options) = (self.queue.kind, &self.queue.options[..]);
        let table = tc::size_table(framing).to_bytes();
        if self.queue.shapes {
            // Cake reads lengths by itself.
            let table = (kind != "cake").then_some(&table[..]);
            return netlink.qdisc(device, (ROOT, HANDLE_1), kind, options, table);
        }
        netlink.qdisc(device, (ROOT, HANDLE_1), "htb", &tc::htb(), Some(&table))?;
        let class = tc::htb_class(scenario.rate_bps);
        netlink.class(device, (HANDLE_1, CLASS_1_1), "htb", &class)?;
        netlink.qdisc(device, (CLASS_1_1, HANDLE_2), kind, options, None)
    }

    fn tune(&self, scenario: &Scenario) -> Result<(), Fault> {
        for host in [&self.sender, &self.receiver] {
            host.enter()?;
            for (key, value) in Scenario::SYSCTLS {
                host::set(key, value)?;
            }
            host::set("net/ipv4/tcp_ecn", if scenario.ecn { "1" } else { "0" })?;
            for (key, value) in &scenario.sysctls {
                host::set(key, value)?;
            }
        }
        Ok(())
    }

    /// Lets nothing more out of the sender, not even the resets of its connections.
    pub(crate) fn silence(&self) -> Result<(), Fault> {
        self.sender.enter()?;
        self.sender.netlink.up(index("a0")?, false)
    }

    /// Taps before and behind the queue. Nothing takes time on the way from the one to the queue, nor
    /// from the queue to the other.
    pub(crate) fn taps(&self) -> Result<[Tap; 2], Fault> {
        self.router.enter()?;
        let before = Tap::on("r0")?;
        self.delay.enter()?;
        Ok([before, Tap::on("d0")?])
    }

    /// What the kernel counts of the queue.
    pub(crate) fn counters(&self) -> Result<KernelCounters, Fault> {
        let (device, handle) = (self.queue_device, self.queue_handle);
        let attributes = self.router.netlink.qdisc_attributes(device, handle)?;
        Ok(counters::read(self.queue.kind, &attributes))
    }
}
