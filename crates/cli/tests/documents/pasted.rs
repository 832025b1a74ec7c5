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
const PROGRAMS: [&str; 14] = [
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
    "timeout",
    "tools/",
    "zcat",
];

/// The command of a line, without its indent, prompt and remark (two spaces, or `#`).
fn command(line: &str) -> Option<String> {
    let bare = line.trim();
    let bare = bare.strip_prefix("# ").unwrap_or(bare).trim_start();
    let bare = bare.strip_prefix("$ ").unwrap_or(bare);
    let (mut quote, mut last, mut end) = (None, ' ', bare.len());
    for (at, c) in bare.char_indices() {
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
    let text = bare[..end].trim();
    let words = text.strip_prefix("sudo ").unwrap_or(text);
    let words = words.strip_prefix("ip netns exec NAME ").unwrap_or(words);
    let is_of = |program: &&str| match program.ends_with('/') {
        true => words.starts_with(program),
        false => words
            .strip_prefix(program)
            .is_some_and(|rest| rest.starts_with(' ')),
    };
    PROGRAMS.iter().any(is_of).then(|| text.to_owned())
}

/// Lines of shell, other than examples of files and output.
fn is_shell(line: &str) -> bool {
    command(line).is_some() || line.contains("'unbloat ")
}

/// Shown below a command: indented, and no command itself.
fn is_output(line: &str) -> bool {
    (line.trim().is_empty() || line.starts_with("    ")) && command(line).is_none()
}

/// What can be pasted from a document.
pub fn pasted(path: &Path, document: &str) -> Vec<Pasted> {
    let is_page = path.extension().is_some_and(|e| e == "md");
    let mut found = Vec::new();
    let mut add = |text: String, output: Vec<String>| {
        let path = path.to_owned();
        found.push(Pasted { path, text, output });
    };
    let whole = joined(document);
    let mut lines = whole.lines().peekable();
    while let Some(first) = lines.next() {
        if let Some(language) = first.strip_prefix("```").filter(|_| is_page) {
            let block: Vec<&str> = lines.by_ref().take_while(|next| *next != "```").collect();
            if language.is_empty() && block.iter().any(|next| is_shell(next)) {
                add(block.join("\n"), Vec::new());
            }
            continue;
        }
        let mark = if is_page { "    " } else { "# " };
        let Some(one) = command(first).filter(|_| first.starts_with(mark)) else {
            continue;
        };
        let mut output = Vec::new();
        if first.trim_start().starts_with("$ ") {
            while let Some(below) = lines.next_if(|next| is_output(next)) {
                output.push(below.get(4..).unwrap_or_default().to_owned());
            }
            while output.last().is_some_and(String::is_empty) {
                output.pop();
            }
        }
        add(one, output);
    }
    found
}

/// Commands between backticks, which the README's tables name instead of showing them as lines.
pub fn named(path: &Path, document: &str) -> Vec<Pasted> {
    let spans = document.split('`').skip(1).step_by(2);
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
