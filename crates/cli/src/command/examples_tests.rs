//! Examples in help texts and documents are valid command lines.

use super::tree;
use clap::error::ErrorKind;
use std::fs;
use std::path::{Path, PathBuf};

/// The words of a command line up to a pipe, a redirection or a remark (two spaces, or `#`). None: not a command of ours.
fn words(line: &str) -> Option<Vec<String>> {
    let line = line.trim().trim_start_matches("# ").trim_start();
    let line = line.strip_prefix("$ ").unwrap_or(line);
    let line = line.strip_prefix("sudo ").unwrap_or(line);
    let namespace = line.strip_prefix("ip netns exec ");
    let line = namespace.map_or(line, |rest| rest.split_once(' ').map_or("", |two| two.1));
    if !line.starts_with("unbloat ") {
        return None;
    }
    let (mut words, mut word, mut quote) = (Vec::new(), None, None);
    let mut last = ' ';
    for c in line.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => word.get_or_insert_with(String::new).push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_with(String::new);
            }
            (None, ' ') if last == ' ' => break,
            (None, '|' | '>' | '#' | '&' | ';') if last == ' ' => break,
            (None, ' ') => words.extend(word.take()),
            _ => word.get_or_insert_with(String::new).push(c),
        }
        last = c;
    }
    words.extend(word);
    Some(words)
}

/// Joins lines that end with a backslash.
fn joined(text: &str) -> String {
    text.replace(" \\\n", " \u{0}")
        .split('\u{0}')
        .map(str::trim_start)
        .collect::<Vec<_>>()
        .join(" ")
        .replace("  --", " --")
}

fn fault(words: &[String]) -> Option<ErrorKind> {
    // The parser checks fingerprints: the word FINGERPRINT of an example needs a value of that form.
    let fingerprint = "0".repeat(64);
    let words = words.iter().map(|word| match &word[..] {
        "FINGERPRINT" => fingerprint.as_str(),
        other => other,
    });
    let parsed = tree().try_get_matches_from(words);
    let kind = parsed.err()?.kind();
    (kind != ErrorKind::DisplayHelp).then_some(kind)
}

fn documents() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("README.md"), root.join("SECURITY.md")];
    for folder in ["docs", "scenarios", "campaigns"] {
        let entries = fs::read_dir(root.join(folder)).expect("a folder of the project");
        files.extend(entries.map(|entry| entry.expect("an entry").path()));
    }
    files.sort();
    let is_text = |path: &PathBuf| path.extension().is_some_and(|e| e == "md" || e == "toml");
    files.retain(is_text);
    files
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).expect("a text");
            (path, text)
        })
        .collect()
}

#[test]
fn examples_of_help_are_valid() {
    fn check(command: &clap::Command, faults: &mut Vec<String>, count: &mut usize) {
        let help = command.get_after_help().map(ToString::to_string);
        for line in joined(&help.unwrap_or_default()).lines() {
            if let Some(words) = words(line) {
                *count += 1;
                faults.extend(fault(&words).map(|kind| format!("{line}: {kind:?}")));
            }
        }
        for sub in command.get_subcommands() {
            check(sub, faults, count);
        }
    }
    let (mut faults, mut count) = (Vec::new(), 0);
    check(&tree(), &mut faults, &mut count);
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
    assert!(count > 60, "{count} examples");
}

#[test]
fn examples_of_documents_are_valid() {
    let (mut faults, mut count) = (Vec::new(), 0);
    for (path, text) in documents() {
        let is_example = |line: &&str| line.starts_with("    ") || line.starts_with("# ");
        for line in joined(&text).lines().filter(is_example) {
            if let Some(words) = words(line) {
                count += 1;
                let said =
                    fault(&words).map(|kind| format!("{}: {line}: {kind:?}", path.display()));
                faults.extend(said);
            }
        }
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
    assert!(count > 60, "{count} examples");
}

/// In sentences, commands are often named without all of their arguments.
#[test]
fn commands_in_sentences_exist() {
    let (mut faults, mut count) = (Vec::new(), 0);
    for (path, text) in documents() {
        // Every second part is between backticks.
        for span in text.split('`').skip(1).step_by(2) {
            let is_general = span.contains('\n') || span.contains("COMMAND");
            let Some(words) = words(span).filter(|_| !is_general) else {
                continue;
            };
            count += 1;
            let kind = fault(&words);
            let is_wrong = matches!(
                kind,
                Some(ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand)
            );
            if is_wrong {
                faults.push(format!("{}: {span}: {kind:?}", path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
    assert!(count > 60, "{count} commands");
}

/// Options in the tables of documents: `| `--option VALUE` | …`.
#[test]
fn options_in_tables_of_documents_exist() {
    let mut known = Vec::new();
    fn collect(command: &clap::Command, known: &mut Vec<String>) {
        let longs = command.get_arguments().filter_map(|arg| arg.get_long());
        known.extend(longs.map(str::to_owned));
        command
            .get_subcommands()
            .for_each(|sub| collect(sub, known));
    }
    collect(&tree(), &mut known);
    let (mut faults, mut count) = (Vec::new(), 0);
    for (path, text) in documents() {
        for line in text
            .lines()
            .filter(|line| line.starts_with("| `--") && !line.starts_with("| `-- "))
        {
            let cell = line.split(" | ").next().unwrap_or(line);
            for option in cell.split('`').filter_map(|span| span.strip_prefix("--")) {
                let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
                let end = option.find(|c| !is_name(c)).unwrap_or(option.len());
                count += 1;
                if !known.iter().any(|name| *name == option[..end]) {
                    faults.push(format!("{}: --{option}", path.display()));
                }
            }
        }
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
    assert!(count > 40, "{count} options");
}

/// The anchor that a Markdown renderer gives to a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn links_of_documents_lead_somewhere() {
    let (mut faults, mut count) = (Vec::new(), 0);
    for (path, text) in documents() {
        for rest in text.split("](").skip(1) {
            let target = rest.split(')').next().unwrap_or_default();
            if target.contains("://") || target.contains(char::is_whitespace) {
                continue;
            }
            count += 1;
            let (file, fragment) = target.split_once('#').unwrap_or((target, ""));
            let led = match file {
                "" => path.clone(),
                _ => path.parent().expect("a folder").join(file),
            };
            let is_there = match fs::read_to_string(&led) {
                _ if fragment.is_empty() => led.exists(),
                Ok(linked) => linked.lines().any(|line| {
                    let heading = line
                        .strip_prefix('#')
                        .map(|behind| behind.trim_start_matches('#'));
                    heading.is_some_and(|heading| anchor(heading) == fragment)
                }),
                Err(_) => false,
            };
            if !is_there {
                faults.push(format!("{}: {target}", path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
    assert!(count > 100, "{count} links");
}

#[test]
fn every_page_of_the_documentation_is_in_its_summary() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let summary = fs::read_to_string(folder.join("SUMMARY.md")).expect("the summary");
    let names = fs::read_dir(&folder).expect("the documentation");
    let names = names.map(|entry| entry.expect("a file").file_name().into_string().unwrap());
    let pages: Vec<String> = names
        .filter(|name| name.ends_with(".md") && name != "SUMMARY.md")
        .collect();
    assert!(pages.len() > 30, "{pages:?}");
    for page in pages {
        assert!(summary.contains(&format!("]({page})")), "{page}");
    }
}
