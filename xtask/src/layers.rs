//! Which crate may depend on which.
//!
//! The folder of a crate is its wing. A crate depends only on crates of its own wing and of wings below it; Cargo refuses circles within a wing.
//! This holds for dependencies of tests too. A crate whose `lib.rs` has [`PURE`] does no I/O and depends only on crates that do none.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, ExitCode};

/// From bottom to top.
const WINGS: [&str; 11] = [
    "base", "observe", "model", "measure", "cure", "lab", "report", "api", "cli", "python", "tools",
];

/// The attribute by which a crate declares that it does no I/O; `clippy.toml` lists what it bans.
const PURE: &str = "#![warn(clippy::disallowed_methods)]";

struct Member {
    wing: usize,
    is_pure: bool,
    needs: Vec<Need>,
}

struct Need {
    name: String,
    is_for_tests: bool,
}

pub(crate) fn run() -> ExitCode {
    let members = match members() {
        Ok(members) => members,
        Err(error) => {
            eprintln!("layers: {error}");
            return ExitCode::FAILURE;
        }
    };
    print!("{}", drawing(&members));
    let faults = faults(&members);
    for fault in &faults {
        eprintln!("layers: {fault}");
    }
    if faults.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn members() -> Result<BTreeMap<String, Member>, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .output()
        .map_err(|e| format!("cannot run cargo metadata: {e}"))?;
    let metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo metadata: {e}"))?;
    let packages = metadata["packages"]
        .as_array()
        .ok_or("cargo metadata lists no packages")?;
    let ours = packages
        .iter()
        .filter(|p| p["name"].as_str().is_some_and(|n| n != "xtask"));
    ours.map(member).collect()
}

fn member(package: &Value) -> Result<(String, Member), String> {
    let name = package["name"].as_str().unwrap_or_default().to_owned();
    let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
    let folders = manifest.iter().filter_map(|part| part.to_str());
    let wing = folders
        .filter_map(|folder| WINGS.iter().position(|wing| *wing == folder))
        .next_back()
        .ok_or_else(|| format!("{name} is in no wing: {}", manifest.display()))?;
    let library = manifest.with_file_name("src").join("lib.rs");
    let text = std::fs::read_to_string(library).unwrap_or_default();
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    let needs = dependencies.filter_map(|dependency| {
        let need = dependency["name"].as_str()?;
        need.starts_with("unbloat-").then(|| Need {
            name: need.to_owned(),
            is_for_tests: dependency["kind"] == "dev",
        })
    });
    let member = Member {
        wing,
        is_pure: text.lines().any(|line| line == PURE),
        needs: needs.collect(),
    };
    Ok((name, member))
}

fn faults(members: &BTreeMap<String, Member>) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, member) in members {
        for need in &member.needs {
            let Some(other) = members.get(&need.name) else {
                continue;
            };
            if other.wing > member.wing {
                faults.push(format!(
                    "{name} ({}) depends on {} ({}), a wing above its own",
                    WINGS[member.wing], need.name, WINGS[other.wing]
                ));
            }
            if member.is_pure && !other.is_pure && !need.is_for_tests {
                faults.push(format!(
                    "{name} is pure but depends on {}, which does I/O",
                    need.name
                ));
            }
        }
    }
    faults
}

/// The wings from top to bottom, each with its crates and the wings that it uses.
fn drawing(members: &BTreeMap<String, Member>) -> String {
    let line = |(wing, name): (usize, &&str)| {
        let own = members.iter().filter(|(_, member)| member.wing == wing);
        let crates = own.clone().map(|(full, member)| {
            let short = full.strip_prefix("unbloat-").unwrap_or(full);
            format!("{short}{}", if member.is_pure { "" } else { "*" })
        });
        let needs = own.flat_map(|(_, member)| &member.needs);
        let used: BTreeSet<usize> = needs
            .filter(|need| !need.is_for_tests)
            .filter_map(|need| members.get(&need.name))
            .map(|other| other.wing)
            .filter(|other| *other != wing)
            .collect();
        let used: Vec<&str> = used.into_iter().map(|index| WINGS[index]).collect();
        let arrow = if used.is_empty() { "" } else { "  -> " };
        let crates = crates.collect::<Vec<_>>().join("  ");
        format!("{name:8} {crates}{arrow}{}\n", used.join(", "))
    };
    let lines = WINGS.iter().enumerate().rev().map(line);
    format!("{}* does I/O\n", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(members: &[(&str, usize, bool, &[&str])]) -> BTreeMap<String, Member> {
        let member = |&(name, wing, is_pure, needs): &(&str, usize, bool, &[&str])| {
            let needs = needs.iter().map(|need| Need {
                name: (*need).to_owned(),
                is_for_tests: false,
            });
            let member = Member {
                wing,
                is_pure,
                needs: needs.collect(),
            };
            (name.to_owned(), member)
        };
        members.iter().map(member).collect()
    }

    #[test]
    fn a_crate_may_use_its_own_wing_and_those_below() {
        let members = world(&[
            ("a", 0, true, &[]),
            ("b", 1, false, &["a", "c"]),
            ("c", 1, false, &[]),
        ]);
        assert!(faults(&members).is_empty());
    }

    #[test]
    fn a_wing_above_and_io_below_a_pure_crate_are_faults() {
        let members = world(&[
            ("a", 1, true, &["b", "c"]),
            ("b", 2, true, &[]),
            ("c", 0, false, &[]),
        ]);
        let found = faults(&members);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("a wing above") && found[1].contains("is pure"));
    }

    #[test]
    fn the_drawing_has_a_line_for_each_wing_and_what_it_uses() {
        let members = world(&[
            ("unbloat-a", 0, true, &[]),
            ("unbloat-b", 1, false, &["unbloat-a"]),
        ]);
        let drawing = drawing(&members);
        assert!(drawing.contains("observe  b*  -> base\n"), "{drawing}");
        assert!(drawing.contains("base     a\n"), "{drawing}");
    }
}
