//! `serve` as a process: how it stops, and what rights it keeps.

use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::Duration;
use tempfile::TempDir;

struct Server {
    child: Child,
    /// Where it is, as JSON.
    line: String,
    _home: TempDir,
}

impl Server {
    /// It has said where it is.
    fn start(more: &[&str]) -> Server {
        let home = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_unbloat"))
            .args(["serve", "--json", "--no-echo", "--listen", "127.0.0.1:0"])
            .args(more)
            .env("HOME", home.path())
            .env_remove("XDG_DATA_HOME")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let printed = child.stdout.take().unwrap();
        BufReader::new(printed).read_line(&mut line).unwrap();
        Server {
            child,
            line,
            _home: home,
        }
    }

    /// Name, user, capabilities and `no_new_privs` of each thread, a line each, from /proc.
    fn threads(&self) -> Vec<String> {
        let folder = format!("/proc/{}/task", self.child.id());
        let threads = std::fs::read_dir(folder).unwrap().flatten();
        // One may end meanwhile.
        let texts = threads.filter_map(|thread| {
            let text = std::fs::read_to_string(thread.path().join("status")).ok()?;
            let wanted = ["Name:", "Uid:", "CapEff:", "NoNewPrivs:"];
            let lines = text
                .lines()
                .filter(|line| wanted.iter().any(|name| line.starts_with(name)));
            Some(lines.collect::<Vec<_>>().join(", ").replace('\t', " "))
        });
        texts.collect()
    }

    /// How it ends at Ctrl-C, and what it told people.
    fn stop(mut self) -> (ExitStatus, String) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        let mut told = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut told).unwrap();
        (self.child.wait().unwrap(), told)
    }
}

fn a_server_can_be_stopped_as_soon_as_it_has_said_where_it_is() {
    // A signal that comes too early would be lost by chance.
    for _ in 0..10 {
        let server = Server::start(&[]);
        let line = server.line.clone();
        let (status, told) = server.stop();
        assert_eq!(status.code(), Some(0), "{line}{told}");
        assert!(told.contains("stopping"), "{told}");
    }
}

fn every_thread_of_a_server_gave_up_roots_rights() {
    let server = Server::start(&["--user", "nobody", "--metrics", "127.0.0.1:0"]);
    let mut threads = server.threads();
    // A thread takes its name after it has begun.
    for _ in 0..500 {
        if threads.iter().any(|thread| thread.contains("metrics")) {
            break;
        }
        sleep(Duration::from_millis(10));
        threads = server.threads();
    }
    let (_, told) = server.stop();
    let all = threads.join("\n");
    assert!(all.contains("metrics"), "{all}\n{told}");
    for thread in &threads {
        assert!(thread.contains("CapEff: 0000000000000000"), "{thread}");
        assert!(thread.contains("NoNewPrivs: 1"), "{thread}");
        assert!(!thread.contains("Uid: 0"), "{thread}");
    }
}

unbloat_testkit::main! {
    always() => [
        a_server_can_be_stopped_as_soon_as_it_has_said_where_it_is,
    ],
    root("becoming another user") => [
        every_thread_of_a_server_gave_up_roots_rights,
    ],
}
