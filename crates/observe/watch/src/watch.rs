//! Looks at this host again and again.

use crate::account::{Account, Sight};
use crate::counts::{Counts, Key};
use crate::devices::Devices;
use crate::error::{ProbesError, WatchError};
use crate::flow::{Filter, Flow};
use crate::layers::Layers;
use crate::probes::Probes;
use crate::process::{Processes, namespace};
use crate::sockets::{SocketState, Sockets};
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::time::Instant;
use tracing::{info, trace};
use unbloat_units::{Delta, Time};

/// Sockets of which is remembered how far they were.
const MOST_SOCKETS: usize = 16_384;

/// What to watch, and how.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub filter: Filter,
    /// Measure by the kernel's statistics even if it would take programs.
    pub without_bpf: bool,
}

/// The network namespace in which it was opened, watched. Each look is of the time since the last one.
///
/// What it has put into the kernel goes when this is dropped, and when the process dies, however it dies.
pub struct Watch {
    filter: Filter,
    opened: Instant,
    probes: Result<Probes, Blind>,
    sockets: Sockets,
    devices: Devices,
    processes: Processes,
    account: Account,
}

/// Why nothing is measured within the kernel.
#[derive(Debug)]
pub enum Blind {
    /// It was not wanted.
    Unwanted,
    /// It is not possible.
    Refused(ProbesError),
}

impl std::fmt::Display for Blind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Blind::Unwanted => f.write_str("as requested"),
            Blind::Refused(error) => error.fmt(f),
        }
    }
}

impl Watch {
    /// Begins to watch the calling thread's network namespace. If the kernel takes no programs, [`Watch::blind`] says why, and
    /// what would be measured is estimated.
    pub fn open(options: &Options) -> Result<Watch, WatchError> {
        let inode = namespace().map_err(asking("this namespace"))?;
        let probes = match options.without_bpf {
            true => Err(Blind::Unwanted),
            false => Probes::load(inode).map_err(Blind::Refused),
        };
        match &probes {
            Ok(_) => info!(namespace = inode, "programs in the kernel measure waits"),
            Err(why) => info!(namespace = inode, %why, "waits are estimated from statistics"),
        }
        let mut watch = Watch {
            filter: options.filter.clone(),
            opened: Instant::now(),
            probes,
            sockets: Sockets::open().map_err(asking("its sockets"))?,
            devices: Devices::open().map_err(asking("its devices"))?,
            processes: Processes::default(),
            account: Account::default(),
        };
        watch.look()?;
        Ok(watch)
    }

    /// Why layers are estimated rather than measured; none if they are measured.
    pub fn blind(&self) -> Option<&Blind> {
        self.probes.as_ref().err()
    }

    /// All that happened since the last look, or since it was opened.
    pub fn look(&mut self) -> Result<Layers, WatchError> {
        let devices = self.devices.all().map_err(asking("its devices"))?;
        let counted = match &mut self.probes {
            Ok(probes) => {
                for (index, _) in devices.iter().filter(|(_, device)| device.is_end) {
                    probes.hold(*index)?;
                }
                Some(probes.counts()?)
            }
            Err(_) => None,
        };
        let sight = Sight {
            sockets: self.sockets(counted.as_ref())?,
            at: Time::from_ns(0) + since(self.opened),
            devices,
            counted,
        };
        let ways = &self.devices;
        let mut known = BTreeMap::new();
        let way = |to| *known.entry(to).or_insert_with(|| ways.way(to));
        let mut layers = self.account.settle(sight, &self.filter, way);
        self.name(&mut layers);
        trace!(flows = layers.flows.len(), "looked");
        Ok(layers)
    }

    /// Of flows that are counted, and all of UDP; without programs, as many as can be remembered.
    fn sockets(
        &self,
        counted: Option<&BTreeMap<Key, Counts>>,
    ) -> Result<BTreeMap<Flow, SocketState>, WatchError> {
        let flows = counted.map(|counted| counted.keys().map(Key::flow).collect::<HashSet<_>>());
        let mut sockets = BTreeMap::new();
        let take = |state: SocketState| {
            let is_wanted = flows
                .as_ref()
                .is_none_or(|flows| flows.contains(&state.flow));
            if (is_wanted || state.tcp.is_none()) && sockets.len() < MOST_SOCKETS {
                sockets.insert(state.flow, state);
            }
        };
        self.sockets.each(take).map_err(asking("its sockets"))?;
        Ok(sockets)
    }

    /// Says whose flows they are.
    fn name(&mut self, layers: &mut Layers) {
        let account = &self.account;
        let inodes: Vec<_> = layers
            .flows
            .iter()
            .map(|layers| account.inode(&layers.flow))
            .collect();
        self.processes
            .find(&inodes.iter().flatten().copied().collect());
        for (flow, inode) in layers.flows.iter_mut().zip(inodes) {
            flow.process = inode.and_then(|inode| self.processes.of(inode)).cloned();
        }
    }
}

fn since(start: Instant) -> Delta {
    Delta::ns(i64::try_from(start.elapsed().as_nanos()).unwrap_or(i64::MAX))
}

fn asking(what: &'static str) -> impl FnOnce(io::Error) -> WatchError {
    move |source| WatchError::Netlink { what, source }
}
