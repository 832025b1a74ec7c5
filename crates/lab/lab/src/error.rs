//! Why a lab could not run.

use std::path::PathBuf;
use unbloat_capture::CaptureError;
use unbloat_emulator::EmulatorError;
use unbloat_netns::BedError;
use unbloat_workload_host::TrafficError;

#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error("flow {flow:?}: no Linux kernel supports {what}; use unbloat sim")]
    OnlySim { flow: String, what: String },
    #[error(
        "flow {0:?}: the path of the lab has no routers that could answer app \"traceroute\"; use unbloat sim"
    )]
    NoRouters(String),
    #[error(
        "[autorate] is only supported by unbloat sim; in the lab, run `unbloat autorate` while the lab is running"
    )]
    Autorate,
    #[error(
        "cc = {scenario:?}: this kernel has no congestion control {kernel}; load its module (modprobe tcp_{kernel}), \
         or use unbloat lab run --virtual or unbloat sim, which have it"
    )]
    NoControl {
        scenario: &'static str,
        kernel: &'static str,
    },
    #[error(
        "receive_window = {law:?} needs BPF programs on a cgroup, which the kernel of --virtual does not support; run without --virtual"
    )]
    NoWindowLaw { law: &'static str },
    #[error(transparent)]
    Window(#[from] unbloat_rwnd::WindowError),
    #[error("{count} hosts on one side are too many; the lab has addresses for {most}")]
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
    #[error("every network within {within} already has a route; close another lab shell first")]
    NoNetwork { within: ipnet::Ipv4Net },
    #[error(
        "too many nested shells: this shell's network has no addresses left; leave a shell first"
    )]
    TooDeep,
    #[error("there is no host {host:?}; the hosts are {known}")]
    NoHost { host: String, known: String },
    #[error("cannot start {command:?}: {source}")]
    Command {
        command: String,
        source: std::io::Error,
    },
    #[error("cannot open a host's namespace: {0}")]
    File(std::io::Error),
    #[error("cannot open a socket: {0}")]
    Socket(std::io::Error),
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
    #[error("a thread of the lab panicked, which is a bug of unbloat")]
    Panicked,
}
