//! Where runs are, and `unbloat runs`.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

const CAPTURE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../captures/bloated-link.pcap.zst"
);

/// A user's home, and the folder that the user is in.
struct User {
    home: TempDir,
    here: TempDir,
}

impl User {
    fn new() -> User {
        let folder = || tempfile::tempdir().expect("a folder");
        User {
            home: folder(),
            here: folder(),
        }
    }

    fn unbloat(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unbloat"));
        command.args(words).current_dir(&self.here);
        command
            .env("HOME", self.home.path())
            .env_remove("XDG_DATA_HOME")
            .env_remove("UNBLOAT_RUNS");
        command.output().expect("the command starts")
    }

    /// What it prints, if it works.
    fn printed(&self, words: &[&str]) -> String {
        let output = self.unbloat(words);
        let told = String::from_utf8(output.stderr).expect("text");
        assert!(output.status.success(), "{words:?}: {told}");
        String::from_utf8(output.stdout).expect("text")
    }

    fn list(&self) -> Value {
        serde_json::from_str(&self.printed(&["runs", "list", "--json"])).expect("JSON")
    }

    fn names(&self) -> Vec<String> {
        let runs = self.list();
        let runs = runs["runs"].as_array().expect("an array").iter();
        runs.map(|run| run["name"].as_str().expect("a name").to_owned())
            .collect()
    }
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).expect("a folder").next().is_none()
}

#[test]
fn runs_are_kept_in_the_home_and_known_by_name() {
    let user = User::new();
    assert!(user.names().is_empty());
    let verdict = user.printed(&["analyze", CAPTURE, "--quiet"]);
    user.printed(&["analyze", CAPTURE, "--quiet"]);
    assert!(
        is_empty(user.here.path()),
        "something was left in the current folder"
    );
    let runs = user.home.path().join(".local/share/unbloat/runs");
    let names = user.names();
    let [first, second] = names.as_slice() else {
        panic!("{names:?}");
    };
    assert!(runs.join(first).join("run.json").exists());
    let list = user.list();
    let size = list["runs"][0]["size_bytes"].as_u64().expect("a size");
    let files = fs::read_dir(runs.join(first)).expect("a run");
    let sum: u64 = files
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    assert_eq!(size, sum);
    let sentence = list["runs"][0]["result"].as_str().expect("a result");
    assert!(verdict.starts_with(sentence), "{verdict}");
    for words in [vec!["runs", "show"], vec!["runs", "show", first]] {
        assert!(user.printed(&words).contains(&verdict), "{words:?}");
    }
    let same = user.printed(&["compare", first, second]);
    assert!(same.starts_with("No difference"), "{same}");
    user.printed(&["report", "latest"]);
    assert!(is_empty(user.here.path()));
}

/// Simulations and comparisons conclude something, too.
#[test]
fn the_list_has_the_verdict_of_every_kind_of_run() {
    let user = User::new();
    let scenario = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../scenarios/bulk-and-call.toml"
    );
    let short = |queue: &str| {
        user.printed(&[
            "sim",
            scenario,
            "--quiet",
            "--set",
            &format!("link.down.queue.kind={queue:?}"),
        ])
    };
    short("droptail");
    short("fq_codel");
    let names = user.names();
    user.printed(&["compare", &names[0], "latest", "--out", "both"]);
    let shown = |run: &str| user.printed(&["runs", "show", run]);
    assert!(
        shown(&names[0]).contains("\nGrade "),
        "{}",
        shown(&names[0])
    );
    let compared = shown("both");
    assert!(compared.contains("\nB is better in "), "{compared}");
    let listed = user.list();
    for run in listed["runs"].as_array().expect("an array") {
        assert!(
            run["result"]
                .as_str()
                .expect("a result")
                .starts_with("Grade ")
        );
    }
    let page = fs::read_to_string(
        user.home
            .path()
            .join(".local/share/unbloat/runs/latest/report.html"),
    );
    let result = listed["runs"][1]["result"].as_str().expect("a result");
    assert!(page.expect("a report").contains(result), "{result}");
}

#[test]
fn only_the_chosen_runs_are_removed_and_latest_is_the_newest_that_is_left() {
    let user = User::new();
    user.printed(&["analyze", CAPTURE, "--quiet"]);
    user.printed(&["analyze", CAPTURE, "--quiet"]);
    let runs = user.home.path().join(".local/share/unbloat/runs");
    // No runs: a folder of the user's own, and a link to elsewhere.
    fs::create_dir(runs.join("own")).unwrap();
    std::os::unix::fs::symlink("/etc", runs.join("link")).unwrap();
    let names = user.names();
    assert_eq!(names.len(), 2);
    let refused = user.unbloat(&["runs", "clean", "own"]);
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(user.unbloat(&["runs", "clean"]).status.code(), Some(2));
    user.printed(&["runs", "clean", "--older-than", "1 d"]);
    let would = user.printed(&["runs", "clean", "--older-than", "0 s", "--dry-run"]);
    assert_eq!(would.lines().collect::<Vec<_>>(), names);
    assert_eq!(user.names(), names);
    user.printed(&["runs", "clean", &names[1]]);
    assert_eq!(user.names(), names[..1]);
    assert_eq!(
        fs::read_link(runs.join("latest")).unwrap(),
        Path::new(&names[0])
    );
    user.printed(&["runs", "clean", "--older-than", "0 s"]);
    assert!(user.names().is_empty());
    let mut left: Vec<_> = fs::read_dir(&runs)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["link", "own"]);
}

#[test]
fn a_run_with_a_place_of_its_own_is_written_there_and_nothing_else_is() {
    let user = User::new();
    user.printed(&["analyze", CAPTURE, "--quiet", "--out", "mine"]);
    let entries = fs::read_dir(user.here.path()).unwrap();
    let names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["mine"]);
    assert!(is_empty(user.home.path()));
}

#[test]
fn defaults_come_from_the_configuration_of_the_user() {
    let user = User::new();
    let folder = user.home.path().join(".config/unbloat");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("config.toml");
    fs::write(&file, "[model]\nrate = '20 Mbit/s'\nno-run = true\n").unwrap();
    let printed = user.printed(&["model", "--utilisation", "0.95"]);
    assert!(
        printed.starts_with("20.00 Mbit/s in packets of"),
        "{printed}"
    );
    assert!(user.names().is_empty());
    fs::write(&file, "[model]\nrat = 1\n").unwrap();
    let refused = user.unbloat(&["model", "--utilisation", "0.95"]);
    assert_eq!(refused.status.code(), Some(2));
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(
        told.contains("config.toml: model.rat: no such option"),
        "{told}"
    );
}

/// What a diagnosis says is what the commands then do.
#[test]
fn a_diagnosis_names_what_is_missing_and_for_whom() {
    let user = User::new();
    let printed = user.printed(&["doctor", "--json"]);
    let diagnosis: Value = serde_json::from_str(&printed).expect("JSON");
    let checks = diagnosis["checks"].as_array().expect("an array");
    assert!(checks.len() >= 10);
    for check in checks {
        let needs_words = check["state"] != "works";
        assert_eq!(needs_words, check["affects"].is_string(), "{check}");
        assert_eq!(needs_words, check["mend"].is_string(), "{check}");
    }
    let state = |name: &str| {
        let found = checks.iter().find(|check| check["name"] == name);
        found.expect("a check of this name")["state"].clone()
    };
    assert_eq!(state("runs"), "works");
    let watch = user.unbloat(&["watch", "--json", "--duration", "1 s"]);
    let first = String::from_utf8(watch.stdout).unwrap();
    let first: Option<Value> = first
        .lines()
        .next()
        .map(|line| serde_json::from_str(line).unwrap());
    let measures = first.is_some_and(|line| line["is_measured"] == true);
    assert_eq!(measures, state("BPF") == "works");
}
