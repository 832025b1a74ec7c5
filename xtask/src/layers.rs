//! Which crate may depend on which.
//!
//! Each crate says in its Cargo.toml `[package.metadata.unbloat] layer = N, io = true|false`. A
//! crate may depend only on crates of lower layers, and one without I/O only on others without.

use serde_json::Value;
use std::collections::BTreeMap;
use std::process::{Command, ExitCode};

struct Member {
    layer: u64,
    io: bool,
    needs: Vec<String>,
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
        .ok_or("cargo metadata names no packages")?;
    let ours = packages
        .iter()
        .filter(|p| p["name"].as_str().is_some_and(|n| n != "xtask"));
    ours.map(member).collect()
}

fn member(package: &Value) -> Result<(String, Member), String> {
    let name = package["name"].as_str().unwrap_or_default().to_owned();
    let own = &package["metadata"]["unbloat"];
    let (Some(layer), Some(io)) = (own["layer"].as_u64(), own["io"].as_bool()) else {
        return Err(format!(
            "{name} lacks [package.metadata.unbloat] layer and io"
        ));
    };
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    let normal = dependencies.filter(|d| d["kind"].is_null());
    let names = normal.filter_map(|d| d["name"].as_str());
    let needs = names
        .filter(|n| n.starts_with("unbloat-"))
        .map(str::to_owned)
        .collect();
    Ok((name, Member { layer, io, needs }))
}

fn faults(members: &BTreeMap<String, Member>) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, member) in members {
        for (need, other) in member.needs.iter().filter_map(|n| members.get_key_value(n)) {
            if other.layer >= member.layer {
                faults.push(format!(
                    "{name} (layer {}) depends on {need} (layer {}): arrows only point down",
                    member.layer, other.layer
                ));
            }
            if other.io && !member.io {
                faults.push(format!(
                    "{name} is pure but depends on {need}, which does I/O"
                ));
            }
        }
    }
    faults
}

fn drawing(members: &BTreeMap<String, Member>) -> String {
    let mut layers: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for (name, member) in members {
        let mark = if member.io { "*" } else { "" };
        layers
            .entry(member.layer)
            .or_default()
            .push(format!("{name}{mark}"));
    }
    let lines = layers
        .iter()
        .rev()
        .map(|(layer, names)| format!("{layer}  {}\n", names.join("  ")));
    format!("{}* does I/O\n", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(members: &[(&str, u64, bool, &[&str])]) -> BTreeMap<String, Member> {
        let member = |&(name, layer, io, needs): &(&str, u64, bool, &[&str])| {
            let needs = needs.iter().map(|n| (*n).to_owned()).collect();
            (name.to_owned(), Member { layer, io, needs })
        };
        members.iter().map(member).collect()
    }

    #[test]
    fn arrows_that_point_down_are_fine() {
        assert!(faults(&world(&[("a", 0, false, &[]), ("b", 1, true, &["a"])])).is_empty());
    }

    #[test]
    fn sideways_upward_and_impure_arrows_are_faults() {
        let members = world(&[
            ("a", 1, true, &["b"]),
            ("b", 1, false, &["c"]),
            ("c", 0, true, &[]),
        ]);
        let found = faults(&members);
        assert_eq!(found.len(), 2);
        assert!(found[0].contains("arrows only point down") && found[1].contains("is pure"));
    }
}
