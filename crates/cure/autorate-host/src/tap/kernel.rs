//! In the kernel: the programs of `bpf/`, and what came of what they saw.

use super::Ear;
use crate::clock;
use crate::error::{KernelError, SteerError};
use aya::maps::{MapData, PerCpuArray, RingBuf};
use aya::programs::tc::TcAttachOptions;
use aya::programs::{BtfTracePoint, LinkOrder, Program, SchedClassifier, TcAttachType};
use aya::{Btf, Ebpf, EbpfLoader, Pod};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::thread::sleep;
use std::time::Duration;
use unbloat_autorate::{Heard, Tally};
use unbloat_capture::{CaptureError, Interface};
use unbloat_units::{Delta, Time};
use unbloat_wire::LinkType;

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tap.o"));

/// Between two looks: as finely as the law tells times of bytes apart.
const EVERY: Duration = Duration::from_millis(5);
/// How often it is made sure that the interface is still there.
const CHECK: Delta = Delta::secs(1);
/// Of `struct heard`, told at once: as many as the ring holds. What comes meanwhile is told the next time.
const AT_ONCE: usize = 8_192;

/// `struct tally` of `bpf/tap.bpf.c`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Counts {
    came: u64,
    left: u64,
    unanswered: u64,
    called_for: u64,
    acked: u64,
}

// SAFETY: integers of one size, and any integers make one.
unsafe impl Pod for Counts {}

/// Nothing but file descriptors of this process keeps the programs in the kernel.
pub(super) struct Kernel {
    _bpf: Ebpf,
    tallies: PerCpuArray<MapData, Counts>,
    told: RingBuf<MapData>,
    interface: String,
    index: u32,
    /// All that passed until the last look, and its time.
    seen: Tally,
    looked: Time,
    checked: Time,
}

impl Kernel {
    pub(super) fn open(interface: &str) -> Result<Kernel, KernelError> {
        if OBJECT.is_empty() {
            return Err(KernelError::BuiltWithoutClang);
        }
        let found = Interface::named(interface)?;
        let link_bytes: u32 = match found.link {
            LinkType::Ethernet => 14,
            _ => 0,
        };
        let btf = Btf::from_sys_fs().map_err(KernelError::NoBtf)?;
        let mut bpf = EbpfLoader::new()
            .btf(Some(&btf))
            .override_global("ifindex", &found.index, true)
            .override_global("namespace", &namespace()?, true)
            .override_global("link_bytes", &link_bytes, true)
            .load(OBJECT)?;
        attach(&mut bpf, &btf, interface)?;
        let mut map = |name| bpf.take_map(name).ok_or(KernelError::Lacks(name));
        Ok(Kernel {
            tallies: PerCpuArray::try_from(map("tallies")?)?,
            told: RingBuf::try_from(map("told")?)?,
            _bpf: bpf,
            interface: interface.to_owned(),
            index: found.index,
            seen: Tally::default(),
            looked: clock::now(),
            checked: clock::now(),
        })
    }

    pub(super) fn tell(&mut self, ear: &mut dyn Ear) -> Result<(), SteerError> {
        sleep(EVERY);
        let now = clock::now();
        self.is_there(now)?;
        for _ in 0..AT_ONCE {
            let Some((at, heard)) = self.told.next().and_then(|item| read(&item)) else {
                break;
            };
            ear.heard(at, &heard);
        }
        let all = self.tally().map_err(KernelError::from)?;
        ear.passed(self.looked, &since(&all, &self.seen));
        (self.seen, self.looked) = (all, now);
        Ok(())
    }

    /// All processors together.
    fn tally(&self) -> Result<Tally, aya::maps::MapError> {
        let mut sum = Tally::default();
        for part in self.tallies.get(&0, 0)?.iter() {
            sum += Tally {
                came: part.came,
                left: part.left,
                unanswered: part.unanswered,
                called_for: part.called_for,
                acked: part.acked,
            };
        }
        Ok(sum)
    }

    /// Programs on an interface that is gone see nothing, and say nothing of it.
    fn is_there(&mut self, now: Time) -> Result<(), SteerError> {
        if now.since(self.checked) < CHECK {
            return Ok(());
        }
        self.checked = now;
        let interface = self.interface.clone();
        match Interface::named(&interface)?.index == self.index {
            true => Ok(()),
            false => Err(CaptureError::NoInterface { interface }.into()),
        }
    }
}

fn attach(bpf: &mut Ebpf, btf: &Btf, interface: &str) -> Result<(), KernelError> {
    let leaves: &mut BtfTracePoint = program(bpf, "leaves")?.try_into()?;
    leaves.load("net_dev_start_xmit", btf)?;
    leaves.attach()?;
    let came: &mut SchedClassifier = program(bpf, "came")?.try_into()?;
    came.load()?;
    // Filters of older kernels outlive the process that puts them there: they are not used. First: before others redirect.
    let first = TcAttachOptions::TcxOrder(LinkOrder::first());
    came.attach_with_options(interface, TcAttachType::Ingress, first)?;
    Ok(())
}

fn program<'b>(bpf: &'b mut Ebpf, name: &'static str) -> Result<&'b mut Program, KernelError> {
    bpf.program_mut(name).ok_or(KernelError::Lacks(name))
}

/// `struct heard` of `bpf/tap.bpf.c`, whose clock is ours.
fn read(bytes: &[u8]) -> Option<(Time, Heard)> {
    let number = |at: usize| Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
    let time = |ns: u64| Time::from_ns(i64::try_from(ns).unwrap_or(i64::MAX));
    let sent = Some(number(16)?).filter(|ns| *ns != 0);
    let value = u32::from_ne_bytes(*bytes.get(24..)?.first_chunk()?);
    let heard = Heard {
        flow: number(8)?,
        value,
        sent: sent.map(time),
    };
    Some((time(number(0)?), heard))
}

fn since(all: &Tally, before: &Tally) -> Tally {
    Tally {
        came: all.came.saturating_sub(before.came),
        left: all.left.saturating_sub(before.left),
        unanswered: all.unanswered.saturating_sub(before.unanswered),
        called_for: all.called_for.saturating_sub(before.called_for),
        acked: all.acked.saturating_sub(before.acked),
    }
}

/// The inode of the calling thread's network namespace.
fn namespace() -> Result<u32, KernelError> {
    let found = fs::metadata("/proc/thread-self/ns/net").map_err(KernelError::Namespace)?;
    Ok(found.ino() as u32)
}
