//! The programs in the kernel of a router that lower the windows that others offer.

use crate::error::WindowError;
use crate::flow::{self, Flow};
use crate::hold::ports;
use crate::law::{Params, RouteKey, Routed};
use aya::maps::{HashMap, MapData, MapError};
use aya::programs::{SchedClassifier, TcAttachType};
use aya::{Btf, Ebpf, EbpfLoader};
use tracing::{debug, info};
use unbloat_tcp::receive_window::Config;
use unbloat_units::{Bytes, Delta};

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/router.o"));
/// Room of the map for flows.
const MOST_FLOWS: usize = 8_192;

/// Lowers windows of forwarded connections that begin while it lives. Nothing but its file descriptors keeps the programs in the
/// kernel (Linux 6.6 and newer), and nothing of them is in the connections: when they go, hosts offer what they did.
pub struct Router {
    _bpf: Ebpf,
    routes: HashMap<MapData, RouteKey, Routed>,
}

impl Drop for Router {
    fn drop(&mut self) {
        info!("receive windows are no longer held: detaching the programs");
    }
}

impl Router {
    /// For the hosts behind a device. `ports`: of either end; none: all.
    pub fn begin(device: &str, law: &Config, chosen: &[u16]) -> Result<Router, WindowError> {
        if OBJECT.is_empty() {
            return Err(WindowError::BuiltWithoutClang);
        }
        let Config::Drwa(_) = law else {
            return Err(WindowError::NotRouted(law.name()));
        };
        let params = Params::of(law).ok_or(WindowError::NoLaw(law.name()))?;
        let numbers = ports(chosen)?;
        let count = chosen.len() as u32;
        let btf = Btf::from_sys_fs().map_err(WindowError::NoBtf)?;
        let mut bpf = EbpfLoader::new()
            .btf(Some(&btf))
            .override_global("params", &params, true)
            .override_global("ports", &numbers, true)
            .override_global("port_count", &count, true)
            .load(OBJECT)?;
        for (name, direction) in [
            ("down", TcAttachType::Egress),
            ("up", TcAttachType::Ingress),
        ] {
            let program = bpf.program_mut(name).ok_or(WindowError::Lacks(name))?;
            let program: &mut SchedClassifier = program.try_into()?;
            program.load()?;
            program.attach(device, direction)?;
            debug!(device, program = name, "program attached");
        }
        info!(device, law = law.name(), ports = ?chosen, "receive windows of hosts behind the device are held");
        let map = bpf.take_map("routes").ok_or(WindowError::Lacks("routes"))?;
        Ok(Router {
            routes: HashMap::try_from(map)?,
            _bpf: bpf,
        })
    }

    /// All connections whose handshakes were seen, in the order in which they began.
    pub fn flows(&self) -> Result<Vec<Flow>, WindowError> {
        let now_us = crate::hold::now_us();
        let mut all = Vec::new();
        for key in self.routes.keys().take(2 * MOST_FLOWS) {
            let kept = key.and_then(|found| Ok((found, self.routes.get(&found, 0)?)));
            match kept {
                Ok(whole) => all.push(whole),
                Err(MapError::KeyNotFound) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let mut flows: Vec<_> = all.iter().filter(|(_, kept)| kept.is_known != 0).collect();
        flows.sort_by_key(|(key, kept)| (kept.started_us, key.host, key.host_port, key.sender));
        flows.dedup_by_key(|(key, _)| (key.host, key.host_port, key.sender, key.sender_port));
        Ok(flows
            .iter()
            .map(|(key, kept)| of(key, kept, now_us))
            .collect())
    }
}

fn of(key: &RouteKey, kept: &Routed, now_us: u64) -> Flow {
    let law = &kept.drwa;
    let least = law.min_rtt_us.iter().min().copied();
    Flow {
        local: flow::address(key.version, key.host, key.host_port),
        remote: flow::address(key.version, key.sender, key.sender_port),
        ifindex: None,
        age: flow::us(now_us.saturating_sub(kept.started_us)),
        received: Bytes::new(kept.received),
        window: Bytes::new(kept.window.into()),
        cwnd_estimate: (law.cwnd_estimate != 0).then(|| Bytes::new(law.cwnd_estimate)),
        rtt: (law.rtt_us8 != 0).then(|| flow::us(law.rtt_us8 / 8)),
        last_rtt: (kept.rtt_us != 0).then(|| Delta::us(kept.rtt_us.into())),
        least_rtt: least
            .filter(|us| *us != u32::MAX)
            .map(|us| Delta::us(us.into())),
        has_timestamps: kept.has_timestamps != 0,
        dips: law.dips,
        is_dipping: law.dip_end_us != 0,
    }
}
