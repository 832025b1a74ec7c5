//! The messages of common errors. To accept changes: `INSTA_UPDATE=always cargo test -p unbloat-cli --test errors`.

use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

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
        "shape --interface eth0 --rate-down 20M",
        "sqm plan --as json",
        "locate box --direction sideways",
        "test box --probe-interval 10",
        "test box --pin 12",
        "test box -4 -6",
        "drwa",
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
        "uplink --interface nowhere0 --source delay",
        "uplink --interface nowhere0 --source delay --dry-run",
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

/// As the user nobody, if the tests run as root.
fn no_root() {
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
    let commands = [
        "analyze --interface lo",
        "shape --interface lo --follow",
        "fix 127.0.0.1 --yes",
        "lab shell -- true",
        "demo",
    ];
    insta::assert_snapshot!(transcript(&commands, run));
}

unbloat_testkit::main! {
    always() => [
        usage,
        no_such_file,
        no_server,
        no_root,
    ],
    root("looking for interfaces") => [
        no_such_interface,
    ],
}
