//! Why this host cannot be watched, or only from outside its queues.

use aya::programs::ProgramError;
use std::io;

/// Why nothing can be measured within the kernel. Watching then goes by its statistics.
#[derive(Debug, thiserror::Error)]
pub enum ProbesError {
    #[error("this binary was built without clang; run tools/install build as root and rebuild")]
    BuiltWithoutClang,
    #[error("this kernel has no type information (BTF): {0}; it needs CONFIG_DEBUG_INFO_BTF")]
    NoBtf(aya::BtfError),
    #[error("cannot count the CPUs: {0}")]
    Processors(io::Error),
    #[error("needs root (CAP_BPF and CAP_PERFMON in the initial user namespace)")]
    Privilege,
    #[error("the BPF object has no {0}")]
    Lacks(&'static str),
    #[error("the kernel rejects the BPF programs: {}", chain(.0))]
    Load(aya::EbpfError),
    #[error("the kernel rejects a BPF program: {}", chain(.0))]
    Program(ProgramError),
    #[error("cannot read the BPF maps: {}", chain(.0))]
    Map(#[from] aya::maps::MapError),
}

/// Why this host cannot be watched at all.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    #[error("cannot query the kernel for {what}: {source}")]
    Netlink {
        what: &'static str,
        source: io::Error,
    },
    #[error(transparent)]
    Probes(#[from] ProbesError),
}

impl From<aya::EbpfError> for ProbesError {
    fn from(error: aya::EbpfError) -> ProbesError {
        if is_denied(&error) {
            return ProbesError::Privilege;
        }
        ProbesError::Load(error)
    }
}

impl From<ProgramError> for ProbesError {
    fn from(error: ProgramError) -> ProbesError {
        // Where the verifier has something to say, it is not about privilege.
        let is_unverified = matches!(&error, ProgramError::LoadError { verifier_log, .. }
            if !verifier_log.to_string().is_empty());
        if !is_unverified && is_denied(&error) {
            return ProbesError::Privilege;
        }
        ProbesError::Program(error)
    }
}

fn causes<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |e| e.source())
}

fn is_denied(error: &(dyn std::error::Error + 'static)) -> bool {
    causes(error)
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::PermissionDenied)
}

/// What the verifier writes is long; its last lines say why.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    const LINES: usize = 8;
    let all: Vec<String> = causes(error).map(ToString::to_string).collect();
    let all = all.join(": ");
    let lines: Vec<&str> = all.trim_end().lines().collect();
    match lines.len() {
        0..=LINES => all,
        many => format!("{} ...\n{}", lines[0], lines[many - LINES..].join("\n")),
    }
}
