//! The programs in the kernel.

use crate::counts::{Counts, Key};
use crate::error::ProbesError;
use aya::maps::{Array, HashMap, MapData, MapError, PerCpuHashMap};
use aya::programs::BtfTracePoint;
use aya::{Btf, Ebpf, EbpfLoader, Pod};
use std::collections::{BTreeMap, BTreeSet};
use tracing::debug;

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/watch.o"));

/// Attached from the beginning. What happens first is attached last, so that no packet is seen half.
const ALWAYS: [&str; 4] = [
    "kfree_skb",
    "tcp_probe",
    "net_dev_start_xmit",
    "net_dev_queue",
];
/// Fires for every packet that is received, too.
const HOLDING: &str = "consume_skb";

/// Bytes that flows may take in the kernel, on all its processors together, and how many there are at most and at least.
const MEMORY: usize = 32 << 20;
const MOST_FLOWS: usize = 4096;
const LEAST_FLOWS: usize = 256;
/// Room of the map `holding`.
const MOST_HOLDING: usize = 256;

// SAFETY: they are integers in C's order without gaps, and any integers make one.
unsafe impl Pod for Key {}
// SAFETY: as above.
unsafe impl Pod for Counts {}

/// They are taken out of the kernel when this is dropped, and when the process dies, however it dies: nothing holds them
/// but its file descriptors.
pub(crate) struct Probes {
    bpf: Ebpf,
    btf: Btf,
    flows: PerCpuHashMap<MapData, Key, Counts>,
    holding: HashMap<MapData, u32, u32>,
    any_holding: Array<MapData, u32>,
    held: BTreeSet<u32>,
    most_flows: usize,
}

impl Probes {
    /// Watches the network namespace of that inode.
    pub(crate) fn load(namespace: u32) -> Result<Probes, ProbesError> {
        if OBJECT.is_empty() {
            return Err(ProbesError::BuiltWithoutClang);
        }
        // Older kernels' verifiers refuse the cheaper way.
        Probes::load_with(namespace, true).or_else(|error| {
            debug!(%error, "programs refused; trying those for older verifiers");
            Probes::load_with(namespace, false)
        })
    }

    /// `loads_packets` is that of `bpf/packet.h`.
    pub(crate) fn load_with(namespace: u32, loads_packets: bool) -> Result<Probes, ProbesError> {
        let btf = Btf::from_sys_fs().map_err(ProbesError::NoBtf)?;
        let processors =
            aya::util::nr_cpus().map_err(|(_, source)| ProbesError::Processors(source))?;
        let most_flows = MEMORY / (processors.max(1) * size_of::<Counts>());
        let most_flows = most_flows.clamp(LEAST_FLOWS, MOST_FLOWS);
        let mut bpf = EbpfLoader::new()
            .btf(Some(&btf))
            .override_global("namespace", &namespace, true)
            .override_global("loads_packets", &u32::from(loads_packets), true)
            .map_max_entries("flows", most_flows as u32)
            .load(OBJECT)?;
        for name in ALWAYS {
            attach(&mut bpf, &btf, name)?;
        }
        let mut map = |name| bpf.take_map(name).ok_or(ProbesError::Lacks(name));
        Ok(Probes {
            flows: PerCpuHashMap::try_from(map("flows")?)?,
            holding: HashMap::try_from(map("holding")?)?,
            any_holding: Array::try_from(map("any_holding")?)?,
            bpf,
            btf,
            held: BTreeSet::new(),
            most_flows,
        })
    }

    /// From now on it is seen how long the driver of this device holds packets.
    pub(crate) fn hold(&mut self, ifindex: u32) -> Result<(), ProbesError> {
        if self.held.is_empty() {
            attach(&mut self.bpf, &self.btf, HOLDING)?;
            self.any_holding.set(0, 1, 0)?;
        }
        // Beyond the map's room devices come and go in vain; the first ones are watched.
        if self.held.insert(ifindex) && self.held.len() <= MOST_HOLDING {
            self.holding.insert(ifindex, 1, 0)?;
        }
        Ok(())
    }

    /// All that was counted of each flow. Those that sent nothing for longest are forgotten when there are too many.
    pub(crate) fn counts(&self) -> Result<BTreeMap<Key, Counts>, ProbesError> {
        let mut all = BTreeMap::new();
        // Keys that go while they are listed may begin the list anew.
        for key in self.flows.keys().take(2 * self.most_flows) {
            let key = match key {
                Ok(key) => key,
                Err(MapError::KeyNotFound) => continue,
                Err(error) => return Err(error.into()),
            };
            match self.flows.get(&key, 0) {
                Ok(values) => {
                    let mut counts = Counts::default();
                    values.iter().for_each(|part| counts.add(part));
                    all.insert(key, counts);
                }
                Err(MapError::KeyNotFound) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(all)
    }
}

fn attach(bpf: &mut Ebpf, btf: &Btf, name: &'static str) -> Result<(), ProbesError> {
    let program = bpf.program_mut(name).ok_or(ProbesError::Lacks(name))?;
    let program: &mut BtfTracePoint = program.try_into()?;
    program.load(name, btf)?;
    program.attach()?;
    Ok(())
}
