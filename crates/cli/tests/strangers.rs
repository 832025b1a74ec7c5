//! Folders of strangers: whatever they hold, the files of who opens them stay as they are, and no command waits for ever.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const CAPTURE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../captures/bloated-link.pcap.zst"
);
/// What a command that waits for the other end of a FIFO would take.
const PATIENCE: Duration = Duration::from_secs(60);
/// What keys and files of the user have before and after.
const PRECIOUS: &str = "mine\n";

/// A home with a precious file, and in it the folder `run` of a stranger.
struct Victim {
    home: TempDir,
}

impl Victim {
    fn new() -> Victim {
        let home = tempfile::tempdir().expect("a folder");
        fs::create_dir(home.path().join(".ssh")).expect("a folder");
        let victim = Victim { home };
        fs::write(victim.keys(), PRECIOUS).expect("a file");
        victim
    }

    /// With a run of a capture as the stranger's.
    fn with_run() -> Victim {
        let victim = Victim::new();
        let made = victim.unbloat(&["analyze", CAPTURE, "--quiet", "--out", "run"]);
        assert!(made.status.success(), "{made:?}");
        victim
    }

    fn keys(&self) -> PathBuf {
        self.home.path().join(".ssh/authorized_keys")
    }

    fn run(&self) -> PathBuf {
        self.home.path().join("run")
    }

    /// Runs it; kills it if it waits for what never comes.
    fn unbloat(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unbloat"));
        command.args(words).current_dir(&self.home);
        command
            .env("HOME", self.home.path())
            .env_remove("UNBLOAT_RUNS");
        command
            .env_remove("XDG_DATA_HOME")
            .env_remove("XDG_CONFIG_HOME");
        command.stdin(std::process::Stdio::null());
        let (out, err) = (self.home.path().join(".out"), self.home.path().join(".err"));
        command.stdout(fs::File::create(&out).unwrap());
        command.stderr(fs::File::create(&err).unwrap());
        let mut child = command.spawn().expect("the command starts");
        let begun = Instant::now();
        let status = loop {
            match child.try_wait().expect("a child") {
                Some(status) => break status,
                None if begun.elapsed() > PATIENCE => {
                    child.kill().expect("it can be ended");
                    panic!("{words:?} hangs");
                }
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        Output {
            status,
            stdout: fs::read(out).unwrap(),
            stderr: fs::read(err).unwrap(),
        }
    }

    fn assert_unharmed(&self) {
        assert_eq!(fs::read_to_string(self.keys()).expect("a file"), PRECIOUS);
    }
}

fn fifo(path: &Path) {
    let _ = fs::remove_file(path);
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.expect("coreutils").success());
}

#[test]
fn a_report_is_not_written_through_a_link() {
    let victim = Victim::with_run();
    for (words, name) in [
        (&["report", "run"][..], "report.html"),
        (&["report", "run", "--flow", "1"], "report-1.html"),
    ] {
        let page = victim.run().join(name);
        let _ = fs::remove_file(&page);
        symlink("../.ssh/authorized_keys", &page).expect("a link");
        let output = victim.unbloat(words);
        victim.assert_unharmed();
        assert!(output.status.success(), "{output:?}");
        let written = fs::symlink_metadata(&page).expect("a page");
        assert!(written.is_file() && written.len() > 10_000, "{name}");
    }
    // What the user names is written to as ever: a pipe, or a link of theirs.
    let named = victim.home.path().join("named.html");
    symlink("page.html", &named).expect("a link");
    let output = victim.unbloat(&["report", "run", "--output", "named.html"]);
    assert!(output.status.success(), "{output:?}");
    assert!(victim.home.path().join("page.html").is_file());
}

#[test]
fn a_run_that_has_links_or_fifos_for_files_is_refused_at_once() {
    for (name, commands) in [
        ("run.json", &["report", "compare", "runs"][..]),
        ("flows.parquet", &["report", "compare"]),
    ] {
        let victim = Victim::with_run();
        let file = victim.run().join(name);
        let kept = victim.home.path().join("kept");
        fs::rename(&file, &kept).expect("a file of the run");
        type Plant = fn(&Path);
        let to_kept: Plant = |at| symlink("../kept", at).expect("a link");
        for plant in [fifo, to_kept] {
            let _ = fs::remove_file(&file);
            plant(&file);
            for command in commands {
                let output = match *command {
                    "report" => victim.unbloat(&["report", "run"]),
                    "compare" => victim.unbloat(&["compare", "run", "run"]),
                    _ => victim.unbloat(&["runs", "show", "run"]),
                };
                let told = String::from_utf8_lossy(&output.stderr);
                assert!(!output.status.success(), "{command} {name}");
                assert!(told.contains(name), "{command} {name}: {told}");
            }
        }
    }
}

/// A folder of the user's own work, with a campaign file.
fn campaign() -> Victim {
    let victim = Victim::new();
    let at = |name: &str| victim.home.path().join(name);
    for folder in [".git", ".config", "report"] {
        fs::create_dir(at(folder)).expect("a folder");
        fs::write(at(folder).join("thesis.txt"), PRECIOUS).expect("a file");
    }
    fs::write(at("c.toml"), "server = \"127.0.0.1:1\"\nrepeats = 1\n").expect("a file");
    victim
}

#[test]
fn a_campaign_removes_nothing_that_is_not_its_own() {
    let victim = campaign();
    let is_there = |name: &str| victim.home.path().join(name).exists();
    let listed = victim.unbloat(&["campaign", "c.toml", "--list", "--out", "."]);
    assert!(listed.status.success(), "{listed:?}");
    assert!(
        !is_there("cells") && !is_there("lock"),
        "a list changes nothing"
    );
    let reported = victim.unbloat(&["campaign", "c.toml", "--report", "--out", "."]);
    assert!(
        !reported.status.success(),
        "the folder `report` is the user's"
    );
    let told = String::from_utf8_lossy(&reported.stderr);
    assert!(
        told.contains("thesis.txt") || told.contains("report"),
        "{told}"
    );
    // Nothing answers there; it begins to work all the same.
    victim.unbloat(&["campaign", "c.toml", "--out", "."]);
    for folder in [".git", ".config", ".ssh", "report"] {
        assert!(is_there(folder), "{folder}");
    }
    assert!(is_there(".git/thesis.txt") && is_there("report/thesis.txt"));
    victim.assert_unharmed();
}

#[test]
fn a_campaign_does_not_empty_what_its_lock_is_a_link_to() {
    let victim = campaign();
    let folder = victim.home.path().join("theirs");
    fs::create_dir_all(folder.join("cells")).expect("a folder");
    symlink("../.ssh/authorized_keys", folder.join("lock")).expect("a link");
    let output = victim.unbloat(&["campaign", "c.toml", "--report", "--out", "theirs"]);
    victim.assert_unharmed();
    assert!(!output.status.success(), "{output:?}");
}

#[test]
fn a_campaign_does_not_work_where_a_link_of_its_folder_leads() {
    let victim = campaign();
    let folder = victim.home.path().join("theirs");
    fs::create_dir(&folder).expect("a folder");
    symlink("../.git", folder.join("cells")).expect("a link");
    let output = victim.unbloat(&["campaign", "c.toml", "--out", "theirs"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("link"), "{told}");
}

#[test]
fn a_stored_test_is_a_plain_file_of_its_folder_and_is_not_cut() {
    let victim = Victim::new();
    let test = victim.run().join("test.json");
    fs::create_dir(victim.run()).expect("a folder");
    let refused = |why: &str| {
        let output = victim.unbloat(&["sqm", "plan", "--test", "run"]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(told.contains(why), "{told}");
    };
    symlink("../.ssh/authorized_keys", &test).expect("a link");
    refused("symbolic link");
    fifo(&test);
    refused("not a plain file");
    fs::remove_file(&test).expect("a FIFO");
    fs::write(&test, " ".repeat((16 << 20) + 1)).expect("a file");
    refused("longer than 16777216 bytes");
}

#[test]
fn a_configuration_that_is_a_fifo_is_refused_at_once() {
    let victim = Victim::new();
    let folder = victim.home.path().join(".config/unbloat");
    fs::create_dir_all(&folder).expect("a folder");
    fifo(&folder.join("config.toml"));
    let output = victim.unbloat(&["runs", "list"]);
    assert!(!output.status.success());
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("config.toml"), "{told}");
}

#[test]
fn what_a_run_says_does_nothing_to_the_terminal() {
    let victim = Victim::with_run();
    let file = victim.run().join("run.json");
    let text = fs::read_to_string(&file).expect("a file");
    let mut info: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let escapes = "a\u{1b}]0;OWNED\u{7}\u{202e}b\u{9b}2J";
    info["command"] = serde_json::json!(["unbloat", escapes]);
    info["verdict"] = serde_json::json!({"kind": "bloated", "headline": escapes});
    fs::write(&file, info.to_string()).expect("a file");
    for words in [&["runs", "show", "run"][..], &["compare", "run", "run"]] {
        let output = victim.unbloat(words);
        for bytes in [&output.stdout, &output.stderr] {
            let printed = String::from_utf8_lossy(bytes);
            let is_harmful =
                |c: char| c.is_control() && !matches!(c, '\n' | '\t') || c == '\u{202e}';
            assert!(!printed.contains(is_harmful), "{words:?}: {printed:?}");
        }
    }
    let shown = victim.unbloat(&["runs", "show", "run"]).stdout;
    assert!(String::from_utf8_lossy(&shown).contains("OWNED"));
}
