//! What the replayed functions run on.

use crate::own::bpf::{self, Purpose};
use crate::own::error::ControlError;
use crate::own::object::{Function, Object, kernel_btf};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::os::fd::{AsFd, OwnedFd};

/// `struct call` of bpf/replay.h: same members, same order.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Call {
    pub snd_una: u32,
    pub snd_nxt: u32,
    pub cwnd: u32,
    pub cwnd_cnt: u32,
    pub cwnd_clamp: u32,
    pub ssthresh: u32,
    pub prior_cwnd: u32,
    pub max_packets_out: u32,
    pub mss: u32,
    pub is_cwnd_limited: u32,
    pub ca_state: u32,
    pub jiffies: u32,
    pub hz: u32,
    pub first: u32,
    pub second: u32,
    pub result: u32,
}

pub(super) trait Machine {
    /// Calls a hook, if the control has it.
    fn call(&mut self, hook: &str, call: &mut Call);
}

/// BPF programs in the running kernel.
pub(super) struct InKernel {
    programs: BTreeMap<String, OwnedFd>,
}

impl InKernel {
    /// `replay` is the control's object that was compiled for this.
    pub(super) fn load(control: &'static str, replay: &[u8]) -> Result<InKernel, ControlError> {
        let object = Object::relocate(control, replay, &kernel_btf()?, &[])?;
        let load = |function: Function<'_>| {
            let program = object.load(&function, Purpose::Replay)?;
            Ok((function.name.to_owned(), program))
        };
        let programs = object.functions().map(load).collect::<Result<_, _>>()?;
        Ok(InKernel { programs })
    }
}

impl Machine for InKernel {
    fn call(&mut self, hook: &str, call: &mut Call) {
        let Some(program) = self.programs.get(hook) else {
            return;
        };
        // SAFETY: a call is integers without gaps, and any integers make a call.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut(std::ptr::from_mut(call).cast(), size_of::<Call>())
        };
        bpf::run(program.as_fd(), bytes).expect("the kernel runs what it has loaded");
    }
}

/// The same source as a shared library, in which undefined behaviour ends the process.
pub(super) struct Library(unbloat_testkit::Library);

impl Library {
    pub(super) fn build(control: &str) -> Library {
        let source = format!("{}/bpf/{control}.bpf.c", env!("CARGO_MANIFEST_DIR"));
        let include = format!("-I{}", unbloat_bpf_build::INCLUDE);
        let flags = [&include, "-fno-strict-aliasing", "-x", "c"];
        Library(unbloat_testkit::Library::build(&source, &flags))
    }
}

impl Machine for Library {
    fn call(&mut self, hook: &str, call: &mut Call) {
        type Hook = unsafe extern "C" fn(*mut Call) -> c_int;
        // SAFETY: bpf/hooks.h declares every function of such a library that is not static so.
        if let Some(function) = unsafe { self.0.get::<Hook>(hook) } {
            // SAFETY: the call is live and is of the structure that is declared there.
            unsafe { function(call) };
        }
    }
}
