//! A congestion control in the kernel.

use crate::bpf;
use crate::btf::{self, Layout};
use crate::error::{ControlError, system};
use crate::object::{Object, kernel_btf};
use rustix::time::{ClockId, clock_getres};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// `struct tcp_congestion_ops`, and what the kernel keeps it in.
const OPS: &str = "tcp_congestion_ops";
const KEPT_OPS: &str = "bpf_struct_ops_tcp_congestion_ops";
/// Any user may choose it, and a namespace may have it for default (linux/net/tcp.h).
const NON_RESTRICTED: u32 = 1;
/// Longest name of a congestion control with its final zero.
const NAME_BYTES: usize = 16;
/// How often one control can be loaded at a time. The kernel warns when its list grows beyond 128 names.
const NAMES: u32 = 20;

/// A congestion control that the kernel has while this lives.
///
/// Dropping it takes the control off the kernel's list; sockets that use it keep it until they are
/// closed or choose another. The same happens when the process dies, however it dies.
#[derive(Debug)]
pub struct Loaded {
    name: String,
    /// Closing it is what takes the control off the list.
    _link: OwnedFd,
}

impl Loaded {
    /// What the kernel calls it: for TCP_CONGESTION, or `net.ipv4.tcp_congestion_control` of a
    /// namespace. `ub_vegas`, or `ub_vegas_1` if that is another process's.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn load(control: &'static str, bytes: &[u8]) -> Result<Loaded, ControlError> {
        let btf = kernel_btf()?;
        let structure = Structure::of(control, &btf)?;
        let object = Object::relocate(control, bytes, &btf, &[("hz", hz())])?;
        let mut programs = Vec::new();
        for function in object.functions() {
            let (position, offset) = structure.ops.member(function.name).ok_or_else(|| {
                let problem = format!("{OPS} has no member {}", function.name);
                ControlError::Misfit { control, problem }
            })?;
            let purpose = bpf::Purpose::Member {
                structure: structure.ops.id,
                position,
            };
            programs.push((offset, object.load(&function, purpose)?));
        }
        structure.register(control, &programs)
    }
}

struct Structure {
    ops: Layout,
    kept: Layout,
    name_at: u32,
    flags_at: u32,
    /// Where in `kept` the structure begins.
    ops_at: u32,
}

impl Structure {
    fn of(control: &'static str, kernel_btf: &[u8]) -> Result<Structure, ControlError> {
        let find = |name| {
            let missing = ControlError::NoStructOps {
                missing: name,
                control,
            };
            Layout::find(kernel_btf, name).ok_or(missing)
        };
        let (ops, kept) = (find(OPS)?, find(KEPT_OPS)?);
        let offset = |layout: &Layout, member| {
            let problem = format!("it has no member {member}");
            let found = layout.member(member).map(|(_, offset)| offset);
            found.ok_or(ControlError::Misfit { control, problem })
        };
        Ok(Structure {
            name_at: offset(&ops, "name")?,
            flags_at: offset(&ops, "flags")?,
            ops_at: offset(&kept, "data")?,
            ops,
            kept,
        })
    }

    /// Takes the first name that is free: the kernel decides, so processes cannot race.
    fn register(
        &self,
        control: &'static str,
        programs: &[(u32, OwnedFd)],
    ) -> Result<Loaded, ControlError> {
        for n in 0..NAMES {
            let name = name(control, n);
            match self.register_as(&name, control, programs) {
                Err(ControlError::System { source, .. })
                    if source.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(link) => return Ok(Loaded { name, _link: link }),
            }
        }
        Err(ControlError::NamesTaken {
            name: name(control, 0),
            tried: NAMES,
        })
    }

    fn register_as(
        &self,
        name: &str,
        control: &'static str,
        programs: &[(u32, OwnedFd)],
    ) -> Result<OwnedFd, ControlError> {
        let old = |what| {
            move |source: io::Error| match source.kind() {
                io::ErrorKind::InvalidInput => ControlError::TooOld {
                    release: release(),
                    control,
                },
                _ => system(what)(source),
            }
        };
        let types =
            bpf::load_types(&btf::smallest()).map_err(system("describing types to the kernel"))?;
        let map = bpf::create_structure(name, &self.kept, types.as_fd())
            .map_err(old("making a structure of programs"))?;
        bpf::set(map.as_fd(), &self.value(name, programs))
            .map_err(system("filling a structure of programs"))?;
        bpf::link(map.as_fd()).map_err(old("adding a congestion control to the kernel's list"))
    }

    /// The structure as the kernel wants it: programs by their descriptors, all else zero.
    fn value(&self, name: &str, programs: &[(u32, OwnedFd)]) -> Vec<u8> {
        let mut value = vec![0; self.kept.size as usize];
        let mut put = |offset: u32, bytes: &[u8]| {
            let start = (self.ops_at + offset) as usize;
            if let Some(room) = value.get_mut(start..start + bytes.len()) {
                room.copy_from_slice(bytes);
            }
        };
        put(self.name_at, name.as_bytes());
        put(self.flags_at, &NON_RESTRICTED.to_ne_bytes());
        for (offset, program) in programs {
            put(*offset, &(program.as_raw_fd() as u64).to_ne_bytes());
        }
        value
    }
}

fn name(control: &str, n: u32) -> String {
    let name = match n {
        0 => format!("ub_{control}"),
        n => format!("ub_{control}_{n}"),
    };
    debug_assert!(name.len() < NAME_BYTES);
    name
}

/// Ticks a second of the coarse clock: its resolution is one tick.
fn hz() -> u32 {
    let tick = clock_getres(ClockId::MonotonicCoarse);
    (1_000_000_000.0 / tick.tv_nsec.max(1) as f64).round() as u32
}

fn release() -> String {
    let name = rustix::system::uname();
    name.release().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_the_structure_is_said_to_lack_it() {
        let error = Structure::of("vegas", &btf::smallest()).err().unwrap();
        let text = error.to_string();
        assert!(text.contains("Linux 6.4 or newer"), "{text}");
        assert!(text.contains("modprobe tcp_vegas"), "{text}");
    }

    #[test]
    fn a_build_without_clang_says_what_to_do() {
        let error = Object::relocate("vegas", &[], &btf::smallest(), &[])
            .err()
            .unwrap();
        assert!(error.to_string().contains("tools/install build"), "{error}");
    }

    #[test]
    fn every_name_fits_the_kernel() {
        for control in crate::Control::NAMES {
            assert!(name(control, NAMES - 1).len() < NAME_BYTES, "{control}");
        }
    }
}
