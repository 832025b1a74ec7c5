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

/// Terabytes that take no room.
const HOLE: u64 = 4 << 40;

fn hole(path: &Path) {
    let _ = fs::remove_file(path);
    let file = fs::File::create(path).expect("a file");
    file.set_len(HOLE).expect("a hole");
}

fn socket(path: &Path) {
    let _ = fs::remove_file(path);
    std::os::unix::net::UnixListener::bind(path).expect("a socket");
}

fn folder(path: &Path) {
    let _ = fs::remove_file(path);
    fs::create_dir(path).expect("a folder");
}

/// Fails, within the patience of the test, with these words.
fn assert_refused(output: &Output, words: &str) {
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && told.contains(words), "{told}");
    assert!(!told.contains("panicked"), "{told}");
}

#[test]
fn holes_sockets_and_folders_are_no_files_of_a_run() {
    for (name, commands) in [
        (
            "run.json",
            &[&["report", "run"][..], &["runs", "show", "run"]][..],
        ),
        (
            "flows.parquet",
            &[&["report", "run"], &["compare", "run", "run"]],
        ),
    ] {
        let victim = Victim::with_run();
        let file = victim.run().join(name);
        for plant in [hole, socket, folder] {
            plant(&file);
            for command in commands {
                assert_refused(&victim.unbloat(command), name);
            }
            let _ = fs::remove_dir(&file);
        }
    }
}

#[test]
fn json_that_nobody_writes_is_refused_or_read_without_harm() {
    let victim = Victim::with_run();
    let file = victim.run().join("run.json");
    let ours = fs::read_to_string(&file).expect("a file");
    let field = |key: &str, value: &str| {
        let mut all: serde_json::Value = serde_json::from_str(&ours).expect("JSON");
        all[key] = "HERE".into();
        all.to_string().replace("\"HERE\"", value)
    };
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let refused = [
        field("packets", "1e400"),
        field("options", "{\"a\":-1e400}"),
        field("verdict", &deep),
        field("command", "\"unbloat\""),
        field("tables", "[{\"rows\":-1}]"),
        field("trace_start", "{\"utc\":\"\",\"ns\":9223372036854775808}"),
        ours.replacen('{', "{\"packets\":1,", 1),
    ];
    for text in refused {
        fs::write(&file, text).expect("a file");
        assert_refused(&victim.unbloat(&["report", "run"]), "run.json");
        assert_refused(&victim.unbloat(&["compare", "run", "run"]), "run.json");
    }
    let borne = [
        field("verdict", "[{\"headline\":[]}]"),
        field("skipped", "{\"a\":18446744073709551615,\"b\":1}"),
        field("trace_start", "{\"utc\":\"\",\"ns\":-9223372036854775808}"),
        field("tables", "[]"),
        ours.replace("\"type\": \"u64\"", "\"type\": \"text\""),
    ];
    for text in borne {
        fs::write(&file, text).expect("a file");
        for words in [&["report", "run"][..], &["compare", "run", "run"]] {
            let code = victim.unbloat(words).status.code();
            assert!(matches!(code, Some(0 | 1)), "{words:?}: {code:?}");
        }
    }
}

#[test]
fn names_and_sizes_of_runs_are_those_of_a_stranger() {
    let victim = Victim::with_run();
    // Where a file may be as long as its length can say.
    let runs = tempfile::tempdir_in("/dev/shm").expect("memory");
    for name in ["a\nb", "\u{1b}]0;OWNED\u{7}", "\u{202e}evil", "-rf"] {
        let run = runs.path().join(name);
        fs::create_dir(&run).expect("a folder");
        fs::copy(victim.run().join("run.json"), run.join("run.json")).expect("a run");
        for number in 0..3 {
            let file = fs::File::create(run.join(number.to_string())).expect("a file");
            file.set_len(i64::MAX as u64).expect("a hole");
        }
    }
    symlink("/", runs.path().join("root")).expect("a link");
    fifo(&runs.path().join("fifo"));
    let list = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unbloat"));
        command
            .args(words)
            .env("UNBLOAT_RUNS", runs.path())
            .env("HOME", victim.home.path());
        let output = command.output().expect("it starts");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    for words in [
        &["runs", "list"][..],
        &["runs", "clean", "--older-than", "0 s", "--dry-run"],
    ] {
        let told = list(words);
        let is_harmful = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!told.contains(is_harmful), "{told:?}");
        let named = told.lines().filter(|line| !line.starts_with(' '));
        assert_eq!(named.count(), 4, "{told:?}");
    }
}

/// A second process makes the page, and a table, a link again and again, while they are replaced and read.
#[test]
fn a_link_that_comes_between_is_not_followed_either() {
    let victim = Victim::with_run();
    let (page, table) = (
        victim.run().join("report.html"),
        victim.run().join("dns.parquet"),
    );
    let link = victim.run().join("link");
    let kept = fs::read(&table).expect("a table");
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                for place in [&page, &table] {
                    symlink("../.ssh/authorized_keys", &link).expect("a link");
                    fs::rename(&link, place).expect("its place");
                }
                fs::write(&link, &kept).expect("a table");
                fs::rename(&link, &table).expect("its place");
            }
        });
        for _ in 0..12 {
            let told = victim.unbloat(&["report", "run"]).stderr;
            let told = String::from_utf8_lossy(&told);
            assert!(!told.contains("panicked"), "{told}");
            victim.assert_unharmed();
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn a_pattern_matches_no_fifo_and_a_hole_is_no_capture() {
    let victim = Victim::new();
    let at = |name: &str| victim.home.path().join(name);
    fs::create_dir(at("caps")).expect("a folder");
    fs::copy(CAPTURE, at("caps/b.pcap")).expect("a capture");
    fifo(&at("caps/a.pcap"));
    symlink("/dev/zero", at("caps/c.pcap")).expect("a link");
    let matched = victim.unbloat(&["analyze", "caps/*.pcap", "--no-run", "--quiet"]);
    assert!(matched.status.success(), "{matched:?}");
    // No packet, and then zeros.
    let header = [
        0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0,
    ];
    fs::write(at("hole.pcap"), header).expect("a file");
    let file = fs::OpenOptions::new().append(true).open(at("hole.pcap"));
    file.expect("a file").set_len(HOLE).expect("a hole");
    let output = victim.unbloat(&["analyze", "hole.pcap", "--no-run", "--quiet"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("a record is zeros"), "{told}");
}

/// Queries whose labels are what a terminal, a page or a spreadsheet would act upon.
#[test]
fn names_of_a_capture_do_nothing_to_the_terminal_or_the_page() {
    let victim = Victim::new();
    let names: [&[u8]; 5] = [
        b"\x1b]0;OWNED\x07\x1b[2J",
        "\u{202e}evil".as_bytes(),
        b"a\nVerdict: clean",
        b"\x9b31m\xff",
        b"<img src=x onerror=alert(1)>",
    ];
    let mut bytes = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
    bytes.extend([0; 10].iter().chain(&[4, 0, 101, 0, 0, 0]));
    for (second, label) in names.iter().enumerate() {
        let mut query = vec![0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, label.len() as u8];
        query.extend_from_slice(label);
        query.extend([0, 0, 1, 0, 1]);
        let udp = 8 + query.len();
        let mut packet = vec![0x45, 0, 0, (20 + udp) as u8, 0, 0, 0, 0, 64, 17, 0, 0];
        packet.extend([10, 0, 0, 2, 9, 9, 9, 9, 0x20, 0, 0, 53, 0, udp as u8, 0, 0]);
        packet.extend(query);
        let length = (packet.len() as u32).to_le_bytes();
        bytes.extend((1 + second as u32).to_le_bytes());
        bytes.extend([&[0; 4][..], &length, &length, &packet].concat());
    }
    fs::write(victim.home.path().join("dns.pcap"), bytes).expect("a capture");
    let made = victim.unbloat(&["analyze", "dns.pcap", "--out", "run"]);
    let table = ["--no-run", "--table", "dns", "--format", "table"];
    let shown = victim.unbloat(&[&["analyze", "dns.pcap"][..], &table].concat());
    let told = [made.stdout, made.stderr, shown.stdout.clone(), shown.stderr].concat();
    let told = String::from_utf8_lossy(&told);
    assert!(told.contains("OWNED") && told.contains("evil"), "{told}");
    let is_harmful = |c: char| c.is_control() && !matches!(c, '\n' | '\t') || c == '\u{202e}';
    assert!(!told.contains(is_harmful), "{told:?}");
    let rows = String::from_utf8_lossy(&shown.stdout);
    assert!(
        !rows.lines().any(|line| line.starts_with("Verdict")),
        "{rows}"
    );
    let page = fs::read_to_string(victim.run().join("report.html")).expect("a page");
    assert!(!page.contains("<img src=x"));
}

#[test]
fn documents_of_strangers_end_at_once_whatever_they_ask_for() {
    let victim = Victim::new();
    let at = |name: &str| victim.home.path().join(name);
    fifo(&at("fifo"));
    hole(&at("hole"));
    socket(&at("socket"));
    fs::write(at("beyond"), format!("{}\n", u64::MAX)).expect("a trace");
    fs::write(at("back"), "5\n4\n").expect("a trace");
    let deep = format!("a = {}{}\n", "[".repeat(50_000), "]".repeat(50_000));
    let scenario = |link: &str, rest: &str| {
        format!(
            "[scenario]\nname = \"x\"\nduration = \"1 s\"\n[link.down]\n{link}\n[link.up]\nrate = \"1 Mbit/s\"\n[[flow]]\nname = \"d\"\napp = \"bulk\"\n{rest}\n"
        )
    };
    let rate = "rate = \"1 Mbit/s\"";
    let many: Vec<String> = (0..1000).map(|ms| format!("\"{ms} ms\"")).collect();
    let many = many.join(",");
    let sweep =
        format!("[sweep]\nlink.up.delay = [{many}]\nlink.down.delay = [{many}]\nrepeats = 1000");
    for (text, why) in [
        (scenario("trace = \"fifo\"", ""), "not a plain file"),
        (scenario("trace = \"/dev/zero\"", ""), "not a plain file"),
        (scenario("trace = \"socket\"", ""), "not a plain file"),
        (scenario("trace = \"hole\"", ""), "longer than"),
        (scenario("trace = \"beyond\"", ""), "is not a time"),
        (scenario("trace = \"back\"", ""), "must not decrease"),
        (scenario("rate = \"1000000000 Gbit/s\"", ""), "out of range"),
        (scenario("rate = \"0 bit/s\"", ""), "out of range"),
        (
            scenario(rate, "").replace("1 s", "1000000 h"),
            "out of range",
        ),
        (
            scenario(rate, "").replace("\"x\"", "\"\\u001b[2J\""),
            "control character",
        ),
        (scenario(rate, "count = 4000000000"), "at most"),
        (scenario(rate, &sweep), "exceed the limit"),
        (deep.clone(), "recurse"),
    ] {
        fs::write(at("s.toml"), text).expect("a file");
        assert_refused(&victim.unbloat(&["sim", "s.toml", "--no-run"]), why);
    }
    for (text, why) in [
        ("repeats = 4000000000\n".to_owned(), "out of range"),
        (format!("axes.http = [{many}]\naxes.rate = [{many}]\n"), ""),
        (deep.clone(), "recurse"),
    ] {
        fs::write(at("c.toml"), format!("server = \"127.0.0.1:1\"\n{text}")).expect("a file");
        let listed = victim.unbloat(&["campaign", "c.toml", "--list", "--out", "out"]);
        assert_refused(&listed, why);
    }
    for (name, why) in [
        ("fifo", "not a plain file"),
        ("hole", "longer than"),
        ("socket", "not a plain file"),
        (".", "not a plain file"),
        ("deep", "recurs"),
    ] {
        fs::write(at("deep"), &deep).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_unbloat"));
        command
            .args(["runs", "list"])
            .env("UNBLOAT_CONFIG", at(name));
        assert_refused(&command.output().expect("it starts"), why);
    }
    fs::create_dir(victim.run()).expect("a folder");
    for text in ["{\"schema\":1e400}".to_owned(), deep.replace("a = ", "")] {
        fs::write(victim.run().join("test.json"), text).expect("a file");
        let planned = victim.unbloat(&["sqm", "plan", "--test", "run"]);
        assert_refused(&planned, "not the JSON of a test");
    }
}

#[test]
fn a_link_in_the_middle_of_a_path_leads_nowhere() {
    let victim = campaign();
    victim.unbloat(&["analyze", CAPTURE, "--quiet", "--out", "mine"]);
    let at = |name: &str| victim.home.path().join(name);
    let before = fs::read(at("mine/report.html")).expect("a page");
    fs::create_dir_all(at("theirs/cells")).expect("a folder");
    symlink("../mine", at("theirs/report")).expect("a link");
    symlink("../../mine", at("theirs/cells/1.12345678.1")).expect("a link");
    assert_refused(&victim.unbloat(&["report", "theirs"]), "theirs");
    assert_refused(&victim.unbloat(&["runs", "show", "theirs"]), "theirs");
    let reported = victim.unbloat(&["campaign", "c.toml", "--report", "--out", "theirs"]);
    assert_refused(&reported, "report");
    let after = fs::read(at("mine/report.html")).expect("a page");
    assert!(before == after, "the user's own run stays");
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
fn a_campaign_publishes_nothing_before_the_user_agrees() {
    let victim = campaign();
    let file = victim.home.path().join("c.toml");
    fs::write(file, "server = \"mlab\"\n").expect("a file");
    let output = victim.unbloat(&["campaign", "c.toml", "--out", "theirs"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{told}");
    assert!(told.contains("publishes every test"), "{told}");
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
