//! Who is measured on which capture.

use std::path::Path;
use std::process::Command;

/// A program and how it is run on a capture.
pub struct Contestant {
    pub name: &'static str,
    /// What is run; `Ours` are built from this repository.
    pub program: Program,
    pub arguments: &'static [&'static str],
    pub captures: &'static [&'static str],
    /// Slow ones are not run in every round.
    pub most_rounds: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// `unbloat`.
    Unbloat,
    /// This program.
    Bench,
    /// By its name, from the Debian package of the second name.
    Debian(&'static str, &'static str),
}

/// Stands for the capture in arguments.
const CAPTURE: &str = "CAPTURE";
/// Stands for a folder that does not exist yet.
const FOLDER: &str = "FOLDER";

pub const UNBLOAT: &str = "unbloat analyze --no-run";
pub const REPORT: &str = "unbloat analyze, tables and report written";
pub const TWO_THREADS: &str = "unbloat analyze --no-run --threads 2";
pub const WALK: &str = "bare record walk, file mapped";
pub const TCPDUMP: &str = "tcpdump -w /dev/null";
pub const TCPTRACE: &str = "tcptrace -l -r -n";

const ALL: &[&str] = &[
    "paper", "dns", "many", "million", "few", "users", "quic", "gtpu", "nogtpu", "once", "tenfold",
];
const MAIN: &[&str] = &[
    "paper", "dns", "many", "million", "few", "users", "quic", "gtpu", "nogtpu",
];

pub const CONTESTANTS: [Contestant; 9] = [
    Contestant {
        name: UNBLOAT,
        program: Program::Unbloat,
        arguments: &["analyze", CAPTURE, "--no-run", "--quiet"],
        captures: &[
            "paper", "dns", "many", "million", "few", "users", "quic", "gtpu", "nogtpu", "cut",
            "once", "tenfold", "empty",
        ],
        most_rounds: u32::MAX,
    },
    Contestant {
        name: REPORT,
        program: Program::Unbloat,
        arguments: &["analyze", CAPTURE, "--out", FOLDER, "--quiet"],
        captures: ALL,
        most_rounds: u32::MAX,
    },
    Contestant {
        name: TWO_THREADS,
        program: Program::Unbloat,
        arguments: &["analyze", CAPTURE, "--no-run", "--quiet", "--threads", "2"],
        captures: MAIN,
        most_rounds: u32::MAX,
    },
    Contestant {
        name: WALK,
        program: Program::Bench,
        arguments: &["walk", CAPTURE],
        captures: MAIN,
        most_rounds: u32::MAX,
    },
    Contestant {
        name: TCPDUMP,
        program: Program::Debian("tcpdump", "tcpdump"),
        arguments: &["-r", CAPTURE, "-w", "/dev/null"],
        captures: MAIN,
        most_rounds: u32::MAX,
    },
    Contestant {
        name: "capinfos -c",
        program: Program::Debian("capinfos", "wireshark-common"),
        arguments: &["-c", CAPTURE],
        captures: &["paper", "many"],
        most_rounds: 3,
    },
    Contestant {
        name: TCPTRACE,
        program: Program::Debian("tcptrace", "tcptrace"),
        arguments: &["-l", "-r", "-n", CAPTURE],
        captures: &["paper", "many", "few", "users"],
        most_rounds: u32::MAX,
    },
    Contestant {
        name: "tshark -q -z conv,tcp",
        program: Program::Debian("tshark", "tshark"),
        arguments: &["-n", "-r", CAPTURE, "-q", "-z", "conv,tcp"],
        captures: &["paper", "many"],
        most_rounds: 1,
    },
    Contestant {
        name: "tshark -T fields, tcp.analysis",
        program: Program::Debian("tshark", "tshark"),
        arguments: &[
            "-n",
            "-r",
            CAPTURE,
            "-T",
            "fields",
            "-e",
            "frame.time_epoch",
            "-e",
            "tcp.stream",
            "-e",
            "tcp.analysis.ack_rtt",
            "-e",
            "tcp.analysis.bytes_in_flight",
            "-e",
            "tcp.analysis.flags",
        ],
        captures: &["cut"],
        most_rounds: 1,
    },
];

impl Contestant {
    pub fn command(&self, binaries: &Binaries<'_>, capture: &Path, folder: &Path) -> Command {
        let mut command = match self.program {
            Program::Unbloat => Command::new(binaries.unbloat),
            Program::Bench => Command::new(binaries.bench),
            Program::Debian(name, _) => Command::new(name),
        };
        for &argument in self.arguments {
            match argument {
                CAPTURE => command.arg(capture),
                FOLDER => command.arg(folder),
                _ => command.arg(argument),
            };
        }
        command
    }
}

/// Where our own programs lie.
pub struct Binaries<'a> {
    pub unbloat: &'a Path,
    pub bench: &'a Path,
}
