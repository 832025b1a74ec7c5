//! Why a congestion control could not be loaded.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error(
        "there is no congestion control {name}: this kernel does not have it and unbloat cannot load it (it can load {})",
        crate::Control::NAMES.join(", ")
    )]
    Unknown { name: String },
    #[error(
        "loading a congestion control into the kernel needs root (CAP_BPF and CAP_PERFMON in the initial user namespace)"
    )]
    Privilege,
    #[error(
        "this kernel has no type information ({path}: {source}); loading congestion controls needs CONFIG_DEBUG_INFO_BTF"
    )]
    NoBtf {
        path: &'static str,
        source: io::Error,
    },
    #[error("cannot read the kernel's type information (BTF): {problem}")]
    Btf { problem: String },
    #[error(
        "this kernel does not support congestion controls as BPF programs (its types have no {missing}); it needs CONFIG_BPF_JIT, CONFIG_DEBUG_INFO_BTF and Linux 6.4 or newer. Its own module may work: modprobe tcp_{control}"
    )]
    NoStructOps {
        missing: &'static str,
        control: &'static str,
    },
    #[error(
        "Linux {release} cannot remove a congestion control when its loader exits; this needs Linux 6.4 or newer. The kernel's own module may work: modprobe tcp_{control}"
    )]
    TooOld {
        release: String,
        control: &'static str,
    },
    #[error("the kernel rejects {hook} of {control} ({source}); end of the verifier log:\n{log}")]
    Refused {
        control: &'static str,
        hook: String,
        source: io::Error,
        log: String,
    },
    #[error("{control} does not match this kernel's TCP: {problem}")]
    Misfit {
        control: &'static str,
        problem: String,
    },
    #[error(
        "{tried} congestion controls named {name} or similar are already loaded; stop the programs that hold them (bpftool link list)"
    )]
    NamesTaken { name: String, tried: u32 },
    #[error(
        "this binary was built without clang and does not contain {control}; run tools/install build as root and rebuild"
    )]
    BuiltWithoutClang { control: &'static str },
    #[error("{what}: {source}")]
    System {
        what: &'static str,
        source: io::Error,
    },
}

/// Says what was being done when the system refused; a lack of privilege is the same everywhere.
pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> ControlError {
    move |source| match source.kind() {
        io::ErrorKind::PermissionDenied => ControlError::Privilege,
        _ => ControlError::System { what, source },
    }
}
