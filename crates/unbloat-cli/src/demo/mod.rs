//! `unbloat demo`: once round the loop, on an emulated path of this machine.

use crate::exit::Exit;
use crate::lab::{ShellError, behind};
use crate::output::{OutputError, run_dir};
use crate::print::{self, PrintError, note};
use crate::recovery;
use serde::Deserialize;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use unbloat_lab::{LabError, Shell};
use unbloat_undo::UndoError;

/// The recorded downlink of an LTE network (see traces/README.md), as it is.
const TRACE: &[u8] = include_bytes!("../../../../traces/mahimahi/Verizon-LTE-short.down.gz");
const PORTS: [u16; 2] = [4043, 2112];

/// Shows the whole loop in about a minute: a test over a recorded LTE path, its verdict, a cure, the same test again. Needs root.
///
/// All of it is on this machine: the path lies between two networks that are made for it and go with it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat demo
  unbloat demo --out runs/demo")]
pub struct Args {
    /// Keep both runs and their comparison in this folder [default: runs/DATE-demo]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    #[error(transparent)]
    Shell(#[from] ShellError),
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error("this program cannot be started again: {0}")]
    Start(#[source] io::Error),
    #[error("the server of the demo ended before it listened")]
    Server,
    #[error("cannot write {path}: {source}", path = path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Undo(#[from] UndoError),
    #[error(transparent)]
    Print(#[from] PrintError),
}

pub fn run(args: &Args) -> Result<Exit, DemoError> {
    let out = run_dir(args.out.as_deref(), "demo")?;
    std::fs::create_dir_all(&out).map_err(writing(&out))?;
    let trace = out.join("lte.down.gz");
    std::fs::write(&trace, TRACE).map_err(writing(&trace))?;
    let trace = trace.display().to_string();
    // A steady uplink: the second test meets another part of the recording, and only one direction is to differ for that.
    let path = [
        "shell",
        "--down",
        &trace,
        "--queue",
        "droptail:1MB",
        "--rate-up",
        "10mbit",
        "--up-queue",
        "droptail:400kB",
        "--delay",
        "10ms",
        "--",
        "nothing",
    ];
    // Before there are threads.
    let _guard = recovery::guarded()?;
    let shell = behind(&path)?;
    note!(
        "unbloat: a recorded LTE downlink behind a buffer of 1 MB, 10 Mbit/s up behind one of 400 kB, between two networks of this machine"
    );
    let server = Server::start(&shell)?;
    let status = shell
        .command(program()?)?
        .args(["fix", &server.name, "--pin", &server.fingerprint, "--yes"])
        .args(["--congestion-control", "cubic", "--flows", "4"])
        .args(["--stages", "2s,10s,8s,0s"])
        // Acknowledgements come back over a radio that stops for a tenth of a second at a time: uploads of CoDel's 5 ms lose a fifth there.
        .args(["--qdisc", "fifo"])
        .arg("--out")
        .arg(&out)
        .status()
        .map_err(DemoError::Start)?;
    drop(server);
    compare(&out)?;
    Ok(Exit::Of(status.code().map_or(1, |code| code as u8)))
}

fn program() -> Result<PathBuf, DemoError> {
    std::env::current_exe().map_err(DemoError::Start)
}

fn writing(path: &Path) -> impl FnOnce(io::Error) -> DemoError {
    let path = path.to_owned();
    |source| DemoError::Write { path, source }
}

/// The other end of the test, before the path.
struct Server {
    child: Child,
    name: String,
    fingerprint: String,
    /// Read no further, and open, so that it can write.
    _said: BufReader<ChildStdout>,
}

/// What a server says when it listens.
#[derive(Deserialize)]
struct Said {
    fingerprint: String,
}

impl Server {
    fn start(shell: &Shell) -> Result<Server, DemoError> {
        let [listen, echo] = PORTS.map(|port| format!("{}:{port}", shell.outside()));
        let mut server = Command::new(program()?);
        // SAFETY: between fork and program it makes one system call.
        unsafe { server.pre_exec(end_with_parent) };
        let mut child = server
            .args(["serve", "--json", "--listen", &listen, "--echo", &echo])
            .args(["--congestion-control", "cubic"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(DemoError::Start)?;
        let mut said = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        let read = said.read_line(&mut line);
        let told = read
            .ok()
            .and_then(|_| serde_json::from_str::<Said>(&line).ok());
        let Some(Said { fingerprint }) = told else {
            let _ = child.kill();
            let _ = child.wait();
            return Err(DemoError::Server);
        };
        Ok(Server {
            child,
            name: listen,
            fingerprint,
            _said: said,
        })
    }
}

/// It does not outlast a demo that is killed.
fn end_with_parent() -> io::Result<()> {
    // SAFETY: the call concerns the calling process alone.
    match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Both runs in one page, if there are two.
fn compare(out: &Path) -> Result<(), DemoError> {
    let [before, after] = ["before", "after"].map(|name| out.join(name));
    if !after.exists() {
        return Ok(());
    }
    let page = out.join("compare.html");
    let file = File::create(&page).map_err(writing(&page))?;
    let status = Command::new(program()?)
        .args(["compare", "--format", "html"])
        .args([&before, &after])
        .stdout(file)
        .stderr(Stdio::null())
        .status()
        .map_err(DemoError::Start)?;
    if status.success() {
        print::line(format_args!("Both in one page: {}", page.display()))?;
    }
    Ok(())
}
