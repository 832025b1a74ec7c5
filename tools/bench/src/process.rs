//! Runs a program and asks the kernel what it used.

use crate::error::BenchError;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Instant;

/// What a finished program used.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// User and system time of all its threads.
    pub cpu_s: f64,
    pub wall_s: f64,
    /// Most memory resident at once, mapped files included.
    pub peak_rss_bytes: u64,
}

/// Runs `command` to its end, its output thrown away.
///
/// The kernel counts a program's memory from before `exec`, so the caller itself must stay small.
pub fn measure(command: &mut Command) -> Result<Usage, BenchError> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let begun = Instant::now();
    let child = spawn(command)?;
    wait(&child, begun, &name(command))
}

pub fn spawn(command: &mut Command) -> Result<Child, BenchError> {
    let program = name(command);
    command
        .spawn()
        .map_err(|source| BenchError::Spawn { program, source })
}

/// Waits for a child whose pipes are taken care of elsewhere. Exit code 3 of unbloat (a capture
/// that is cut) is as much a failure here as any other.
pub fn wait(child: &Child, begun: Instant, program: &str) -> Result<Usage, BenchError> {
    let mut status = 0;
    // SAFETY: all-zero bytes are a valid `rusage`, a struct of integers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live locals; the child is ours and nobody else waits for it.
    let pid = unsafe { libc::wait4(child.id() as libc::pid_t, &mut status, 0, &mut usage) };
    let source = std::io::Error::last_os_error();
    let program = program.to_owned();
    if pid < 0 {
        return Err(BenchError::Spawn { program, source });
    }
    let ended = ExitStatus::from_raw(status);
    if !ended.success() {
        let code = ended.code();
        return Err(BenchError::Failed {
            program,
            status: code.unwrap_or(128 + ended.signal().unwrap_or(0)),
        });
    }
    Ok(Usage {
        cpu_s: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        wall_s: begun.elapsed().as_secs_f64(),
        // Linux counts it in KiB.
        peak_rss_bytes: usage.ru_maxrss as u64 * 1024,
    })
}

/// Runs `command` and returns what it printed.
pub fn output(command: &mut Command) -> Result<String, BenchError> {
    let program = name(command);
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
    let output = output.map_err(|source| BenchError::Spawn {
        program: program.clone(),
        source,
    })?;
    if !output.status.success() {
        let status = output.status.code().unwrap_or(-1);
        return Err(BenchError::Failed { program, status });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether a program of that name can be run.
pub fn is_installed(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    program.contains('/') || std::env::split_paths(&paths).any(|dir| dir.join(program).is_file())
}

fn name(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_of_a_child_is_counted_and_sleep_is_not() {
        let usage = measure(Command::new("sleep").arg("0.2")).expect("sleep is everywhere");
        assert!(usage.wall_s >= 0.2 && usage.cpu_s < 0.1, "{usage:?}");
        assert!(usage.peak_rss_bytes > 0);
    }

    #[test]
    fn a_failing_program_is_an_error() {
        let error = measure(&mut Command::new("false")).expect_err("false fails");
        assert!(
            matches!(error, BenchError::Failed { status: 1, .. }),
            "{error}"
        );
    }
}
