//! Servers of the local network: announced, found, and what others can do about it. The foreign peer is python-zeroconf.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use unbloat_netns::{Bed, Host};
use unbloat_testkit::needs::{Need, check};

const UNBLOAT: &str = env!("CARGO_BIN_EXE_unbloat");

/// Three hosts on a switch: 10.86.0.1 to 10.86.0.3.
struct Lan {
    _bed: Bed,
    _switch: Host,
    alice: Host,
    bob: Host,
    carol: Host,
    folder: TempDir,
}

impl Lan {
    fn new() -> Lan {
        let bed = Bed::new().unwrap();
        let [switch, alice, bob, carol] =
            ["switch", "alice", "bob", "carol"].map(|role| bed.host(role).unwrap());
        let ip = |words: &str| {
            let mut command = switch.command("ip").unwrap();
            assert!(command.args(words.split(' ')).status().unwrap().success());
        };
        ip("link add br0 type bridge");
        ip("link set br0 up");
        for (number, host) in [&alice, &bob, &carol].into_iter().enumerate() {
            let port = format!("port{number}");
            host.veth("eth0", &switch, &port).unwrap();
            ip(&format!("link set {port} master br0"));
            let net = format!("10.86.0.{}/24", number + 1);
            host.address("eth0", net.parse().unwrap()).unwrap();
        }
        Lan {
            _bed: bed,
            _switch: switch,
            alice,
            bob,
            carol,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn unbloat(&self, host: &Host, words: &str) -> Command {
        let mut command = host.command(UNBLOAT).unwrap();
        command.args(words.split_whitespace()).stdin(Stdio::null());
        command.env("STATE_DIRECTORY", self.folder.path().join(host.role()));
        command.env_remove("UNBLOAT_PIN");
        command
    }

    /// A server on bob; its certificate's fingerprint, once it serves.
    fn serve(&self, words: &str) -> (Running, String) {
        let mut command = self.unbloat(&self.bob, &format!("serve --json --no-echo {words}"));
        command.stderr(Stdio::null());
        let mut server = Running::new(command);
        let at: Value = server.line();
        (server, at["fingerprint"].as_str().unwrap().to_owned())
    }

    fn peer(&self, words: &[&str]) -> Running {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lan/peer.py");
        let mut command = self.carol.command(python()).unwrap();
        command.arg(script).args(words);
        Running::new(command)
    }

    /// A test by alice without a server's name, as short as can be.
    fn test(&self, words: &str) -> Output {
        let short = "--no-run --quiet --stages 200ms,200ms,200ms,200ms";
        let mut command = self.unbloat(&self.alice, &format!("test {short} {words}"));
        command.output().unwrap()
    }
}

/// A process that prints lines of JSON.
struct Running {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Running {
    fn new(mut command: Command) -> Running {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Running { child, lines }
    }

    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    fn end(&mut self) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn told(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn python() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/lan-python/bin/python")
}

fn zeroconf() -> Need {
    check(|| {
        let is_there = python().exists();
        is_there
            .then_some(())
            .ok_or("python-zeroconf is not installed (tools/install test)".to_owned())
    })
}

fn a_server_is_found_and_trusted_only_by_its_certificate() {
    let lan = Lan::new();
    let (_server, fingerprint) = lan.serve("--announce");
    let stranger = lan.test("");
    let words = told(&stranger);
    assert!(words.contains("found bob at 10.86.0.2:4043"), "{words}");
    assert!(words.contains("is not trusted"), "{words}");
    assert_eq!(stranger.status.code(), Some(1));
    let test = lan.test(&format!("--json --pin {fingerprint}"));
    let document: Value = serde_json::from_slice(&test.stdout).unwrap();
    let target = document["target"].as_str().unwrap();
    assert!(target.starts_with("https://10.86.0.2:4043"), "{target}");
}

fn through_an_interface_with_a_public_address_nobody_is_answered() {
    let lan = Lan::new();
    lan.bob.veth("eth1", &lan.carol, "eth1").unwrap();
    for (host, address) in [
        (&lan.bob, "198.51.100.1/24"),
        (&lan.carol, "198.51.100.2/24"),
    ] {
        host.address("eth1", address.parse().unwrap()).unwrap();
    }
    let (_server, _) = lan.serve("--announce");
    let words = told(&lan.test(""));
    assert!(words.contains("found bob at 10.86.0.2:4043"), "{words}");
    let asked = |to: &str| {
        let socket = lan.carol.within(|| UdpSocket::bind("0.0.0.0:0").unwrap());
        let socket = socket.unwrap();
        let most = Some(Duration::from_secs(2));
        socket.set_read_timeout(most).unwrap();
        // One question: PTR of _unbloat._tcp.local.
        let question = b"\0\x01\0\0\0\x01\0\0\0\0\0\0\x08_unbloat\x04_tcp\x05local\0\0\x0c\0\x01";
        socket.send_to(question, (to, 5353)).unwrap();
        socket.recv(&mut [0; 9000]).is_ok()
    };
    assert!(asked("10.86.0.2"), "a neighbour is answered");
    assert!(!asked("198.51.100.1"), "a stranger is not");
}

fn without_being_asked_nothing_is_announced() {
    let lan = Lan::new();
    let heard = lan.alice.within(listener).unwrap();
    let (_server, _) = lan.serve("");
    heard
        .set_read_timeout(Some(Duration::from_secs(3)))
        .unwrap();
    let quiet = heard.recv_from(&mut [0; 9000]);
    assert!(quiet.is_err(), "{quiet:?}");
    let words = told(&lan.test(""));
    assert!(
        words.contains("no server found on the local network"),
        "{words}"
    );
    assert!(words.contains("unbloat serve --announce"), "{words}");
    // The question of the test is what can be heard.
    assert!(heard.recv_from(&mut [0; 9000]).is_ok());
}

fn a_foreign_peer_sees_a_server_come_and_go() {
    let lan = Lan::new();
    let mut peer = lan.peer(&["browse"]);
    assert_eq!(peer.line()["change"], "begun");
    let (mut server, fingerprint) = lan.serve("--announce");
    let added = peer.line();
    assert_eq!(added["name"], "bob._unbloat._tcp.local.");
    assert_eq!(added["port"], 4043);
    assert_eq!(added["addresses"], serde_json::json!(["10.86.0.2"]));
    assert_eq!(added["text"]["fp"], fingerprint);
    server.end();
    let begun = Instant::now();
    let removed = peer.line();
    assert_eq!(removed["change"], "removed", "{removed}");
    assert!(begun.elapsed() < Duration::from_secs(5));
}

fn of_several_servers_none_is_chosen_for_the_user() {
    let lan = Lan::new();
    let (_server, _) = lan.serve("--announce");
    // It names another host's address; what counts is where the answer came from.
    let mut peer = lan.peer(&["announce", "Carol's box", "4043", "10.86.0.77"]);
    assert_eq!(peer.line()["change"], "announced");
    let several = lan.test("");
    let words = told(&several);
    assert_eq!(several.status.code(), Some(1));
    assert!(words.contains("several servers found"), "{words}");
    assert!(
        words.contains("unbloat test  10.86.0.2:4043  (bob, certificate "),
        "{words}"
    );
    assert!(
        words.contains("unbloat test  10.86.0.3:4043  (Carol's box)"),
        "{words}"
    );
    assert!(!words.contains("10.86.0.77"), "{words}");
}

/// A socket of multicast DNS that hears the group.
fn listener() -> UdpSocket {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::DGRAM, None).unwrap();
    socket.set_reuse_address(true).unwrap();
    let port = std::net::SocketAddr::from((Ipv4Addr::UNSPECIFIED, 5353));
    socket.bind(&port.into()).unwrap();
    let socket = UdpSocket::from(socket);
    let group = Ipv4Addr::new(224, 0, 0, 251);
    socket
        .join_multicast_v4(&group, &Ipv4Addr::new(10, 86, 0, 1))
        .unwrap();
    socket
}

/// An answer whose SRV record has this instance name.
fn answer(instance: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 0x84, 0, 0, 0, 0, 1, 0, 0, 0, 0];
    for label in [instance, b"_unbloat", b"_tcp", b"local"] {
        bytes.push(label.len() as u8);
        bytes.extend(label);
    }
    // SRV, IN, 120 s; priority, weight, port 4043, target ".".
    bytes.extend([
        0, 0, 33, 0, 1, 0, 0, 0, 120, 0, 7, 0, 0, 0, 0, 0x0f, 0xcb, 0,
    ]);
    bytes
}

fn hostile_answers_are_harmless() {
    let lan = Lan::new();
    let mut ip = lan.carol.command("ip").unwrap();
    ip.args(["address", "add", "10.99.0.9/24", "dev", "eth0"]);
    assert!(ip.status().unwrap().success());
    let from = |address: &str| {
        let address = format!("{address}:5353");
        lan.carol
            .within(move || UdpSocket::bind(address).unwrap())
            .unwrap()
    };
    let (near, far) = (from("10.86.0.3"), from("10.99.0.9"));
    // Of multicast, the interface is that of the address or of the route.
    let mut route = lan.carol.command("ip").unwrap();
    route.args(["route", "add", "224.0.0.0/4", "dev", "eth0"]);
    assert!(route.status().unwrap().success());
    let is_over = AtomicBool::new(false);
    let (output, took) = thread::scope(|scope| {
        scope.spawn(|| {
            let group = "224.0.0.251:5353";
            let evil = answer(b"\x1b[2Jevil\x07\xe2\x80\xae");
            let far_answer = answer(b"far away");
            let mut number = 0_u32;
            while !is_over.load(Ordering::Relaxed) {
                near.send_to(&evil, group).unwrap();
                far.send_to(&far_answer, group).unwrap();
                near.send_to(&answer(format!("copy {number}").as_bytes()), group)
                    .unwrap();
                // Cut, and with a pointer to itself.
                near.send_to(&evil[..20], group).unwrap();
                let mut circle = evil[..12].to_vec();
                circle.extend([0xc0, 12, 0, 33, 0, 1, 0, 0, 0, 9, 0, 0]);
                near.send_to(&circle, group).unwrap();
                number += 1;
            }
        });
        let begun = Instant::now();
        let output = lan.test("");
        is_over.store(true, Ordering::Relaxed);
        (output, begun.elapsed())
    });
    let words = told(&output);
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert!(words.contains("several servers found"), "{words}");
    assert!(words.contains("10.86.0.3:4043  ([2Jevil)"), "{words}");
    assert!(
        !words.contains(['\u{1b}', '\u{7}', '\u{202e}']),
        "{words:?}"
    );
    assert!(
        !words.contains("far away") && !words.contains("10.99.0.9"),
        "{words}"
    );
    assert!(words.lines().count() < 40, "{words}");
}

fn a_changed_certificate_is_announced() {
    let lan = Lan::new();
    let file = |name: &str| lan.folder.path().join(name);
    let make = || {
        let mut made = Command::new("openssl");
        made.args("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=a -addext subjectAltName=DNS:a.example".split(' '));
        made.args(["-keyout", "new.key", "-out", "new.pem"])
            .current_dir(lan.folder.path());
        made.stderr(File::create(file("log")).unwrap());
        assert!(made.status().unwrap().success());
        std::fs::rename(file("new.pem"), file("chain.pem")).unwrap();
        std::fs::rename(file("new.key"), file("key.pem")).unwrap();
    };
    make();
    let (chain, key) = (file("chain.pem"), file("key.pem"));
    let words = format!(
        "--announce --cert {} --key {}",
        chain.display(),
        key.display()
    );
    let (_server, first) = lan.serve(&words);
    let mut peer = lan.peer(&["browse"]);
    assert_eq!(peer.line()["change"], "begun");
    assert_eq!(peer.line()["text"]["fp"], first);
    make();
    let shown = Command::new("openssl")
        .args(["x509", "-noout", "-fingerprint", "-sha256", "-in"])
        .arg(&chain)
        .output()
        .unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let digits = shown
        .split('=')
        .nth(1)
        .unwrap()
        .replace(':', "")
        .to_lowercase();
    let updated = peer.line();
    assert_eq!(updated["change"], "updated");
    assert_eq!(updated["text"]["fp"], digits.trim());
}

unbloat_testkit::main! {
    root("a bed").and(tools(&["ip", "openssl"])) => [
        a_server_is_found_and_trusted_only_by_its_certificate,
        through_an_interface_with_a_public_address_nobody_is_answered,
        without_being_asked_nothing_is_announced,
        hostile_answers_are_harmless,
    ],
    root("a bed").and(tools(&["ip", "openssl"])).and(zeroconf()) => [
        a_foreign_peer_sees_a_server_come_and_go,
        of_several_servers_none_is_chosen_for_the_user,
        a_changed_certificate_is_announced,
    ],
}
