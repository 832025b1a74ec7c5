//! A server that no authority vouches for is accepted once, by the user, as ssh does it.

mod pty;

use pty::Pty;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

const UNBLOAT: &str = env!("CARGO_BIN_EXE_unbloat");

/// A server, and the homes of its user and of a client's.
struct World {
    homes: [TempDir; 2],
    server: Child,
    address: String,
    fingerprint: String,
}

fn at_home(home: &TempDir) -> Command {
    let mut command = Command::new(UNBLOAT);
    for variable in ["XDG_DATA_HOME", "STATE_DIRECTORY", "UNBLOAT_PIN"] {
        command.env_remove(variable);
    }
    command.env("HOME", home.path());
    command
}

fn serve(home: &TempDir) -> (Child, String, String) {
    let mut command = at_home(home);
    command.args(["serve", "--json", "--no-echo", "--listen", "127.0.0.1:0"]);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = command.spawn().unwrap();
    let mut line = String::new();
    let printed = server.stdout.as_mut().unwrap();
    BufReader::new(printed).read_line(&mut line).unwrap();
    let at: serde_json::Value = serde_json::from_str(&line).unwrap();
    let text = |name: &str| at[name].as_str().unwrap().to_owned();
    (server, text("tls"), text("fingerprint"))
}

impl World {
    fn new() -> World {
        let homes = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let (server, address, fingerprint) = serve(&homes[0]);
        World {
            homes,
            server,
            address,
            fingerprint,
        }
    }

    fn known(&self) -> PathBuf {
        self.homes[1]
            .path()
            .join(".local/share/unbloat/known-servers")
    }

    /// As short as can be.
    fn test(&self) -> Command {
        let mut command = at_home(&self.homes[1]);
        command.args(["test", &self.address, "--no-run", "--quiet"]);
        command.args(["--stages", "100 ms,100 ms,100 ms,100 ms"]);
        command
    }

    /// What it says where nobody can be asked.
    fn told(&self) -> String {
        let output = self.test().stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    }

    fn asked(&self, answer: &str) -> Pty {
        let (terminal, shown) = in_terminal(self.test(), answer);
        assert!(shown.contains(&self.fingerprint), "{shown}");
        terminal
    }
}

/// Gives a command this answer in a terminal; returns both and what it showed before it asked.
fn in_terminal(mut command: Command, answer: &str) -> (Pty, String) {
    let mut terminal = Pty::run(&mut command, 200);
    let shown = terminal.shown().until(&["[y/N]"]);
    terminal.press(answer);
    (terminal, shown)
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn a_stranger_is_believed_only_when_the_user_says_so_and_then_for_good() {
    let mut world = World::new();
    let told = world.told();
    assert!(
        told.contains("is not trusted") && told.contains("--pin"),
        "{told}"
    );

    let mut refused = world.asked("n\n");
    assert_eq!(refused.end().code(), Some(1));
    assert!(!world.known().exists());

    let mut accepted = world.asked("y\n");
    let line = format!("{} {}\n", world.address, world.fingerprint);
    let begun = std::time::Instant::now();
    while fs::read_to_string(world.known()).unwrap_or_default() != line {
        assert!(begun.elapsed().as_secs() < 60, "it is not remembered");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    accepted.child.kill().unwrap();
    accepted.child.wait().unwrap();

    // The same certificate after a restart: nothing is asked, and the test begins.
    world.server.kill().unwrap();
    world.server.wait().unwrap();
    let (server, address, fingerprint) = serve(&world.homes[0]);
    world.server = server;
    assert_eq!(fingerprint, world.fingerprint);
    let text = format!("{address} {fingerprint}\n");
    fs::write(world.known(), text).unwrap();
    world.address = address;
    let mut quick = world.test();
    quick.arg("--json");
    let output = quick.stdin(Stdio::null()).output().unwrap();
    let noted = String::from_utf8_lossy(&output.stderr);
    assert!(!noted.contains("certificate"), "{noted}");
    assert!(output.stdout.starts_with(b"{"), "{noted}");
}

#[test]
fn another_certificate_than_the_accepted_one_is_refused() {
    let world = World::new();
    fs::create_dir_all(world.known().parent().unwrap()).unwrap();
    let line = format!("{} {}\n", world.address, "ab".repeat(32));
    fs::write(world.known(), &line).unwrap();
    let told = world.told();
    assert!(
        told.contains("is not the one that was accepted before"),
        "{told}"
    );
    assert!(told.contains("known-servers"), "{told}");
    assert_eq!(fs::read_to_string(world.known()).unwrap(), line);
}

/// Nothing is asked of the service before the user agrees, so this needs no network.
#[test]
fn a_service_that_publishes_tests_gets_none_before_the_user_agrees() {
    let home = tempfile::tempdir().unwrap();
    let test = || {
        let mut command = at_home(&home);
        command.args(["test", "mlab", "--no-run", "--quiet"]);
        command
    };
    let output = test().stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.contains("publishes every test") && told.contains("`unbloat test mlab`"),
        "{told}"
    );
    let (mut refused, shown) = in_terminal(test(), "n\n");
    assert!(shown.contains("publishes every test"), "{shown}");
    assert_eq!(refused.end().code(), Some(1));
    assert!(!home.path().join(".local").exists());
}
