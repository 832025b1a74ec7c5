//! From a compiled object to programs that the running kernel takes.

use crate::bpf;
use crate::error::{ControlError, system};
use aya_obj::btf::Btf;
use aya_obj::generated::bpf_insn;
use aya_obj::{Map, Object as Elf};
use std::collections::{HashMap, HashSet};
use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

const BTF_PATH: &str = "/sys/kernel/btf/vmlinux";
/// A map of constants that programs cannot write either (linux/bpf.h BPF_F_RDONLY_PROG).
const READ_ONLY: u32 = 1 << 7;

/// The kernel's description of its types.
pub(crate) fn kernel_btf() -> Result<Vec<u8>, ControlError> {
    std::fs::read(BTF_PATH).map_err(|source| ControlError::NoBtf {
        path: BTF_PATH,
        source,
    })
}

/// Programs whose offsets and maps are those of the running kernel.
pub(crate) struct Object {
    control: &'static str,
    elf: Elf,
    /// Programs hold maps once they are loaded; until then we do.
    _maps: Vec<OwnedFd>,
}

/// A program's instructions and name.
pub(crate) struct Function<'a> {
    pub name: &'a str,
    pub instructions: &'a [bpf_insn],
}

impl Object {
    /// `constants` are set in the object first, by name.
    pub(crate) fn relocate(
        control: &'static str,
        bytes: &[u8],
        kernel_btf: &[u8],
        constants: &[(&str, u32)],
    ) -> Result<Object, ControlError> {
        if bytes.is_empty() {
            return Err(ControlError::BuiltWithoutClang { control });
        }
        let misfit = |problem: String| ControlError::Misfit { control, problem };
        // A copy is aligned as its parser wants it.
        let aligned = bytes.to_vec();
        let mut elf = Elf::parse(&aligned).map_err(|e| misfit(e.to_string()))?;
        let values: Vec<_> = constants.iter().map(|(_, v)| v.to_ne_bytes()).collect();
        let named = constants.iter().zip(&values);
        let named: HashMap<_, _> = named.map(|((n, _), v)| (*n, (&v[..], true))).collect();
        elf.patch_map_data(named)
            .map_err(|e| misfit(e.to_string()))?;
        let target = Btf::parse(kernel_btf, elf.endianness).map_err(|e| ControlError::Btf {
            problem: e.to_string(),
        })?;
        elf.relocate_btf(&target).map_err(|e| misfit(chain(&e)))?;
        let maps = elf.maps.clone();
        let fds = maps.iter().map(|(name, map)| create_map(name, map));
        let fds: Vec<OwnedFd> = fds.collect::<Result<_, _>>()?;
        let opened = maps.iter().zip(&fds);
        let opened = opened.map(|((name, map), fd)| (name.as_str(), fd.as_raw_fd(), map));
        elf.relocate_maps(opened, &HashSet::new())
            .map_err(|e| misfit(chain(&e)))?;
        Ok(Object {
            control,
            elf,
            _maps: fds,
        })
    }

    pub(crate) fn functions(&self) -> impl Iterator<Item = Function<'_>> {
        let mut names: Vec<&String> = self.elf.programs.keys().collect();
        names.sort();
        names.into_iter().filter_map(|name| {
            let function = self
                .elf
                .functions
                .get(&self.elf.programs[name].function_key())?;
            Some(Function {
                name,
                instructions: &function.instructions,
            })
        })
    }

    pub(crate) fn load(
        &self,
        function: &Function<'_>,
        purpose: bpf::Purpose,
    ) -> Result<OwnedFd, ControlError> {
        let license: &CString = &self.elf.license;
        let program = bpf::Program {
            purpose,
            name: &format!("ub_{}", function.name),
            instructions: function.instructions,
            license,
        };
        bpf::load(&program).map_err(|(source, log)| match source.kind() {
            std::io::ErrorKind::PermissionDenied if log.is_empty() => ControlError::Privilege,
            _ => ControlError::Refused {
                control: self.control,
                hook: function.name.to_owned(),
                source,
                log: tail(&log),
            },
        })
    }
}

/// Constants and variables of the programs are maps of one value each.
fn create_map(name: &str, map: &Map) -> Result<OwnedFd, ControlError> {
    let is_constant = name.starts_with(".rodata");
    let flags = if is_constant { READ_ONLY } else { 0 };
    let name = format!("ub_{}", name.trim_start_matches('.'));
    let create = || {
        let fd = bpf::create_array(&name, map.value_size(), flags)?;
        if is_constant {
            bpf::set(fd.as_fd(), map.data())?;
            bpf::freeze(fd.as_fd())?;
        }
        Ok(fd)
    };
    create().map_err(system("making a map of constants and variables"))
}

fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |e| e.source());
    causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

/// The last lines, which say why.
fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.trim_end().lines().collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}
