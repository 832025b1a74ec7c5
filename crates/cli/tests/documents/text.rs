//! The texts that people read, and the command lines in them.

use std::fs;
use std::path::{Path, PathBuf};

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README, documentation, and the files of examples, by their path in the repository.
pub fn documents() -> Vec<(PathBuf, String)> {
    let mut files = vec![PathBuf::from("README.md"), PathBuf::from("SECURITY.md")];
    for folder in ["docs", "docs/tutorial", "scenarios", "campaigns"] {
        let entries = fs::read_dir(root().join(folder)).expect("a folder of the project");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        files.extend(names.map(|name| Path::new(folder).join(name)));
    }
    files.sort();
    let is_text = |path: &PathBuf| path.extension().is_some_and(|e| e == "md" || e == "toml");
    files.retain(is_text);
    let read = |path: PathBuf| {
        let text = fs::read_to_string(root().join(&path)).expect("a text");
        (path, text)
    };
    files.into_iter().map(read).collect()
}

/// Joins lines that end with a backslash.
pub fn joined(text: &str) -> String {
    text.replace(" \\\n", " \u{0}")
        .split('\u{0}')
        .map(str::trim_start)
        .collect::<Vec<_>>()
        .join(" ")
        .replace("  --", " --")
}
