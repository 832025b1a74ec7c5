//! Why rates could not be followed.

use aya::programs::ProgramError;
use std::io;
use unbloat_capture::CaptureError;
use unbloat_undo::UndoError;

#[derive(Debug, thiserror::Error)]
pub enum SteerError {
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error(
        "cannot observe packets in the kernel: {0}; use --tap packets to observe them in the process"
    )]
    Kernel(#[from] KernelError),
    #[error("cannot run tc: {0}; install iproute2")]
    NoTc(io::Error),
    #[error("tc {arguments}: {said}")]
    Tc { arguments: String, said: String },
    #[error(
        "{device} has no shaper with a changeable rate: its root qdisc is {found:?}, not cake or htb"
    )]
    NoShaper { device: String, found: String },
    #[error(transparent)]
    Undo(#[from] UndoError),
    #[error(
        "another program changed or removed the shaper of {device}, which is left as it is now; start autorate again to follow it"
    )]
    Changed { device: String },
    #[error("cannot send probes: {0}; run as root or with CAP_NET_RAW")]
    Probe(io::Error),
}

/// Why the kernel does not look at packets for us.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    #[error("this binary was built without clang; run tools/install build as root and rebuild")]
    BuiltWithoutClang,
    #[error(transparent)]
    Interface(#[from] CaptureError),
    #[error("the kernel has no type information (BTF): {0}; it needs CONFIG_DEBUG_INFO_BTF")]
    NoBtf(#[source] aya::BtfError),
    #[error("cannot determine the network namespace: {0}")]
    Namespace(io::Error),
    #[error("the BPF object has no {0}")]
    Lacks(&'static str),
    #[error("the kernel rejects the BPF programs (they need Linux 6.6, CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN): {}", chain(.0))]
    Load(#[from] aya::EbpfError),
    #[error("the kernel rejects a BPF program (it needs Linux 6.6, CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN): {}", chain(.0))]
    Program(#[from] ProgramError),
    #[error("cannot read the BPF maps: {}", chain(.0))]
    Map(#[from] aya::maps::MapError),
}

/// What is wrong, and why, in a line: what the verifier writes is long, and its end says why.
fn chain(error: &dyn std::error::Error) -> String {
    const LINES: usize = 2;
    let causes = std::iter::successors(error.source(), |error| error.source());
    let all = causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
    let lines: Vec<&str> = all.trim().lines().collect();
    match lines.len() {
        0..=LINES => lines.join(" "),
        many => format!("{} ... {}", lines[0], lines[many - LINES..].join(" ")),
    }
}
