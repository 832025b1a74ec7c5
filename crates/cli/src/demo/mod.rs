//! `unbloat demo`: test, fix and second test over an emulated path on this machine.

mod simulated;

use crate::exit::{Exit, Failure, cannot};
use crate::lab::behind;
use crate::print::note;
use crate::recovery;
use rustix::process::{Signal, set_parent_process_death_signal};
use serde::Deserialize;
use std::io::{self, BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use unbloat_api::folder::run_dir;
use unbloat_lab::Shell;

/// Test, fix and test again over an emulated path (root, one minute).
///
/// Server and client both run on this machine, with the emulated path between them. The network devices and namespaces that this needs
/// are temporary. Without root, or on a busy machine, the demo shows the same kind of path in the simulator instead.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat demo
  unbloat demo --out demo")]
pub struct Args {
    /// Folder for the results (must not exist) [default: DATE-demo among the runs of this user]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,

    /// Do not show progress
    #[arg(short, long)]
    quiet: bool,
}

/// Falls back to the simulator where hosts cannot be made, or where the machine is too busy for a valid test.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    // Must run before the first thread.
    let _guard = recovery::guarded()?;
    let reason = match bed() {
        Ok((shell, server)) => match cure(args, &shell, server)? {
            Exit::Untrusted => "this machine was too busy for a valid test".to_owned(),
            exit => return Ok(exit),
        },
        Err(error) => error.to_string(),
    };
    note!("unbloat: {reason}");
    note!(
        "unbloat: the demo goes on in the simulator, which needs neither root nor an idle machine and writes no runs"
    );
    simulated::run()
}

/// The path, and the server behind it.
fn bed() -> Result<(Shell, Server), Failure> {
    let path = [
        "shell",
        "--rate-down",
        "20 Mbit/s",
        "--queue",
        "droptail:1 MB",
        "--rate-up",
        "5 Mbit/s",
        "--queue-up",
        "droptail:400 kB",
        "--delay",
        "10 ms",
        "--",
        "nothing",
    ];
    let shell = behind(&path)?;
    note!(
        "unbloat: emulated path on this machine: 20 Mbit/s down with a buffer of 1 MB, 5 Mbit/s up with 400 kB"
    );
    let server = Server::start(&shell)?;
    Ok((shell, server))
}

fn cure(args: &Args, shell: &Shell, server: Server) -> Result<Exit, Failure> {
    let out = run_dir(args.out.as_deref(), "demo")?;
    std::fs::create_dir_all(&out).map_err(cannot("write", &out))?;
    let status = shell
        .command(program()?)?
        .args(["fix", &server.name, "--pin", &server.fingerprint, "--yes"])
        .args(["--congestion-control", "cubic", "--flows", "4"])
        .args(["--stages", "2 s,10 s,8 s,0 s", "--passing"])
        .args(args.quiet.then_some("--quiet"))
        .arg("--out")
        .arg(&out)
        .status()
        .map_err(|error| format!("cannot start another unbloat process: {error}"))?;
    drop(server);
    Ok(match status.code() {
        Some(5) => Exit::Untrusted,
        code => Exit::Of(code.map_or(1, |code| code as u8)),
    })
}

fn program() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|error| format!("cannot start another unbloat process: {error}").into())
}

/// The server of the test, on the far side of the path.
struct Server {
    child: Child,
    name: String,
    fingerprint: String,
    /// Kept open and not read any further, so that the server can write.
    _said: (BufReader<ChildStdout>, ChildStderr),
}

/// What a server prints when it listens.
#[derive(Deserialize)]
struct Said {
    tls: SocketAddr,
    fingerprint: String,
}

impl Server {
    fn start(shell: &Shell) -> Result<Server, Failure> {
        // Any port that is free: this host may run a server of its own.
        let listen = SocketAddr::from((shell.outside(), 0)).to_string();
        let mut server = Command::new(program()?);
        // SAFETY: between fork and program it makes one system call.
        unsafe { server.pre_exec(end_with_parent) };
        let mut child = server
            .args([
                "serve",
                "--json",
                "--listen",
                &listen,
                "--listen-echo",
                &listen,
            ])
            .args(["--allow-congestion-control", "cubic"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start another unbloat process: {error}"))?;
        let mut said = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        let read = said.read_line(&mut line);
        let told = read
            .ok()
            .and_then(|_| serde_json::from_str::<Said>(&line).ok());
        let mut reasons = child.stderr.take().expect("it is piped");
        let Some(Said { tls, fingerprint }) = told else {
            let _ = child.kill();
            let mut reason = String::new();
            let _ = reasons.read_to_string(&mut reason);
            let _ = child.wait();
            let last = reason.lines().last().unwrap_or("it gave no reason");
            let last = last.trim_start_matches("unbloat: ").to_owned();
            return Err(format!("the demo's server did not start: {last}").into());
        };
        Ok(Server {
            child,
            name: tls.to_string(),
            fingerprint,
            _said: (said, reasons),
        })
    }
}

/// Ends the server when the demo is killed.
fn end_with_parent() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
