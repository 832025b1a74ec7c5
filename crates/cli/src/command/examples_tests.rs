//! Examples in help texts and documents are valid command lines.

#[path = "../../tests/documents/text.rs"]
mod text;

use super::tree;
use clap::error::ErrorKind;
use std::fs;
use std::path::Path;
use text::{documents, joined, root};

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

#[test]
fn examples_of_help_are_valid() {
    fn check(command: &clap::Command, faults: &mut Vec<String>, count: &mut usize) {
        let help = command.get_after_help().map(ToString::to_string);
        // A longer line is broken in a terminal, and cannot be pasted.
        let lines = help.iter().flat_map(|text| text.lines());
        let wide = lines.filter(|line| line.starts_with("  ") && line.chars().count() > 80);
        faults.extend(wide.map(|line| format!("{line}: more than 80 columns")));
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

/// The rows of tables with a last column `evidence`, and those of them that name none: no link, or one to a file of tests without a test.
fn evidence(text: &str) -> (usize, Vec<&str>) {
    let (mut count, mut unfounded, mut is_evidence) = (0, Vec::new(), false);
    for line in text.lines() {
        let cells = line
            .strip_prefix("| ")
            .and_then(|row| row.strip_suffix(" |"));
        let Some(cells) = cells else {
            is_evidence &= line.starts_with("|--");
            continue;
        };
        let cell = cells.rsplit(" | ").next().unwrap_or(cells);
        if cell == "evidence" {
            is_evidence = true;
        } else if is_evidence {
            count += 1;
            if !cell.contains("](") || cell.contains(".rs)") {
                unfounded.push(line);
            }
        }
    }
    (count, unfounded)
}

#[test]
fn rows_of_comparisons_name_their_evidence() {
    let mut count = 0;
    for (path, text) in documents() {
        let (rows, unfounded) = evidence(&text);
        count += rows;
        assert!(unfounded.is_empty(), "{}: {unfounded:#?}", path.display());
    }
    assert!(count > 30, "{count} rows");
    let cells = ["[test](a.rs#b)", "[page](a.md)", "a test", "[test](a.rs)"];
    let tables = cells.map(|cell| format!("| what | evidence |\n|---|---|\n| x | {cell} |\n"));
    let unfounded = tables.map(|table| evidence(&table).1.len());
    assert_eq!(unfounded, [0, 0, 1, 1]);
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
                "" => root().join(&path),
                _ => root().join(path.parent().expect("a folder")).join(file),
            };
            let is_there = match fs::read_to_string(&led) {
                _ if fragment.is_empty() => led.exists(),
                // Of a file of tests, the name of a test.
                Ok(linked) if file.ends_with(".rs") => linked.contains(&format!("fn {fragment}(")),
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
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).expect("the summary");
    let is_page = |page: &&Path| page.extension().is_some_and(|e| e == "md");
    let documents = documents();
    let pages = documents
        .iter()
        .filter_map(|(path, _)| path.strip_prefix("docs").ok());
    let pages: Vec<&Path> = pages
        .filter(is_page)
        .filter(|page| !page.ends_with("SUMMARY.md"))
        .collect();
    assert!(pages.len() > 40, "{pages:?}");
    for page in pages {
        assert!(
            summary.contains(&format!("]({})", page.display())),
            "{page:?}"
        );
    }
}
