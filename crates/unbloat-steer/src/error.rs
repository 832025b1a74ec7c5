//! Why rates could not be followed.

use aya::programs::ProgramError;
use std::io;
use unbloat_capture::CaptureError;

#[derive(Debug, thiserror::Error)]
pub enum SteerError {
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error("packets cannot be looked at in the kernel: {0}; --source packets looks at them here")]
    Kernel(#[from] KernelError),
    #[error("tc cannot be run: {0}; it is in Debian's package iproute2")]
    NoTc(io::Error),
    #[error("tc {arguments}: {said}")]
    Tc { arguments: String, said: String },
    #[error(
        "{device} has no shaper whose rate could be changed: root is {found:?}, not cake or htb"
    )]
    NoShaper { device: String, found: String },
    #[error("probes cannot be sent: {0}; that takes CAP_NET_RAW")]
    Probe(io::Error),
}

/// Why the kernel does not look at packets for us.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    #[error(
        "this program was built without clang (as root, run tools/install build, then build it again)"
    )]
    BuiltWithoutClang,
    #[error(transparent)]
    Interface(#[from] CaptureError),
    #[error("it does not describe its types, which takes CONFIG_DEBUG_INFO_BTF ({0})")]
    NoBtf(#[source] aya::BtfError),
    #[error("the network namespace is not told: {0}")]
    Namespace(io::Error),
    #[error("the programs lack {0}")]
    Lacks(&'static str),
    #[error("it does not take the programs (Linux 6.6, CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN): {}", chain(.0))]
    Load(#[from] aya::EbpfError),
    #[error("it does not take a program (Linux 6.6, CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN): {}", chain(.0))]
    Program(#[from] ProgramError),
    #[error("what was counted cannot be read: {}", chain(.0))]
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
