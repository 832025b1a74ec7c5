//! Skeletons of what is often added: a file that compiles with its test, and its lines in registry, module list and documentation.

use std::path::Path;
use std::process::ExitCode;

/// What can be added: a template, and where it and its lines go.
struct Sort {
    name: &'static str,
    template: &'static str,
    /// The file, with `NAME` for its name.
    file: &'static str,
    edits: &'static [Edit],
    next: &'static str,
}

/// A line of a file that exists.
struct Edit {
    file: &'static str,
    line: &'static str,
    at: At,
}

enum At {
    /// In alphabetical order among lines of this beginning.
    Among(&'static str),
    /// Before the line that closes the block that this line opens.
    EndOf(&'static str),
    /// Behind the last line of this beginning.
    Behind(&'static str),
}

const SORTS: [Sort; 5] = [
    Sort {
        name: "qdisc",
        template: include_str!("../templates/qdisc.rs"),
        file: "crates/model/qdisc/src/discipline/NAME.rs",
        edits: &[
            Edit {
                file: "crates/model/qdisc/src/discipline/mod.rs",
                line: "pub mod NAME;",
                at: At::Among("pub mod "),
            },
            Edit {
                file: "crates/model/qdisc/src/registry.rs",
                line: "    \"NAME\" => TYPE(NAME::TYPE),",
                at: At::EndOf("disciplines! {"),
            },
            Edit {
                file: "docs/scenario.md",
                line: "| `queue NAME` | `limit` | 1000 packets | Buffer size |",
                at: At::Behind("| `queue "),
            },
        ],
        next: "cargo test -p unbloat-qdisc -p unbloat-experiment",
    },
    Sort {
        name: "cc",
        template: include_str!("../templates/cc.rs"),
        file: "crates/model/tcp/src/congestion/NAME.rs",
        edits: &[
            Edit {
                file: "crates/model/tcp/src/congestion/mod.rs",
                line: "pub mod NAME;",
                at: At::Among("pub mod "),
            },
            Edit {
                file: "crates/model/tcp/src/congestion/registry.rs",
                line: "    \"NAME\" => TYPE(NAME::TYPE),",
                at: At::EndOf("controls! {"),
            },
            Edit {
                file: "docs/scenario.md",
                line: "| `cc NAME` | `growth` | 1 | Segments to grow by per round |",
                at: At::Behind("| `cc "),
            },
        ],
        next: "cargo test -p unbloat-tcp -p unbloat-experiment",
    },
    Sort {
        name: "rule",
        template: include_str!("../templates/rule.rs"),
        file: "crates/model/tcp/src/receive_window/NAME.rs",
        edits: &[
            Edit {
                file: "crates/model/tcp/src/receive_window/mod.rs",
                line: "pub mod NAME;",
                at: At::Among("pub mod "),
            },
            Edit {
                file: "crates/model/tcp/src/receive_window/registry.rs",
                line: "    \"NAME\" => TYPE(NAME::TYPE),",
                at: At::EndOf("rules! {"),
            },
            Edit {
                file: "docs/scenario.md",
                line: "| `receive_window NAME` | `initial` | 65536 B | First window |\n| `receive_window NAME` | `max` | 3145728 B | Largest window |",
                at: At::Behind("| `receive_window "),
            },
        ],
        next: "cargo test -p unbloat-tcp -p unbloat-experiment",
    },
    Sort {
        name: "analysis",
        template: include_str!("../templates/analysis.rs"),
        file: "crates/observe/trace/src/analysis/NAME.rs",
        edits: &[
            Edit {
                file: "crates/observe/trace/src/analysis/mod.rs",
                line: "mod NAME;",
                at: At::Among("mod "),
            },
            Edit {
                file: "crates/observe/trace/src/analysis/registry.rs",
                line: "    NAME in talk: super::NAME::TYPE,",
                at: At::EndOf("analyses! {"),
            },
        ],
        next: "UNBLOAT_BLESS=1 cargo test -p unbloat-trace -p unbloat-cli",
    },
    Sort {
        name: "probe",
        template: include_str!("../templates/probe.rs"),
        file: "crates/measure/locate-host/src/probe/NAME.rs",
        edits: &[
            Edit {
                file: "crates/measure/locate-host/src/probe/mod.rs",
                line: "mod NAME;",
                at: At::Among("mod "),
            },
            Edit {
                file: "crates/measure/locate-host/src/probe/registry.rs",
                line: "    \"NAME\" => TYPE(NAME),",
                at: At::EndOf("kinds! {"),
            },
        ],
        next: "cargo test -p unbloat-locate-host; name it in docs/locate.md and in the help of --probe",
    },
];

pub(crate) fn run(words: &[String], root: &Path) -> ExitCode {
    match new(words, root) {
        Ok(done) => {
            println!("{done}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("new: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Adds it and says what was written.
fn new(words: &[String], root: &Path) -> Result<String, String> {
    let kinds = || SORTS.map(|sort| sort.name).join(", ");
    let [kind, name] = words else {
        return Err(format!(
            "expected a kind and a name, such as: cargo xtask new qdisc sfq; kinds: {}",
            kinds()
        ));
    };
    let sort = SORTS
        .iter()
        .find(|sort| sort.name == kind)
        .ok_or_else(|| format!("unknown kind {kind:?}; kinds: {}", kinds()))?;
    if !is_module_name(name) {
        return Err(format!(
            "{name:?} is no module name; use lower-case letters, digits and underscores"
        ));
    }
    let filled = |text: &str| text.replace("NAME", name).replace("TYPE", &type_name(name));
    let file = filled(sort.file);
    if root.join(&file).exists() {
        return Err(format!("{file} exists"));
    }
    // All texts before the first is written.
    let mut written = vec![(file, filled(sort.template))];
    for edit in sort.edits {
        let old = read(root, edit.file)?;
        let new = inserted(&old, &filled(edit.line), &edit.at)
            .ok_or_else(|| format!("{} has changed: no place for {:?}", edit.file, edit.line))?;
        written.push((edit.file.to_owned(), new));
    }
    let mut done = String::new();
    for (path, text) in &written {
        std::fs::write(root.join(path), text).map_err(|e| format!("cannot write {path}: {e}"))?;
        done.push_str(&format!("wrote {path}\n"));
    }
    Ok(format!("{done}next: cargo fmt --all; {}", sort.next))
}

fn read(root: &Path, path: &str) -> Result<String, String> {
    std::fs::read_to_string(root.join(path)).map_err(|e| format!("cannot read {path}: {e}"))
}

fn is_module_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_lowercase())
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

/// `fair_red` becomes `FairRed`.
fn type_name(name: &str) -> String {
    let words = name.split('_').map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + rest
    });
    words.collect()
}

fn inserted(text: &str, line: &str, at: &At) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let index = match at {
        At::Among(beginning) => {
            let of_kind = |(_, one): &(usize, &&str)| one.starts_with(beginning);
            let later = |(_, one): &(usize, &&str)| **one > line;
            let mut among = lines.iter().enumerate().filter(of_kind);
            let last = among.clone().next_back()?.0;
            among.find(later).map_or(last + 1, |(index, _)| index)
        }
        At::EndOf(opening) => {
            let open = lines.iter().position(|one| one == opening)?;
            open + lines[open..].iter().position(|one| *one == "}")?
        }
        At::Behind(beginning) => lines.iter().rposition(|one| one.starts_with(beginning))? + 1,
    };
    let (before, after) = lines.split_at(index);
    let mut all = before.to_vec();
    all.push(line);
    all.extend(after);
    Some(all.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

    fn copied(from: &Path, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        for entry in from.read_dir().unwrap() {
            let entry = entry.unwrap();
            let (path, target) = (entry.path(), to.join(entry.file_name()));
            if entry.file_type().unwrap().is_dir() {
                copied(&path, &target);
            } else {
                std::fs::copy(path, target).unwrap();
            }
        }
    }

    /// The crates that skeletons go to, in a workspace of their own.
    fn workspace(folder: &Path) {
        let root = Path::new(ROOT);
        let members = [
            "crates/base/os",
            "crates/base/params",
            "crates/base/stats",
            "crates/base/table",
            "crates/base/units",
            "crates/measure/locate",
            "crates/measure/locate-host",
            "crates/model/qdisc",
            "crates/model/tcp",
            "crates/observe/dissect",
            "crates/observe/trace",
            "crates/observe/wire",
        ];
        for member in members {
            copied(
                &root.join(member).join("src"),
                &folder.join(member).join("src"),
            );
            let manifest = std::fs::read_to_string(root.join(member).join("Cargo.toml")).unwrap();
            // Their tests use crates that are not here, and skeletons need none.
            let mut sections = manifest.split("\n[");
            let kept = sections.next().unwrap().to_owned();
            let kept = sections
                .filter(|section| !section.starts_with("dev-") && !section.starts_with('['))
                .fold(kept, |kept, section| kept + "\n[" + section);
            std::fs::write(folder.join(member).join("Cargo.toml"), kept).unwrap();
        }
        let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
        let (_, rest) = manifest.split_once("\n[workspace.package]").unwrap();
        let head =
            format!("[workspace]\nresolver = \"3\"\nmembers = {members:?}\n\n[workspace.package]");
        std::fs::write(folder.join("Cargo.toml"), head + rest).unwrap();
        std::fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
        std::fs::create_dir(folder.join("docs")).unwrap();
        std::fs::copy(
            root.join("docs/scenario.md"),
            folder.join("docs/scenario.md"),
        )
        .unwrap();
    }

    #[test]
    fn skeletons_compile_and_their_tests_pass() {
        let folder = tempfile::tempdir().unwrap();
        workspace(folder.path());
        for sort in &SORTS {
            let words = [sort.name.to_owned(), "quite_new".to_owned()];
            let done = new(&words, folder.path()).unwrap();
            assert!(done.contains("quite_new.rs"), "{done}");
            let again = new(&words, folder.path()).unwrap_err();
            assert!(again.contains("exists"), "{again}");
        }
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let output = Command::new(cargo)
            .args(["test", "--lib", "--offline"])
            .args([
                "-p",
                "unbloat-qdisc",
                "-p",
                "unbloat-tcp",
                "-p",
                "unbloat-trace",
                "-p",
                "unbloat-locate-host",
            ])
            .arg("quite_new")
            .current_dir(folder.path())
            .env("CARGO_TARGET_DIR", folder.path().join("target"))
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
            .env("RUSTFLAGS", "-D warnings")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success(),
            "{said}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        for test in [
            "congestion",
            "discipline",
            "receive_window",
            "analysis",
            "probe",
        ] {
            assert!(
                said.contains(&format!("{test}::quite_new::tests::")),
                "{said}"
            );
        }
        let documented = read(folder.path(), "docs/scenario.md").unwrap();
        assert!(documented.contains("| `queue quite_new` | `limit` |"));
    }

    #[test]
    fn what_is_no_kind_or_no_name_is_refused() {
        let refused = |words: &[&str]| {
            let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
            new(&words, Path::new(ROOT)).unwrap_err()
        };
        assert!(refused(&[]).contains("cargo xtask new qdisc"));
        assert!(refused(&["queue", "x"]).contains("kinds: qdisc, cc"));
        assert!(refused(&["qdisc", "../x"]).contains("lower-case"));
        assert!(refused(&["qdisc", "codel"]).contains("exists"));
    }
}
