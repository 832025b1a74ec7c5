//! Why a congestion control could not be loaded.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error(
        "there is no congestion control {name}: neither does this kernel have it, nor can unbloat load it (it can load {})",
        crate::Control::NAMES.join(", ")
    )]
    Unknown { name: String },
    #[error(
        "loading a congestion control into the kernel needs root (CAP_BPF and CAP_PERFMON in the first user namespace)"
    )]
    Privilege,
    #[error(
        "this kernel does not describe its types ({path}: {source}): congestion controls can be loaded only into one with CONFIG_DEBUG_INFO_BTF"
    )]
    NoBtf {
        path: &'static str,
        source: io::Error,
    },
    #[error("the kernel's description of its types cannot be read: {problem}")]
    Btf { problem: String },
    #[error(
        "this kernel takes no congestion controls as BPF programs (its types lack {missing}): it needs CONFIG_BPF_JIT, CONFIG_DEBUG_INFO_BTF and Linux 6.4 or newer; its own module may do: modprobe tcp_{control}"
    )]
    NoStructOps {
        missing: &'static str,
        control: &'static str,
    },
    #[error(
        "Linux {release} cannot drop a congestion control when its loader dies, Linux 6.4 and newer can; its own module may do: modprobe tcp_{control}"
    )]
    TooOld {
        release: String,
        control: &'static str,
    },
    #[error("the kernel refuses {hook} of {control} ({source}); the end of its reasons:\n{log}")]
    Refused {
        control: &'static str,
        hook: String,
        source: io::Error,
        log: String,
    },
    #[error("{control} does not fit this kernel's TCP: {problem}")]
    Misfit {
        control: &'static str,
        problem: String,
    },
    #[error(
        "{tried} controls of the name {name} and its like are loaded already: end the programs that hold them (bpftool link list)"
    )]
    NamesTaken { name: String, tried: u32 },
    #[error(
        "this program was built without clang and holds no {control}: as root, run tools/install build, then build it again"
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
