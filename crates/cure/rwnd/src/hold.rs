//! The programs in the kernel that hold windows.

use crate::error::WindowError;
use crate::flow::Flow;
use crate::law::{Kept, Params};
use aya::maps::{Array, HashMap, MapData, MapError};
use aya::programs::{CgroupAttachMode, SockOps};
use aya::{Btf, Ebpf, EbpfLoader};
use std::collections::BTreeSet;
use std::os::fd::AsFd;
use tracing::info;
use unbloat_os::clock::monotonic;
use unbloat_os::device;
use unbloat_tcp::receive_window::Config;

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/window.o"));
/// Room of the program for ports, and of its map for flows.
const MOST_PORTS: usize = 8;
const MOST_FLOWS: usize = 8_192;

/// Which connections of a cgroup, and by which law.
#[derive(Clone, Debug)]
pub struct Options {
    /// `drwa` or `rledbat`.
    pub law: Config,
    /// None: all.
    pub ports: Vec<u16>,
    pub whose: Whose,
    /// Only what is received by this device.
    pub interface: Option<String>,
}

impl Options {
    /// Fails as [`Hold::begin`] would because of the ports; changes nothing.
    pub fn check(&self) -> Result<(), WindowError> {
        ports(&self.ports).map(drop)
    }
}

/// Whose ports choose connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whose {
    Ours = 1,
    Theirs = 2,
    #[default]
    Any = 3,
}

/// Holds the windows of connections that begin while it lives. Nothing but its file descriptors keeps the programs in the kernel:
/// they go when it is dropped and when the process dies. Windows stay as they are then: see [`Hold::release`].
pub struct Hold {
    _bpf: Ebpf,
    flows: HashMap<MapData, u64, Kept>,
    release: Array<MapData, u32>,
    is_rledbat: bool,
}

impl Drop for Hold {
    fn drop(&mut self) {
        info!("receive windows are no longer held: detaching the program");
    }
}

impl Hold {
    /// Loads the programs and attaches them to a cgroup, by its folder.
    pub fn begin(cgroup: impl AsFd, options: &Options) -> Result<Hold, WindowError> {
        if OBJECT.is_empty() {
            return Err(WindowError::BuiltWithoutClang);
        }
        let params = Params::of(&options.law).ok_or(WindowError::NoLaw(options.law.name()))?;
        let ports = ports(&options.ports)?;
        let count = options.ports.len() as u32;
        let ifindex = options.interface.as_deref().map_or(Ok(0), ifindex)?;
        let btf = Btf::from_sys_fs().map_err(WindowError::NoBtf)?;
        let mut bpf = EbpfLoader::new()
            .btf(Some(&btf))
            .override_global("params", &params, true)
            .override_global("ports", &ports, true)
            .override_global("port_count", &count, true)
            .override_global("whose", &(options.whose as u32), true)
            .override_global("ifindex", &ifindex, true)
            .load(OBJECT)?;
        let program = bpf.program_mut("hold").ok_or(WindowError::Lacks("hold"))?;
        let program: &mut SockOps = program.try_into()?;
        program.load()?;
        // No flags: as a link it stands beside whatever else is attached.
        program.attach(cgroup, CgroupAttachMode::Single)?;
        info!(
            law = options.law.name(),
            ports = ?options.ports,
            interface = options.interface,
            "receive windows are held: program attached to the control group"
        );
        let mut map = |name| bpf.take_map(name).ok_or(WindowError::Lacks(name));
        Ok(Hold {
            flows: HashMap::try_from(map("flows")?)?,
            release: Array::try_from(map("release")?)?,
            _bpf: bpf,
            is_rledbat: matches!(options.law, Config::RLedbat(_)),
        })
    }

    /// All connections whose windows are held, in the order in which they began.
    pub fn flows(&self) -> Result<Vec<Flow>, WindowError> {
        let now_us = now_us();
        let mut all = Vec::new();
        // Keys that go while they are listed may begin the list anew.
        for key in self.flows.keys().take(2 * MOST_FLOWS) {
            let kept = key.and_then(|found| Ok((found, self.flows.get(&found, 0)?)));
            match kept {
                Ok((cookie, kept)) => all.push((kept.started_us, cookie, kept)),
                Err(MapError::KeyNotFound) => {}
                Err(error) => return Err(error.into()),
            }
        }
        all.sort_by_key(|(started, key, _)| (*started, *key));
        all.dedup_by_key(|(_, key, _)| *key);
        let flows = all.iter().filter(|(_, _, kept)| kept.version != 0);
        Ok(flows
            .map(|(_, _, kept)| Flow::of(kept, self.is_rledbat, now_us))
            .collect())
    }

    /// Lets windows go: each connection with the next segment that it sends.
    pub fn release(&mut self) -> Result<(), WindowError> {
        info!("releasing receive windows");
        Ok(self.release.set(0, 1, 0)?)
    }

    /// Cookies of the sockets whose windows are still held; none: the program cannot be asked.
    pub fn cookies(&self) -> Option<BTreeSet<u64>> {
        let keys = self.flows.keys().take(2 * MOST_FLOWS);
        keys.filter(|key| !matches!(key, Err(MapError::KeyNotFound)))
            .collect::<Result<_, _>>()
            .ok()
    }
}

pub(crate) fn ports(chosen: &[u16]) -> Result<[u32; MOST_PORTS], WindowError> {
    let mut ports = [0; MOST_PORTS];
    if chosen.len() > MOST_PORTS {
        return Err(WindowError::Ports {
            count: chosen.len(),
            most: MOST_PORTS,
        });
    }
    for (port, number) in ports.iter_mut().zip(chosen) {
        *port = u32::from(*number);
    }
    Ok(ports)
}

fn ifindex(name: &str) -> Result<u32, WindowError> {
    device::index(name).map_err(|_| WindowError::NoDevice(name.to_owned()))
}

/// The clock of the programs.
pub(crate) fn now_us() -> u64 {
    monotonic().as_ns().unsigned_abs() / 1_000
}
