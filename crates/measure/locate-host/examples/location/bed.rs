//! Five routers in a row, with what a trial puts on the path.
//!
//! Node 0 is this host, 1 to 5 are routers, 6 is the far end. Link k joins node k-1 (device `right`) and
//! node k (device `left`); its network is 10.0.k.0/24, the nearer end .1, the farther .2.

use crate::modem::Modem;
use crate::trial::{Direction, Holder, LINKS, Trial};
use std::net::Ipv4Addr;
use std::process::Stdio;
use unbloat_netns::tc::Framing;
use unbloat_netns::{Bed, Host, Route, Tun};
use unbloat_units::Rate;

pub type Fault = Box<dyn std::error::Error + Send + Sync>;

pub const FAR_END: Ipv4Addr = Ipv4Addr::new(10, 0, LINKS, 2);
/// Of the link that others crowd.
const CROWDED_MBPS: u64 = 40;
/// A queue that is none to speak of.
const SHORT: &str = "pfifo limit 12";

pub struct Path {
    pub nodes: Vec<Host>,
    _between: Between,
    _bed: Bed,
}

impl Path {
    pub fn build(trial: &Trial) -> Result<Path, Fault> {
        let bed = Bed::new()?;
        let nodes = (0..=LINKS).map(|n| bed.host(&format!("n{n}")));
        let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
        let between = join(&bed, trial, &nodes)?;
        route(&nodes)?;
        let path = Path {
            nodes,
            _between: between,
            _bed: bed,
        };
        path.limits(trial)?;
        path.queues(trial)?;
        path.hold_answers(trial, 1)?;
        Ok(path)
    }

    pub fn first(&self) -> &Host {
        &self.nodes[0]
    }

    pub fn last(&self) -> &Host {
        &self.nodes[usize::from(LINKS)]
    }

    fn limits(&self, trial: &Trial) -> Result<(), Fault> {
        for (number, node) in (0..).zip(&self.nodes) {
            // The far end is as Linux comes: one answer a second.
            let is_limited = number == trial.limited || number == LINKS;
            node.set(
                "net/ipv4/icmp_ratelimit",
                if is_limited { "1000" } else { "0" },
            )?;
        }
        Ok(())
    }

    fn queues(&self, trial: &Trial) -> Result<(), Fault> {
        let rate = Rate::mbps(trial.rate_mbps);
        let words = buffer(trial);
        let link = match trial.holder {
            Holder::Link(link) => Some(link),
            Holder::Qdisc => Some(1),
            Holder::Device | Holder::Below => None,
        };
        if let Some(link) = link {
            let (near, far) = self.ends(link);
            if trial.direction.is_up() {
                near.bottleneck("right", &words, rate, Framing::default())?;
            }
            if trial.direction.is_down() {
                // The queue is to be this host's own.
                let is_short = trial.holder == Holder::Qdisc;
                let words = if is_short { SHORT } else { &words };
                far.bottleneck("left", words, rate, Framing::default())?;
            }
        }
        if trial.delay_ms > 0 {
            let delay = format!("netem delay {}ms limit 10000", trial.delay_ms);
            let (near, far) = self.ends(trial.delay_link);
            near.queue("right", &delay)?;
            far.queue("left", &delay)?;
        }
        let ends = self.ends(trial.crowded);
        let crowded = Rate::mbps(CROWDED_MBPS);
        for (node, device) in [(ends.0, "right"), (ends.1, "left")] {
            node.bottleneck(device, "pfifo limit 200", crowded, Framing::default())?;
        }
        Ok(())
    }

    /// Holds the answers of the slow router, and nothing else, at a node that they pass.
    pub fn hold_answers(&self, trial: &Trial, times: u64) -> Result<(), Fault> {
        if trial.slow_ms == 0 {
            return Ok(());
        }
        let node = &self.nodes[usize::from(trial.slow_at)];
        let (mean, half) = (trial.slow_ms * times, trial.slow_ms * times - 1);
        let one = "qdisc replace dev left root handle 1: prio bands 3 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0";
        let two = format!(
            "qdisc replace dev left parent 1:3 handle 30: netem delay {mean}ms {half}ms limit 1000"
        );
        let three = format!(
            "filter replace dev left parent 1: protocol ip prio 1 handle 800::1 u32 match ip src 10.0.{}.2/32 match ip protocol 1 0xff flowid 1:3",
            trial.slow
        );
        let first = times == 1;
        let lines = [one, &two, &three];
        for line in lines
            .into_iter()
            .filter(|line| first || line.contains("netem"))
        {
            tc(node, line)?;
        }
        Ok(())
    }

    pub fn ends(&self, link: u8) -> (&Host, &Host) {
        let far = usize::from(link);
        (&self.nodes[far - 1], &self.nodes[far])
    }
}

/// What tc is told in a host.
pub fn tc(host: &Host, line: &str) -> Result<(), Fault> {
    let mut command = host.command("tc")?;
    command.args(line.split(' ')).stdin(Stdio::null());
    let done = command.output()?;
    match done.status.success() {
        true => Ok(()),
        false => Err(format!("tc {line}: {}", String::from_utf8_lossy(&done.stderr)).into()),
    }
}

/// Lets a host hand what comes in at a port to all others, like a hub: not every kernel has a bridge.
pub fn hub(host: &Host, ports: &[&str]) -> Result<(), Fault> {
    for port in ports {
        tc(host, &format!("qdisc add dev {port} ingress"))?;
        let others = ports.iter().filter(|other| *other != port);
        let actions: Vec<String> = others
            .map(|other| format!("action mirred egress mirror dev {other}"))
            .collect();
        // The last takes the packet itself.
        let actions = actions.join(" ");
        let actions = match actions.rsplit_once("mirror") {
            Some((before, last)) => format!("{before}redirect{last}"),
            None => actions,
        };
        let what = "protocol all prio 1 u32 match u32 0 0";
        tc(
            host,
            &format!("filter add dev {port} parent ffff: {what} {actions}"),
        )?;
    }
    Ok(())
}

/// The queue of a trial, in the words of tc.
fn buffer(trial: &Trial) -> String {
    let bytes = trial.buffer_packets * 1514;
    match trial.is_tbf {
        true => format!("tbf rate {}mbit burst 6000 limit {bytes}", trial.rate_mbps),
        false => format!("pfifo limit {}", trial.buffer_packets),
    }
}

/// What stands on this host's link and is no hop.
enum Between {
    Nothing,
    Modem { _it: Modem },
    Box { _it: Host },
}

fn address(link: u8, last: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, link, last)
}

/// Devices and addresses.
fn join(bed: &Bed, trial: &Trial, nodes: &[Host]) -> Result<Between, Fault> {
    let mut between = Between::Nothing;
    for (link, pair) in (1..).zip(nodes.windows(2)) {
        let [near, far] = pair else {
            unreachable!("windows of two")
        };
        if link == 1 && trial.holder == Holder::Device {
            // Packets wait in the ring of the device.
            let ring = |packets: u64| Tun {
                queue_packets: packets as u32,
                ..Tun::default()
            };
            let up = near.tun("right", &ring(trial.buffer_packets))?;
            let down = far.tun("left", &ring(12))?;
            let rate = Rate::mbps(trial.rate_mbps);
            let both = trial.direction == Direction::Both;
            let modem = Modem::start(up, down, rate, both)?;
            between = Between::Modem { _it: modem };
        } else {
            if link == 1 && trial.holder == Holder::Below {
                let it = boxed(bed, trial, near, far)?;
                between = Between::Box { _it: it };
            } else {
                near.veth("right", far, "left")?;
            }
            near.offloads_off("right")?;
            far.offloads_off("left")?;
            near.neighbour("right", address(link, 2).into(), far.mac("left"))?;
            far.neighbour("left", address(link, 1).into(), near.mac("right"))?;
        }
        near.address("right", format!("{}/24", address(link, 1)).parse()?)?;
        far.address("left", format!("{}/24", address(link, 2)).parse()?)?;
    }
    Ok(between)
}

/// Joins two hosts by a box that has the queue.
fn boxed(bed: &Bed, trial: &Trial, near: &Host, far: &Host) -> Result<Host, Fault> {
    let it = bed.host("box")?;
    near.veth("right", &it, "near")?;
    far.veth("left", &it, "far")?;
    hub(&it, &["near", "far"])?;
    let rate = Rate::mbps(trial.rate_mbps);
    let ways = [
        ("far", trial.direction.is_up()),
        ("near", trial.direction.is_down()),
    ];
    for (port, _) in ways.into_iter().filter(|(_, has_queue)| *has_queue) {
        it.offloads_off(port)?;
        it.bottleneck(port, &buffer(trial), rate, Framing::default())?;
    }
    Ok(it)
}

fn route(nodes: &[Host]) -> Result<(), Fault> {
    for (number, node) in (0..).zip(nodes) {
        if number > 0 && number < LINKS {
            node.forward()?;
        }
        for link in 1..=LINKS {
            let to = format!("10.0.{link}.0/24").parse()?;
            if link > number + 1 {
                node.route(to, Route::Gateway(address(number + 1, 2).into()))?;
            } else if link < number {
                node.route(to, Route::Gateway(address(number, 1).into()))?;
            }
        }
    }
    Ok(())
}
