//! The system call `bpf(2)`, as far as it is needed here.

use crate::btf::Layout;
use aya_obj::generated::{
    bpf_attach_type, bpf_attr, bpf_cmd, bpf_insn, bpf_map_type, bpf_prog_type,
};
use std::ffi::{CStr, c_char};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

const LOG_BYTES: usize = 1 << 20;

/// What a program is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// To be a member, by position, of a structure of the kernel's, by number.
    Member { structure: u32, position: u32 },
    /// To be run by [`run`].
    #[cfg(test)]
    #[allow(dead_code, reason = "for tests/replay.rs")]
    Replay,
}

pub(crate) struct Program<'a> {
    pub purpose: Purpose,
    pub name: &'a str,
    pub instructions: &'a [bpf_insn],
    pub license: &'a CStr,
}

/// Loads a program; if the kernel refuses it, the second of the error is what it says.
pub(crate) fn load(program: &Program<'_>) -> Result<OwnedFd, (io::Error, String)> {
    if let Ok(fd) = load_logged(program, &mut []) {
        return Ok(fd);
    }
    let mut log = vec![0; LOG_BYTES];
    load_logged(program, &mut log).map_err(|error| {
        let end = log.iter().position(|&b| b == 0).unwrap_or(log.len());
        (error, String::from_utf8_lossy(&log[..end]).into_owned())
    })
}

fn load_logged(program: &Program<'_>, log: &mut [u8]) -> io::Result<OwnedFd> {
    let mut attr = zeroed();
    // SAFETY: this is the part of the union that the command reads; it was zeroed.
    let load = unsafe { &mut attr.__bindgen_anon_3 };
    match program.purpose {
        Purpose::Member {
            structure,
            position,
        } => {
            load.prog_type = bpf_prog_type::BPF_PROG_TYPE_STRUCT_OPS as u32;
            load.attach_btf_id = structure;
            load.expected_attach_type = position;
        }
        #[cfg(test)]
        Purpose::Replay => {
            load.prog_type = bpf_prog_type::BPF_PROG_TYPE_SYSCALL as u32;
            const SLEEPABLE: u32 = 1 << 4;
            load.prog_flags = SLEEPABLE;
        }
    }
    load.insns = program.instructions.as_ptr().addr() as u64;
    load.insn_cnt = program.instructions.len() as u32;
    load.license = program.license.as_ptr().addr() as u64;
    load.prog_name = object_name(program.name);
    if !log.is_empty() {
        load.log_level = 1;
        load.log_buf = log.as_mut_ptr().addr() as u64;
        load.log_size = log.len() as u32;
    }
    call_for_fd(bpf_cmd::BPF_PROG_LOAD, &mut attr)
}

/// A map of one value of so many bytes, for programs' constants and variables.
pub(crate) fn create_array(name: &str, bytes: u32, flags: u32) -> io::Result<OwnedFd> {
    let mut attr = zeroed();
    // SAFETY: this is the part of the union that the command reads; it was zeroed.
    let map = unsafe { &mut attr.__bindgen_anon_1 };
    map.map_type = bpf_map_type::BPF_MAP_TYPE_ARRAY as u32;
    map.key_size = 4;
    map.value_size = bytes;
    map.max_entries = 1;
    map.map_flags = flags;
    map.map_name = object_name(name);
    call_for_fd(bpf_cmd::BPF_MAP_CREATE, &mut attr)
}

/// A map of one structure of the kernel's, to be put to use by a link and to go with it. `types` is a
/// description of types, which the kernel wants for any map that has a type.
pub(crate) fn create_structure(
    name: &str,
    structure: &Layout,
    types: BorrowedFd<'_>,
) -> io::Result<OwnedFd> {
    // linux/bpf.h BPF_F_LINK.
    const LINK: u32 = 1 << 13;
    let mut attr = zeroed();
    // SAFETY: this is the part of the union that the command reads; it was zeroed.
    let map = unsafe { &mut attr.__bindgen_anon_1 };
    map.map_type = bpf_map_type::BPF_MAP_TYPE_STRUCT_OPS as u32;
    map.key_size = 4;
    map.value_size = structure.size;
    map.max_entries = 1;
    map.map_flags = LINK;
    map.map_name = object_name(name);
    map.btf_fd = types.as_raw_fd() as u32;
    map.btf_vmlinux_value_type_id = structure.id;
    call_for_fd(bpf_cmd::BPF_MAP_CREATE, &mut attr)
}

/// Gives the kernel a description of types.
pub(crate) fn load_types(btf: &[u8]) -> io::Result<OwnedFd> {
    let mut attr = zeroed();
    // SAFETY: this is the part of the union that the command reads; it was zeroed.
    let load = unsafe { &mut attr.__bindgen_anon_7 };
    load.btf = btf.as_ptr().addr() as u64;
    load.btf_size = btf.len() as u32;
    call_for_fd(bpf_cmd::BPF_BTF_LOAD, &mut attr)
}

/// Sets the value of a map of one; `value` is as long as the map was told.
pub(crate) fn set(map: BorrowedFd<'_>, value: &[u8]) -> io::Result<()> {
    let key = 0u32;
    let mut attr = zeroed();
    // SAFETY: this is the part of the union that the command reads; it was zeroed.
    let update = unsafe { &mut attr.__bindgen_anon_2 };
    update.map_fd = map.as_raw_fd() as u32;
    update.key = (&raw const key).addr() as u64;
    update.__bindgen_anon_1.value = value.as_ptr().addr() as u64;
    call(bpf_cmd::BPF_MAP_UPDATE_ELEM, &mut attr).map(drop)
}

/// Makes a map constant for user space.
pub(crate) fn freeze(map: BorrowedFd<'_>) -> io::Result<()> {
    let mut attr = zeroed();
    attr.__bindgen_anon_2.map_fd = map.as_raw_fd() as u32;
    call(bpf_cmd::BPF_MAP_FREEZE, &mut attr).map(drop)
}

/// Puts a structure of programs to use for as long as the link is open.
pub(crate) fn link(map: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut attr = zeroed();
    attr.link_create.__bindgen_anon_1.prog_fd = map.as_raw_fd() as u32;
    attr.link_create.attach_type = bpf_attach_type::BPF_STRUCT_OPS as u32;
    call_for_fd(bpf_cmd::BPF_LINK_CREATE, &mut attr)
}

/// Runs a program once; it reads and writes `context`.
#[cfg(test)]
#[allow(dead_code, reason = "for tests/replay.rs")]
pub(crate) fn run(program: BorrowedFd<'_>, context: &mut [u8]) -> io::Result<()> {
    let mut attr = zeroed();
    attr.test.prog_fd = program.as_raw_fd() as u32;
    attr.test.ctx_in = context.as_mut_ptr().addr() as u64;
    attr.test.ctx_size_in = context.len() as u32;
    call(bpf_cmd::BPF_PROG_TEST_RUN, &mut attr).map(drop)
}

fn zeroed() -> bpf_attr {
    // SAFETY: all of its parts are integers.
    unsafe { std::mem::zeroed() }
}

/// Names of programs and maps are for people, at most 15 bytes long.
fn object_name(name: &str) -> [c_char; 16] {
    let mut bytes = [0; 16];
    for (to, from) in bytes.iter_mut().take(15).zip(name.bytes()) {
        *to = from as c_char;
    }
    bytes
}

fn call_for_fd(command: bpf_cmd, attr: &mut bpf_attr) -> io::Result<OwnedFd> {
    let fd = call(command, attr)? as RawFd;
    // SAFETY: the kernel has just opened it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn call(command: bpf_cmd, attr: &mut bpf_attr) -> io::Result<i64> {
    // SAFETY: `attr` is live; the addresses in it are of live buffers of the sizes beside them, because every caller borrows them for the
    // time of its call.
    unsafe { unbloat_os::bpf::call(command as u32, attr) }
}
