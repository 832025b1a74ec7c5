//! What was measured on.

use crate::process;
use serde::Serialize;
use std::process::Command;

#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    pub processor: String,
    pub processors: usize,
    pub memory_bytes: u64,
    pub kernel: String,
    /// Version lines of the tools, `absent` where there is none.
    pub tools: Vec<(String, String)>,
    /// Commit of this repository, with `+` if files were changed since.
    pub commit: String,
}

impl Machine {
    pub fn look() -> Machine {
        let processor =
            field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_owned());
        let memory_kib = field("/proc/meminfo", "MemTotal");
        let memory_kib = memory_kib.and_then(|m| m.trim_end_matches(" kB").parse::<u64>().ok());
        Machine {
            processor,
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: memory_kib.unwrap_or(0) * 1024,
            kernel: first_line("uname", &["-sr"]),
            tools: ["tcpdump", "tcptrace", "tshark", "capinfos"]
                .map(version)
                .to_vec(),
            commit: commit(),
        }
    }

    /// A name for folders: `amd-epyc-2`.
    pub fn slug(&self) -> String {
        let words = self.processor.to_lowercase();
        let words = words.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<&str> = words.filter(|w| !w.is_empty()).take(4).collect();
        format!("{}-{}", words.join("-"), self.processors)
    }
}

/// Processes that ran or wanted to, averaged over the last minute.
pub fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first = text.split(' ').next();
    first.and_then(|word| word.parse().ok()).unwrap_or(f64::NAN)
}

fn field(file: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn version(tool: &str) -> (String, String) {
    // tcptrace has no option that prints its version and succeeds; the package knows it.
    let line = if tool == "tcptrace" {
        first_line("dpkg-query", &["-W", "-f", "${Version}", "tcptrace"])
    } else {
        first_line(tool, &["--version"])
    };
    (tool.to_owned(), line)
}

fn commit() -> String {
    let hash = first_line("git", &["rev-parse", "--short", "HEAD"]);
    let changed = first_line(
        "git",
        &["status", "--porcelain", "--untracked-files=no", "crates"],
    );
    if changed == "absent" || changed.is_empty() {
        hash
    } else {
        format!("{hash}+")
    }
}

/// The first line that a program prints; `absent` if it cannot be run.
fn first_line(program: &str, arguments: &[&str]) -> String {
    let text = process::output(Command::new(program).args(arguments));
    text.map_or_else(
        |_| "absent".to_owned(),
        |t| t.lines().next().unwrap_or("").to_owned(),
    )
}
