//! Runs the recipe and says how far it is.

use crate::error::{GuestError, at};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Debian's package of the kernel's source.
pub(crate) const PACKAGE: &str = "linux-source-6.12";
pub(crate) const CONFIG: &str = include_str!("../../recipe/kernel.config");
pub(crate) const BUILD: &str = include_str!("../../recipe/build.sh");

/// Commands that the recipe calls, and the Debian packages that have them.
const TOOLS: &[(&str, &str)] = &[
    ("apt-get", "apt"),
    ("bc", "bc"),
    ("bison", "bison"),
    ("dpkg-deb", "dpkg"),
    ("flex", "flex"),
    ("gcc", "gcc libc6-dev"),
    ("ld", "binutils"),
    ("make", "make"),
    ("perl", "perl"),
    ("strip", "binutils"),
    ("tar", "tar"),
    ("xz", "xz-utils"),
];

/// Lines that `make` prints, about; for the progress.
const STEPS_ABOUT: usize = 1270;
/// Lines of the log that an error shows.
const TAIL: usize = 15;

/// The version of the source that apt would fetch.
pub(super) fn source_version() -> Result<String, GuestError> {
    check_tools()?;
    let output = Command::new("apt-cache")
        .args(["show", "--no-all-versions", PACKAGE])
        .output();
    let output = output.map_err(|source| GuestError::Start {
        command: "apt-cache".to_owned(),
        source,
    })?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.lines().find_map(|line| line.strip_prefix("Version: "));
    version
        .map(str::to_owned)
        .ok_or(GuestError::NoSource { package: PACKAGE })
}

fn check_tools() -> Result<(), GuestError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_missing =
        |command: &str| !std::env::split_paths(&path).any(|folder| folder.join(command).exists());
    let missing = TOOLS.iter().filter(|(command, _)| is_missing(command));
    let (commands, packages): (Vec<_>, Vec<_>) = missing.copied().unzip();
    if commands.is_empty() {
        return Ok(());
    }
    Err(GuestError::Missing { commands, packages })
}

/// Builds in a folder of its own below `cache`, and returns it with `linux` in it.
pub(super) fn run(cache: &Path, version: &str) -> Result<TempDir, GuestError> {
    // The lock is held: folders of other builds are those of dead ones.
    for entry in cache.read_dir().map_err(at(cache))?.flatten() {
        if entry.file_name().to_string_lossy().starts_with("build-") {
            fs::remove_dir_all(entry.path()).map_err(at(entry.path()))?;
        }
    }
    let folder = tempfile::Builder::new().prefix("build-").tempdir_in(cache);
    let folder = folder.map_err(at(cache))?;
    let recipe = folder.path().join("recipe");
    fs::create_dir(&recipe).map_err(at(&recipe))?;
    for (name, text) in [("kernel.config", CONFIG), ("build.sh", BUILD)] {
        let path = recipe.join(name);
        fs::write(&path, text).map_err(at(path))?;
    }
    let log = cache.join("build.log");
    let errors = File::create(&log).map_err(at(&log))?;
    let record = errors.try_clone().map_err(at(&log))?;
    let mut child = Command::new("nice")
        .args(["sh", "recipe/build.sh"])
        .arg(&recipe)
        .args([PACKAGE, version])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(errors)
        .spawn()
        .map_err(|source| GuestError::Start {
            command: "nice".to_owned(),
            source,
        })?;
    let output = child.stdout.take().expect("standard output is piped");
    let step = follow(BufReader::new(output), record);
    let status = child.wait().map_err(at(&log))?;
    if status.success() {
        return Ok(folder);
    }
    let text = fs::read_to_string(&log).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    let tail = lines[lines.len().saturating_sub(TAIL)..].join("\n");
    Err(GuestError::Build { step, log, tail })
}

/// Copies output to the log and tells of it; returns the last step.
fn follow(output: impl BufRead, mut log: File) -> String {
    let is_terminal = std::io::stderr().is_terminal();
    let (mut step, mut lines, mut told) = (String::new(), 0, 0);
    for line in output.lines().map_while(Result::ok) {
        // The log is for people; a full disk shows in the build itself.
        let _ = writeln!(log, "{line}");
        if let Some(name) = line.strip_prefix("step: ") {
            step = name.to_owned();
            eprintln!("guest's kernel: {name}");
            continue;
        }
        lines += usize::from(line.starts_with("  "));
        let percent = (lines * 100 / STEPS_ABOUT).min(99);
        let is_news = if is_terminal {
            percent > told
        } else {
            percent >= told + 10
        };
        if is_news {
            told = percent;
            if is_terminal {
                eprint!("\rguest's kernel: {percent} %");
            } else {
                eprintln!("guest's kernel: {percent} %");
            }
        }
    }
    if is_terminal && told > 0 {
        eprintln!();
    }
    step
}
