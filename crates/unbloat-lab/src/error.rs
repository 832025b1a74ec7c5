//! Why a lab could not run.

use unbloat_bed::BedError;
use unbloat_emulator::EmulatorError;
use unbloat_traffic::TrafficError;

#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error("flow {flow:?}: {what} is something that no Linux kernel does; unbloat sim does")]
    OnlySim { flow: String, what: String },
    #[error(
        "this kernel has no congestion control {kernel:?} (cc = {scenario:?}); it has {available}. \
         Run unbloat lab run --virtual, whose kernel has it, or unbloat sim"
    )]
    NoControl {
        scenario: &'static str,
        kernel: &'static str,
        available: String,
    },
    #[error("{count} hosts on one side; the lab has addresses for {most}")]
    Hosts { count: usize, most: usize },
    #[error(transparent)]
    Bed(#[from] BedError),
    #[error(transparent)]
    Emulator(#[from] EmulatorError),
    #[error(transparent)]
    Traffic(#[from] TrafficError),
    #[error("cannot open what belongs to a host: {0}")]
    File(std::io::Error),
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
    #[error("a thread of the lab panicked, which is a bug of unbloat")]
    Panicked,
}
