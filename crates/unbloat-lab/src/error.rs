//! Why a lab could not run.

use std::path::PathBuf;
use unbloat_bed::BedError;
use unbloat_capture::CaptureError;
use unbloat_control::ControlError;
use unbloat_emulator::EmulatorError;
use unbloat_traffic::TrafficError;

#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error("flow {flow:?}: {what} is something that no Linux kernel does; unbloat sim does")]
    OnlySim { flow: String, what: String },
    #[error("[autorate] is for unbloat sim; in the lab, run `unbloat autorate` beside it")]
    Autorate,
    #[error(
        "cc = {scenario:?}: {source}. The kernel of unbloat lab run --virtual has it, and unbloat sim does"
    )]
    NoControl {
        scenario: &'static str,
        source: ControlError,
    },
    #[error(
        "receive_window = {law:?} is held by BPF programs on a control group, which the kernel of --virtual lacks; run it in real time"
    )]
    NoWindowLaw { law: &'static str },
    #[error(transparent)]
    Window(#[from] unbloat_window::WindowError),
    #[error("{count} hosts on one side; the lab has addresses for {most}")]
    Hosts { count: usize, most: usize },
    #[error(transparent)]
    Bed(#[from] BedError),
    #[error(transparent)]
    Emulator(#[from] EmulatorError),
    #[error(transparent)]
    Traffic(#[from] TrafficError),
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error("cannot write {}: {source}", path.display())]
    Write {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("there is a route to every network within {within} already; end a shell first")]
    NoNetwork { within: ipnet::Ipv4Net },
    #[error("this shell is in so many others that its network has no addresses left for another")]
    TooDeep,
    #[error("no host {host:?} is there; there are {known}")]
    NoHost { host: String, known: String },
    #[error("cannot start {command:?}: {source}")]
    Command {
        command: String,
        source: std::io::Error,
    },
    #[error("cannot open what belongs to a host: {0}")]
    File(std::io::Error),
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
    #[error("a thread of the lab panicked, which is a bug of unbloat")]
    Panicked,
}
