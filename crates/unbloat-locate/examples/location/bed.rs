//! Five routers in a row, with what a trial puts on the path.
//!
//! Node 0 is this host, 1 to 5 are routers, 6 is the far end. Link k joins node k-1 (device `right`) and
//! node k (device `left`); its network is 10.0.k.0/24, the nearer end .1, the farther .2.

use crate::modem::Modem;
use crate::trial::{Direction, Holder, LINKS, Trial};
use std::net::Ipv4Addr;
use std::process::Stdio;
use unbloat_bed::tc::Framing;
use unbloat_bed::{Bed, Host, Route, Tun};
use unbloat_units::Rate;

pub type Fault = Box<dyn std::error::Error + Send + Sync>;

pub const FAR_END: Ipv4Addr = Ipv4Addr::new(10, 0, LINKS, 2);
/// Of the link that others crowd.
const CROWDED_MBPS: u64 = 40;
/// A queue that is none to speak of.
const SHORT: &str = "pfifo limit 12";

pub struct Path {
    pub nodes: Vec<Host>,
    _modem: Option<Modem>,
    _bed: Bed,
}

impl Path {
    pub fn build(trial: &Trial) -> Result<Path, Fault> {
        let bed = Bed::new()?;
        let nodes = (0..=LINKS).map(|n| bed.host(&format!("n{n}")));
        let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
        let modem = join(trial, &nodes)?;
        route(&nodes)?;
        let path = Path {
            nodes,
            _modem: modem,
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
            node.set("net/ipv4/tcp_congestion_control", "cubic")?;
        }
        Ok(())
    }

    fn queues(&self, trial: &Trial) -> Result<(), Fault> {
        let rate = Rate::mbps(trial.rate_mbps);
        let bytes = trial.buffer_packets * 1514;
        let words = match trial.is_tbf {
            true => format!("tbf rate {}mbit burst 6000 limit {bytes}", trial.rate_mbps),
            false => format!("pfifo limit {}", trial.buffer_packets),
        };
        let link = match trial.holder {
            Holder::Link(link) => Some(link),
            Holder::Qdisc => Some(1),
            Holder::Device => None,
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
        let delay = format!("netem delay {}ms limit 10000", trial.delay_ms);
        let (near, far) = self.ends(trial.delay_link);
        near.queue("right", &delay)?;
        far.queue("left", &delay)?;
        let ends = self.ends(trial.crowded);
        let crowded = Rate::mbps(CROWDED_MBPS);
        for (node, device) in [(ends.0, "right"), (ends.1, "left")] {
            node.bottleneck(device, "pfifo limit 200", crowded, Framing::default())?;
        }
        Ok(())
    }

    /// Holds the answers of the slow router, and nothing else, at a node that they pass.
    pub fn hold_answers(&self, trial: &Trial, times: u64) -> Result<(), Fault> {
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
            let mut command = node.command("tc")?;
            command.args(line.split(' ')).stdin(Stdio::null());
            let done = command.output()?;
            if !done.status.success() {
                let said = String::from_utf8_lossy(&done.stderr).into_owned();
                return Err(format!("tc {line}: {said}").into());
            }
        }
        Ok(())
    }

    pub fn ends(&self, link: u8) -> (&Host, &Host) {
        let far = usize::from(link);
        (&self.nodes[far - 1], &self.nodes[far])
    }
}

fn address(link: u8, last: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, link, last)
}

/// Devices and addresses.
fn join(trial: &Trial, nodes: &[Host]) -> Result<Option<Modem>, Fault> {
    let mut modem = None;
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
            modem = Some(Modem::start(up, down, rate, both)?);
        } else {
            near.veth("right", far, "left")?;
            near.offloads_off("right")?;
            far.offloads_off("left")?;
            near.neighbour("right", address(link, 2).into(), far.mac("left"))?;
            far.neighbour("left", address(link, 1).into(), near.mac("right"))?;
        }
        near.address("right", format!("{}/24", address(link, 1)).parse()?)?;
        far.address("left", format!("{}/24", address(link, 2)).parse()?)?;
    }
    Ok(modem)
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
