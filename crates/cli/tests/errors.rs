//! The messages of common errors. To accept changes: `INSTA_UPDATE=always cargo test -p unbloat-cli --test errors`.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};
use unbloat_responsiveness::{LoadedDirection, SCHEMA, verdict};
use unbloat_units::{Delta, Direction, Rate};

fn unbloat(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unbloat"));
    command.args(words.split_whitespace());
    command
        .env_remove("UNBLOAT_PIN")
        .env_remove("UNBLOAT_TOKEN");
    command
}

/// The exit code and standard error of each command.
fn transcript(commands: &[&str], run: impl Fn(&str) -> Output) -> String {
    let one = |words: &&str| {
        let output = run(words);
        let said = String::from_utf8_lossy(&output.stderr);
        let code = output.status.code();
        let code = code.map_or("a signal".to_owned(), |code| code.to_string());
        format!("$ unbloat {words}\n{}\n=> {code}\n", said.trim_end())
    };
    commands.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn run(words: &str) -> Output {
    unbloat(words).output().expect("it runs")
}

fn usage() {
    let commands = [
        "analize",
        "analyze",
        "analyze --interfaces eth0",
        "analyze a.pcap --format xml",
        "watch --json --duration 5",
        "shape --interface eth0 --rate-down 20MB/s",
        "sqm plan --as json",
        "locate box --direction sideways",
        "test box --probe-interval 10",
        "test box --pin 12",
        "test box -4 -6",
        "drwa",
        "analyze a.pcap --json",
        "report latest --json",
        "test box --grade foo",
        "sqm plan --interface lo",
        "shape --interface lo",
        "autorate --interface lo",
    ];
    insta::assert_snapshot!(transcript(&commands, run));
}

fn no_such_file() {
    let commands = [
        "analyze nowhere.pcap",
        "sim nowhere.toml",
        "campaign nowhere.toml",
        "report nowhere",
        "compare nowhere nowhere",
        "sqm plan --test nowhere --interface lo",
        "sqm check nowhere",
        "model --measured nowhere.csv",
    ];
    insta::assert_snapshot!(transcript(&commands, run));
}

fn no_such_interface() {
    let commands = [
        "analyze --interface nowhere0",
        "watch --once --interface nowhere0",
        "shape --interface nowhere0 --follow",
        "shape --interface nowhere0 --follow --dry-run",
        "uplink --interface nowhere0",
        "uplink --interface nowhere0 --dry-run",
        "drwa --lan nowhere0",
        "drwa --lan nowhere0 --dry-run",
        "autorate --interface nowhere0 --interface-up nowhere0",
        "sqm status --interface nowhere0",
    ];
    insta::assert_snapshot!(transcript(&commands, run));
}

fn no_server() {
    // Nobody listens on the port of a listener that is gone.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let server = format!("127.0.0.1:{port}");
    let run = |words: &str| run(&words.replace("SERVER", &server));
    let commands = [
        "test SERVER --quiet --no-run",
        "test ndt7://SERVER --quiet --no-run",
        "locate SERVER --no-run",
    ];
    let said = transcript(&commands, run);
    insta::assert_snapshot!(said.replace(&server, "SERVER"));
}

/// Calls `test` with what runs commands as the user nobody, if the tests run as root.
fn as_nobody(test: impl Fn(&dyn Fn(&str) -> Output)) {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("unbloat");
    std::fs::copy(env!("CARGO_BIN_EXE_unbloat"), &program).expect("a copy that all may run");
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(folder.path(), all).expect("a folder for all");
    let is_root = rustix::process::geteuid().is_root();
    let run = |words: &str| {
        let mut command = Command::new(&program);
        command
            .args(words.split_whitespace())
            .current_dir(folder.path());
        command.env("UNBLOAT_RUN", "/nowhere");
        if is_root {
            command.uid(65_534).gid(65_534);
        }
        command.output().expect("it runs")
    };
    test(&run);
}

fn no_root() {
    let commands = [
        "analyze --interface lo",
        "shape --interface lo --follow",
        "fix 127.0.0.1 --yes",
        "lab shell -- true",
        "sqm status --interface lo",
        "serve --listen 127.0.0.1:80",
    ];
    as_nobody(|run| insta::assert_snapshot!(transcript(&commands, run)));
}

/// Neither a plan nor a look at a host changes anything.
fn what_changes_nothing_needs_no_root() {
    let load = LoadedDirection {
        direction: Direction::Up,
        delivered: Rate::mbps(10),
        line: Rate::kbps(10_359),
        is_steady: true,
        added: Delta::ms(240),
        added_p95: Delta::ms(240),
        idle_rtt: Delta::ms(20),
        unsent: None,
        is_starved: false,
        located: None,
    };
    let test = serde_json::json!({
        "schema": SCHEMA, "target": "https://box:4043/.well-known/nq", "is_cut": false,
        "server": {"address": "127.0.0.1:4043"}, "verdict": verdict(vec![load], Vec::new()),
    });
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), test.to_string()).expect("a test");
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(file.path(), all).expect("a file for all");
    as_nobody(|run| {
        let path = file.path().display();
        for words in [
            format!("fix box --dry-run --json --test {path}"),
            format!("sqm plan --json --interface lo --test {path}"),
            "sqm status --json --interface lo".to_owned(),
        ] {
            let output = run(&words);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{words}: {said}");
            assert!(!said.contains("running test"), "{words}: {said}");
            let document: serde_json::Value =
                serde_json::from_slice(&output.stdout).expect("a document");
            let is_known = ["shaper", "plan", "devices"]
                .iter()
                .any(|key| !document[key].is_null());
            assert!(is_known, "{words}: {document}");
        }
    });
}

/// What is said of a configuration file.
fn a_configuration_that_cannot_be_used_is_named() {
    let with = |config: &str, words: &str| {
        let mut command = unbloat(words);
        let output = command.env("UNBLOAT_CONFIG", config).output();
        let output = output.expect("it runs");
        let said = String::from_utf8_lossy(&[output.stderr, output.stdout].concat()).into_owned();
        (output.status.code(), said)
    };
    let (code, said) = with("/nowhere/c.toml", "runs list");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("cannot read /nowhere/c.toml"), "{said}");
    // It is what one calls to find out what is wrong.
    let (ended, found) = with("/nowhere/c.toml", "doctor");
    assert_eq!(ended, Some(0), "{found}");
    assert!(found.contains("cannot read /nowhere/c.toml"), "{found}");
}

fn the_demo_needs_no_root() {
    as_nobody(|run| {
        let output = run("demo");
        let said = String::from_utf8_lossy(&output.stderr);
        let shown = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(
            said.contains("simulator") && said.contains("root"),
            "{said}"
        );
        let mean = shown.lines().find(|line| line.contains("ping, mean"));
        let numbers = mean
            .expect(&shown)
            .split_whitespace()
            .filter_map(|word| word.parse::<f64>().ok());
        let numbers: Vec<f64> = numbers.collect();
        // The referee is the line itself: its buffer of 1 MB lasts for 400 ms at 20 Mbit/s; without it the round trip of 40 ms remains.
        assert!(numbers[0] > 300.0 && numbers[1] < 45.0, "{shown}");
    });
}

fn every_command_that_needs_root_says_so() {
    let commands = [
        "sqm apply --interface lo --rate-up 10mbit",
        "sqm remove --interface lo",
        "uplink --interface lo",
        "drwa -- true",
    ];
    as_nobody(|run| {
        for words in commands {
            let output = run(words);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{words}: {said}");
            assert!(said.contains("root"), "{words}: {said}");
            assert!(said.lines().count() <= 2, "{words}: {said}");
        }
    });
}

fn a_wrong_pin_is_named() {
    let mut server = unbloat("serve --listen 127.0.0.1:0 --no-echo --json")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a server");
    let mut line = String::new();
    let printed = server.stdout.take().expect("its output");
    BufReader::new(printed)
        .read_line(&mut line)
        .expect("a line");
    let said: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    let address = said["tls"].as_str().expect("its address");
    let output = run(&format!(
        "test {address} --quiet --no-run --pin {}",
        "0".repeat(64)
    ));
    server.kill().expect("it runs");
    server.wait().expect("it ends");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.contains("does not have the fingerprint that --pin"),
        "{told}"
    );
}

unbloat_testkit::main! {
    always() => [
        usage,
        no_such_file,
        no_server,
        no_root,
        a_wrong_pin_is_named,
        what_changes_nothing_needs_no_root,
        a_configuration_that_cannot_be_used_is_named,
        the_demo_needs_no_root,
        every_command_that_needs_root_says_so,
    ],
    root("looking for interfaces") => [
        no_such_interface,
    ],
}
