//! Programs that are run, with bounds on how long they take and how much they say.

use crate::error::ShaperError;
use crate::quote::shown;
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};
use tracing::debug;
use unbloat_undo::Claim;

/// Of what a program says, on each of its two ways.
const LONGEST: u64 = 512 * 1024;
const LOCAL: Duration = Duration::from_secs(20);
const NAP: Duration = Duration::from_millis(5);

/// What a program said, cut at a bound, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) out: Vec<u8>,
    pub(crate) err: Vec<u8>,
    /// None: by a signal.
    pub(crate) code: Option<i32>,
}

/// Runs a command of iproute2 on this host, which must succeed.
pub(crate) fn run(words: &[String]) -> Result<Vec<u8>, ShaperError> {
    succeed(words, command(words))
}

/// The same for one that changes what is claimed.
pub(crate) fn run_for(claim: &Claim, words: &[String]) -> Result<(), ShaperError> {
    let mut changes = command(words);
    claim.lend(&mut changes);
    succeed(words, changes).map(drop)
}

fn succeed(words: &[String], command: Command) -> Result<Vec<u8>, ShaperError> {
    let said = start(command, b"", LOCAL)?;
    match said.code {
        Some(0) => Ok(said.out),
        _ => Err(ShaperError::Refused {
            command: words.join(" "),
            said: shown(&said.err),
        }),
    }
}

/// A program with its arguments.
pub(crate) fn command(words: &[impl AsRef<OsStr>]) -> Command {
    let (program, arguments) = words.split_first().expect("a command has a program");
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

/// Runs a program with something to read; it is killed when it takes too long.
pub(crate) fn start(
    mut command: Command,
    input: &[u8],
    limit: Duration,
) -> Result<Said, ShaperError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let begun = Instant::now();
    command.stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|source| ShaperError::Start {
        program: program.clone(),
        source,
    })?;
    let mut stdin = child.stdin.take().expect("it is piped");
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let input = input.to_vec();
    // A child of the program may hold its ends open: whoever reads them is waited for no longer than the program.
    thread::spawn(move || stdin.write_all(&input));
    let out = listen(stdout.expect("it is piped"));
    let err = listen(stderr.expect("it is piped"));
    let code = wait(&mut child, limit);
    debug!(
        ?command,
        code = code.flatten(),
        took_ms = begun.elapsed().as_secs_f64() * 1e3,
        "command"
    );
    let code = code.ok_or(ShaperError::Slow { program, limit })?;
    let heard = |from: std::sync::mpsc::Receiver<Vec<u8>>| {
        from.recv_timeout(Duration::from_secs(2))
            .unwrap_or_default()
    };
    Ok(Said {
        out: heard(out),
        err: heard(err),
        code,
    })
}

fn listen(from: impl Read + Send + 'static) -> std::sync::mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut from = from.take(LONGEST);
        let _ = from.read_to_end(&mut bytes);
        // With `from` the pipe is closed, which ends a program that says more.
        drop(from);
        let _ = sender.send(bytes);
    });
    receiver
}

/// None: it took too long, and was killed.
fn wait(child: &mut Child, limit: Duration) -> Option<Option<i32>> {
    let end = Instant::now() + limit;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status.code()),
            Ok(None) if Instant::now() < end => sleep(NAP),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_hangs_is_ended_and_one_that_floods_too() {
        let short = Duration::from_millis(200);
        let hangs = start(command(&["sleep", "60"]), b"", short);
        assert!(matches!(hangs, Err(ShaperError::Slow { .. })));
        let floods = start(command(&["yes"]), b"", LOCAL).unwrap();
        assert_eq!((floods.out.len() as u64, floods.code), (LONGEST, None));
        let none = start(command(&["unbloat-no-such-program"]), b"", short);
        assert!(matches!(none, Err(ShaperError::Start { .. })));
    }

    #[test]
    fn what_it_reads_and_says_arrives() {
        let cat = start(command(&["cat"]), b"hello", LOCAL).unwrap();
        assert_eq!((cat.out.as_slice(), cat.code), (&b"hello"[..], Some(0)));
        let words = ["sh", "-c", "echo no >&2; exit 3"].map(str::to_owned);
        assert!(matches!(run(&words), Err(ShaperError::Refused { said, .. }) if said == "no"));
    }
}
