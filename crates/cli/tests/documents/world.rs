//! Where a line of a document is run: a network of namespaces, and the files that the line names. Nothing of this machine is changed,
//! and nothing outside of it can be reached.
//!
//!     host, 192.168.1.2 ── gateway, 192.168.1.1 ══ 100.64.0.1, provider ── server, 10.82.0.2 (`unbloat serve`)
//!
//! The access line has 20 Mbit/s down and 5 up, with 500 kB of buffer in front of each.

use crate::Run;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use unbloat_netns::{Bed, Host, Route};

const UNBLOAT: &str = env!("CARGO_BIN_EXE_unbloat");

/// Names that documents give to the server.
const NAMES: &str =
    "127.0.0.1 localhost\n10.82.0.2 HOST SERVER box server.example test.example.net\n";

/// No line takes this long on an idle machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// Exit code if what is to be done before a line failed.
pub const BEFORE: i32 = 98;

/// Run as root in a namespace of mounts: the system's folders take changes, and forget them.
const ENTER: &str = r#"
trap : INT
mount --make-rprivate / || exit 99
layers=$HOME/../layers
mkdir -p $layers && mount -t tmpfs tmpfs $layers || exit 99
for dir in etc root run var usr/share/doc; do
    mkdir -p $layers/$dir/up $layers/$dir/work
    mount -t overlay overlay -o lowerdir=/$dir,upperdir=$layers/$dir/up,workdir=$layers/$dir/work /$dir || exit 99
done
cp ../hosts /etc/hosts && : > /etc/resolv.conf
eval "$BEFORE" > ../before 2>&1 || { cat ../before; exit 98; }
bash -o pipefail -c "$LINE"
code=$?
eval "$AFTER"
exit $code
"#;

/// The first TOML file that a page shows.
const TOML_OF: &str = r#"sed -n '/^```toml/,/^```/p' "$1" | sed '/^```/d'"#;

pub struct World {
    folder: TempDir,
    host: Host,
    server: Option<Server>,
    _others: Vec<Host>,
    _bed: Bed,
}

/// The server's process; its output stays open, so that it can write.
struct Server {
    child: Child,
    _output: BufReader<std::process::ChildStdout>,
    fingerprint: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How a line ended.
pub struct Ended {
    /// None: by a signal.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl World {
    pub fn new(run: &Run, root: &Path) -> World {
        let bed = Bed::new().unwrap();
        let host = bed.host("host").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut others = Vec::new();
        if let Some(interface) = &run.interface {
            others = line(&bed, &host, interface);
        }
        lay_out(folder.path(), root, run);
        let server = run
            .interface
            .as_ref()
            .map(|_| serve(&others[2], folder.path()));
        World {
            folder,
            host,
            server,
            _others: others,
            _bed: bed,
        }
    }

    /// Runs the line as a reader would, and presses Ctrl-C when it has said the word.
    pub fn run(&self, run: &Run) -> Ended {
        let at = |name: &str| self.folder.path().join(name);
        let mut command = self.host.command("bash").unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .args(["-c", ENTER])
            .env_clear()
            .env("PATH", format!("{}:{path}", at("bin").display()))
            .env("HOME", at("home"))
            .env("LANG", "C.UTF-8")
            .env("UNBLOAT_CONFIG", at("config.toml"))
            .env("LINE", &run.line)
            .env("BEFORE", &run.before)
            .env("AFTER", &run.after)
            .current_dir(at("work"))
            .stdin(Stdio::null())
            .stdout(File::create(at("stdout")).unwrap())
            .stderr(File::create(at("stderr")).unwrap())
            .process_group(0);
        if let Ok(cache) = std::env::var("XDG_CACHE_HOME")
            .or_else(|_| std::env::var("HOME").map(|home| home + "/.cache"))
        {
            // The kernel of virtual time is kept there.
            command.env("XDG_CACHE_HOME", cache);
        }
        if let Some(server) = &self.server {
            command.env("UNBLOAT_PIN", &server.fingerprint);
        }
        let mut child = command.spawn().unwrap();
        let group = Pid::from_child(&child);
        let begun = Instant::now();
        let read = |name: &str| String::from_utf8_lossy(&fs::read(at(name)).unwrap()).into_owned();
        let mut is_asked = false;
        let code = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status.code();
            }
            let has_said =
                |word: &String| read("stdout").contains(word) || read("stderr").contains(word);
            if !is_asked && run.until.as_ref().is_some_and(has_said) {
                is_asked = true;
                kill_process_group(group, Signal::INT).unwrap();
            }
            if begun.elapsed() > PATIENCE {
                let _ = kill_process_group(group, Signal::KILL);
                let _ = child.wait();
                panic!(
                    "{} does not end:\n{}{}",
                    run.line,
                    read("stdout"),
                    read("stderr")
                );
            }
            sleep(Duration::from_millis(50));
        };
        Ended {
            code,
            stdout: read("stdout"),
            stderr: read("stderr"),
        }
    }
}

/// Gateway, provider and server behind an interface of the host.
fn line(bed: &Bed, host: &Host, interface: &str) -> Vec<Host> {
    let [gateway, provider, server] =
        ["gateway", "provider", "server"].map(|role| bed.host(role).unwrap());
    host.veth(interface, &gateway, "lan0").unwrap();
    gateway.veth("line0", &provider, "line0").unwrap();
    provider.veth("core0", &server, "eth0").unwrap();
    for (at, device, net) in [
        (host, interface, "192.168.1.2/24"),
        (&gateway, "lan0", "192.168.1.1/24"),
        // Another node of the local network.
        (&gateway, "lan0", "192.168.1.20/24"),
        (&gateway, "line0", "100.64.0.2/24"),
        (&provider, "line0", "100.64.0.1/24"),
        (&provider, "core0", "10.82.0.1/24"),
        (&server, "eth0", "10.82.0.2/24"),
    ] {
        at.address(device, net.parse().unwrap()).unwrap();
        at.single_segments(device).unwrap();
    }
    for (at, to, via) in [
        (host, "0.0.0.0/0", "192.168.1.1"),
        (&gateway, "0.0.0.0/0", "100.64.0.1"),
        (&provider, "192.168.1.0/24", "100.64.0.2"),
        (&server, "0.0.0.0/0", "10.82.0.1"),
    ] {
        at.route(to.parse().unwrap(), Route::Gateway(via.parse().unwrap()))
            .unwrap();
    }
    for (at, rate) in [(&gateway, "5mbit"), (&provider, "20mbit")] {
        at.forward().unwrap();
        at.set("net/ipv4/icmp_ratelimit", "0").unwrap();
        at.queue("line0", &format!("tbf rate {rate} burst 5000 limit 500000"))
            .unwrap();
    }
    vec![gateway, provider, server]
}

fn serve(host: &Host, folder: &Path) -> Server {
    let mut command = host.command(UNBLOAT).unwrap();
    command.args([
        "serve",
        "--json",
        "--allow-congestion-control",
        "cubic,reno,bbr",
    ]);
    command.env("XDG_DATA_HOME", folder.join("server"));
    command.env("UNBLOAT_CONFIG", "/dev/null");
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    let at: Value = serde_json::from_str(&line).unwrap();
    let fingerprint = at["fingerprint"].as_str().unwrap().to_owned();
    Server {
        child,
        _output: output,
        fingerprint,
    }
}

/// The files that lines name.
fn lay_out(folder: &Path, root: &Path, run: &Run) {
    for name in ["bin", "home", "work"] {
        fs::create_dir(folder.join(name)).unwrap();
    }
    symlink(UNBLOAT, folder.join("bin/unbloat")).unwrap();
    for (name, script) in [("sudo", "exec \"$@\""), ("toml-of", TOML_OF)] {
        let file = folder.join("bin").join(name);
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(folder.join("hosts"), NAMES).unwrap();
    fs::write(folder.join("config.toml"), &run.config).unwrap();
    let work = folder.join("work");
    let root = root.canonicalize().unwrap();
    for name in [
        "campaigns",
        "captures",
        "docs",
        "papers",
        "scenarios",
        "traces",
    ] {
        symlink(root.join(name), work.join(name)).unwrap();
    }
}

/// Whether this machine has what a world needs beyond root.
pub fn is_possible() -> Result<(), String> {
    let systems = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let has_overlay = systems.contains("overlay")
        || Command::new("modprobe")
            .arg("overlay")
            .status()
            .is_ok_and(|status| status.success());
    has_overlay
        .then_some(())
        .ok_or_else(|| "the kernel has no overlayfs".to_owned())
}
