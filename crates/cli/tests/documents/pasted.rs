//! Command lines in documents.

use crate::text::joined;
use std::path::{Path, PathBuf};

/// What a reader would paste into a shell: one line, or a fenced block of them.
#[derive(Debug, PartialEq, Eq)]
pub struct Pasted {
    pub path: PathBuf,
    pub text: String,
    /// Of a line after `$ `: what the document shows below it.
    pub output: Vec<String>,
}

/// First words of lines that are commands. A new one is added here, or its lines are not seen.
const PROGRAMS: [&str; 13] = [
    "unbloat",
    "apt",
    "bench/",
    "cargo",
    "journalctl",
    "make",
    "man",
    "podman",
    "python",
    "systemctl",
    "tcpdump",
    "tools/",
    "zcat",
];

/// The command of a line, without its indent, prompt and remark (two spaces, or `#`).
fn command(line: &str) -> Option<String> {
    let line = line.trim();
    let line = line.strip_prefix("# ").unwrap_or(line).trim_start();
    let line = line.strip_prefix("$ ").unwrap_or(line);
    let (mut quote, mut last, mut end) = (None, ' ', line.len());
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, ' ' | '#') if last == ' ' => {
                end = at;
                break;
            }
            (None, _) => {}
        }
        last = c;
    }
    let line = line[..end].trim();
    let bare = line.strip_prefix("sudo ").unwrap_or(line);
    let bare = bare.strip_prefix("ip netns exec NAME ").unwrap_or(bare);
    let is_command = PROGRAMS
        .iter()
        .any(|program| match program.strip_suffix('/') {
            Some(_) => bare.starts_with(program),
            None => bare
                .strip_prefix(program)
                .is_some_and(|rest| rest.starts_with(' ')),
        });
    is_command.then(|| line.to_owned())
}

/// What can be pasted from a document.
pub fn pasted(path: &Path, text: &str) -> Vec<Pasted> {
    let is_page = path.extension().is_some_and(|e| e == "md");
    let mut found = Vec::new();
    let mut add = |text: String, output: Vec<String>| {
        let path = path.to_owned();
        found.push(Pasted { path, text, output });
    };
    let text = joined(text);
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```").filter(|_| is_page) {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let is_shell = |line: &&str| command(line).is_some() || line.contains("'unbloat ");
            if language.is_empty() && block.iter().any(is_shell) {
                add(block.join("\n"), Vec::new());
            }
            continue;
        }
        let is_code = if is_page {
            line.starts_with("    ")
        } else {
            line.starts_with("# ")
        };
        let Some(text) = command(line).filter(|_| is_code) else {
            continue;
        };
        let mut output = Vec::new();
        if line.trim_start().starts_with("$ ") {
            let is_shown = |line: &&str| line.trim().is_empty() || line.starts_with("    ");
            let is_next = |line: &&str| command(line).is_some();
            while let Some(line) = lines.next_if(|line| is_shown(line) && !is_next(line)) {
                output.push(line.get(4..).unwrap_or_default().to_owned());
            }
            while output.last().is_some_and(String::is_empty) {
                output.pop();
            }
        }
        add(text, output);
    }
    found
}

/// Commands between backticks, which the README's tables name instead of showing them as lines.
pub fn named(path: &Path, text: &str) -> Vec<Pasted> {
    let spans = text.split('`').skip(1).step_by(2);
    let is_whole = |span: &&str| !span.contains('\n') && !span.contains("COMMAND");
    let commands = spans.filter(is_whole).filter_map(command);
    let commands = commands.filter(|command| command.contains("unbloat "));
    commands
        .map(|text| Pasted {
            path: path.to_owned(),
            text,
            output: Vec::new(),
        })
        .collect()
}
