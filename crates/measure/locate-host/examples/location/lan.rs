//! A local network with a peer: a link of this host's own (Wi-Fi's part) and an access line, of which one has
//! a queue each way.
//!
//! ```text
//! host ── access point ── gateway ── server
//!              └── peer
//! ```

use crate::bed::{Fault, hub, tc};
use crate::traffic::Bulk;
use crate::trial::Judged;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use unbloat_locate::{Confidence, Finding, Layer, Node, Phase, Verdict};
use unbloat_locate_host::{Located, Options};
use unbloat_netns::tc::Framing;
use unbloat_netns::{Bed, Host, Route};
use unbloat_units::Rate;

const HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 1);
const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 2);
const PEER: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 3);
const OUTSIDE: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);
const RATE: Rate = Rate::mbps(10);
/// 120 ms of the rate.
const QUEUE: &str = "pfifo limit 100";

/// Which link has the queue, at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bottleneck {
    Own,
    Access,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Lan {
    pub bottleneck: Bottleneck,
    pub is_gateway_silent: bool,
}

struct Home {
    host: Host,
    access_point: Host,
    gateway: Host,
    _peer: Host,
    server: Host,
    _bed: Bed,
}

impl Lan {
    /// Down and up: what came of each, and all that was said.
    pub fn outcome(&self) -> Result<(Vec<Judged>, Located), Fault> {
        let home = Home::build(self)?;
        let mut options = Options::new(SERVER.into());
        options.peer = Some(PEER.into());
        (options.idle, options.loaded) = (Duration::from_secs(3), Duration::from_secs(3));
        let mut bulk = Bulk::new(&home.host, &home.server, SERVER)?;
        let never = AtomicBool::new(false);
        let run = || unbloat_locate_host::run(&options, &mut bulk, &mut |_| {}, &never);
        let located = home.host.within(run)??;
        let judged = located.verdicts.iter().map(|one| self.judge(one));
        Ok((judged.collect(), located))
    }

    fn judge(&self, verdict: &Verdict) -> Judged {
        let Finding::Queue {
            step,
            confidence,
            layer,
            ..
        } = &verdict.finding
        else {
            return match verdict.finding {
                Finding::NoQueue { .. } => Judged::CertainlyWrong,
                _ => Judged::Inconclusive,
            };
        };
        let (from, to) = (step.place.from, step.place.to);
        let peer = Node::Peer(PEER.into());
        let is_right = match self.bottleneck {
            Bottleneck::Own => {
                let in_qdisc = verdict.load == Phase::Up;
                (from, to) == (Node::ThisHost, peer) && *layer == in_qdisc.then_some(Layer::Qdisc)
            }
            Bottleneck::Access => {
                let near = match self.is_gateway_silent {
                    true => peer,
                    false => Node::Hop(1, GATEWAY.into()),
                };
                (from, to) == (near, Node::FarEnd(2, SERVER.into()))
            }
        };
        match (is_right, confidence) {
            (true, _) => Judged::Right,
            (false, Confidence::Likely) => Judged::Wrong,
            (false, Confidence::Certain) => Judged::CertainlyWrong,
        }
    }
}

impl Home {
    fn build(lan: &Lan) -> Result<Home, Fault> {
        let bed = Bed::new()?;
        let home = Home {
            host: bed.host("host")?,
            access_point: bed.host("ap")?,
            gateway: bed.host("gateway")?,
            _peer: bed.host("peer")?,
            server: bed.host("server")?,
            _bed: bed,
        };
        home.join()?;
        hub(&home.access_point, &["host", "gateway", "peer"])?;
        home.gateway.set("net/ipv4/icmp_ratelimit", "0")?;
        if lan.is_gateway_silent {
            // What it sends itself gets lost; what it hands on does not.
            let at = format!(
                "filter add dev left parent 1: protocol ip prio 1 u32 match ip src {GATEWAY}/32 match ip protocol 1 0xff flowid 1:3"
            );
            tc(
                &home.gateway,
                "qdisc replace dev left root handle 1: htb default 1",
            )?;
            tc(
                &home.gateway,
                "class add dev left parent 1: classid 1:1 htb rate 1gbit",
            )?;
            tc(
                &home.gateway,
                "class add dev left parent 1: classid 1:3 htb rate 1gbit",
            )?;
            tc(&home.gateway, "qdisc add dev left parent 1:3 bfifo limit 1")?;
            tc(&home.gateway, &at)?;
        }
        let (near, far) = match lan.bottleneck {
            Bottleneck::Own => ((&home.host, "right"), (&home.access_point, "host")),
            Bottleneck::Access => ((&home.gateway, "right"), (&home.server, "left")),
        };
        for (node, device) in [near, far] {
            node.bottleneck(device, QUEUE, RATE, Framing::default())?;
        }
        Ok(home)
    }

    fn join(&self) -> Result<(), Fault> {
        let point = &self.access_point;
        let local = [
            (&self.host, "right", "host", HOST),
            (&self.gateway, "left", "gateway", GATEWAY),
            (&self._peer, "left", "peer", PEER),
        ];
        for (node, device, port, address) in local {
            node.veth(device, point, port)?;
            node.offloads_off(device)?;
            point.offloads_off(port)?;
            node.address(device, format!("{address}/24").parse()?)?;
        }
        self.gateway.veth("right", &self.server, "left")?;
        self.gateway.offloads_off("right")?;
        self.server.offloads_off("left")?;
        self.gateway
            .address("right", format!("{OUTSIDE}/24").parse()?)?;
        self.server
            .address("left", format!("{SERVER}/24").parse()?)?;
        self.gateway.forward()?;
        let outside = "10.0.2.0/24".parse()?;
        self.host
            .route(outside, Route::Gateway(IpAddr::V4(GATEWAY)))?;
        let inside = "10.0.1.0/24".parse()?;
        self.server
            .route(inside, Route::Gateway(IpAddr::V4(OUTSIDE)))?;
        Ok(())
    }
}
