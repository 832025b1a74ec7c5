//! Who runs with which rights: by the kernel for commands, by systemd for units. They make the table in SECURITY.md.

use rustix::thread::CapabilitySet;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::os::unix::process::CommandExt;
use std::panic::resume_unwind;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use unbloat_netns::Bed;

const CAPTURE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../captures/bloated-link.pcap.zst"
);

fn unbloat(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unbloat"));
    command.args(words);
    command
}

/// Who called sudo.
const CALLER: &str = "1234";

/// What a thread may do, as /proc tells it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rights {
    has_no_filter: bool,
    may_gain: bool,
    user: String,
    capabilities: u64,
}

impl Rights {
    fn of(status: &Path) -> Option<Rights> {
        let status = fs::read_to_string(status).ok()?;
        let of = |key| {
            let found = status.lines().find_map(|line| line.strip_prefix(key));
            found.and_then(|value| value.split_whitespace().next())
        };
        Some(Rights {
            has_no_filter: of("Seccomp:")? == "0",
            may_gain: of("NoNewPrivs:")? == "0",
            user: of("Uid:")?.to_owned(),
            capabilities: u64::from_str_radix(of("CapEff:")?, 16).ok()?,
        })
    }

    /// Those of all threads of a process, each once.
    fn of_threads(child: &Child) -> Option<BTreeSet<Rights>> {
        let threads = fs::read_dir(format!("/proc/{}/task", child.id())).ok()?;
        threads
            .map(|thread| Rights::of(&thread.ok()?.path().join("status")))
            .collect()
    }

    /// Cells of the table. Landlock is known from the command's own events, since `/proc` does not show it.
    fn cells(&self, events: &str) -> String {
        let names = CapabilitySet::from_bits_retain(self.capabilities);
        let names = names.iter_names().map(|(name, _)| format!("CAP_{name}"));
        let own = Rights::of(Path::new("/proc/thread-self/status")).expect("rights");
        let left = match self.capabilities {
            0 => "none".to_owned(),
            all if all == own.capabilities => "all".to_owned(),
            _ => names.collect::<Vec<_>>().join(", "),
        };
        let user = match self.user.as_str() {
            user if user == own.user => "who started it",
            CALLER => "the caller of sudo",
            "65534" => "nobody",
            other => panic!("user {other}"),
        };
        let is_restricted =
            events.contains("files are restricted") && !events.contains("NotEnforced");
        let kernel: Vec<_> = [
            (!self.may_gain, "no_new_privs"),
            (!self.has_no_filter, "seccomp"),
            (!self.has_no_filter && is_restricted, "Landlock"),
        ]
        .iter()
        .filter_map(|(is_so, name)| is_so.then_some(*name))
        .collect();
        let kernel = match kernel.is_empty() {
            true => "none".to_owned(),
            false => kernel.join(", "),
        };
        format!("{user} | {left} | {kernel}")
    }
}

/// How long a command must stay as it became: a thread that it starts before it gives up rights keeps them.
const STAYS: Duration = Duration::from_secs(3);
/// How long it has to become what the table says.
const BECOMES: Duration = Duration::from_secs(20);

fn blesses() -> bool {
    std::env::var_os("UNBLOAT_BLESS").is_some()
}

/// Commands with the same rights, and what only we know: which threads these are, and from when on. Those with a filter come first.
struct Row {
    commands: Vec<Command>,
    threads: &'static [[&'static str; 2]],
}

impl Row {
    /// Its lines in the table: those that it has in `known`, if what is observed becomes so.
    fn lines(self, known: &str) -> String {
        let threads = self.threads;
        let each = self.commands.into_iter().map(|command| {
            observed(command, |seen, events| {
                let lines: String = seen
                    .iter()
                    .enumerate()
                    .map(|(at, rights)| {
                        let [who, since] = threads.get(at).unwrap_or(&["?", "?"]);
                        format!("  | {who} | {} | {since} |\n", rights.cells(events))
                    })
                    .collect();
                let is_known = known.contains(&lines) && seen.len() == threads.len();
                (lines, is_known)
            })
        });
        let mut each: Vec<String> = each.collect();
        each.dedup();
        assert_eq!(each.len(), 1, "{threads:?}: {each:?}");
        each.remove(0)
    }
}

/// The rights of a command's threads once they no longer change. Unexpected ones are given more time to change.
fn observed(
    mut command: Command,
    told: impl Fn(&BTreeSet<Rights>, &str) -> (String, bool),
) -> String {
    let events = tempfile::NamedTempFile::new().expect("a file");
    let mut child = command
        .arg("-v")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(events.reopen().expect("a file"))
        .spawn()
        .expect("the command starts");
    let (mut last, mut since) = (BTreeSet::new(), Instant::now());
    loop {
        // A thread that ends while its rights are read says nothing.
        if let Some(seen) = Rights::of_threads(&child).filter(|seen| *seen != last) {
            (last, since) = (seen, Instant::now());
        }
        let is_over = child.try_wait().expect("a child").is_some();
        let said = fs::read_to_string(&events).expect("text");
        let (lines, is_known) = told(&last, &said);
        let enough = match is_known || blesses() {
            true => STAYS,
            false => BECOMES,
        };
        if is_over || since.elapsed() > enough {
            drop(child.stdin.take());
            let _ = child.kill();
            child.wait().expect("it ends");
            return lines;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A server of this host, ended when this is dropped.
struct Server {
    child: Child,
    address: String,
    _folder: tempfile::TempDir,
}

impl Server {
    fn start(unbloat: impl Fn(&str) -> Command) -> Server {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = unbloat("serve --json --no-echo --listen 127.0.0.1:0");
        command.env("XDG_DATA_HOME", folder.path());
        let command = command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        let said = BufReader::new(child.stdout.take().expect("a pipe"));
        let line = said.lines().next().expect("a line").expect("text");
        let at: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        Server {
            child,
            address: at["tls"].as_str().expect("an address").to_owned(),
            _folder: folder,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// As an administrator may let others run this program with rights that they do not have.
fn who_borrows_rights_does_not_configure_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("unbloat");
    fs::copy(env!("CARGO_BIN_EXE_unbloat"), &program).expect("a copy");
    chown(&program, Some(1), Some(1)).expect("root");
    let does_as = |mode| {
        for path in [folder.path(), &program] {
            fs::set_permissions(path, Permissions::from_mode(mode)).expect("an owner");
        }
        let mut command = Command::new(&program);
        command.arg("schema").env("UNBLOAT_CONFIG", "/nowhere");
        let done = command.uid(65_534).gid(65_534).output().expect("it starts");
        done.status.success()
    };
    assert!(!does_as(0o755), "it is configured by this user");
    assert!(does_as(0o4755), "it is configured by another");
}

/// Between these two lines SECURITY.md has the table; UNBLOAT_BLESS=1 writes it anew.
const BEGIN: &str = "  <!-- rights: crates/cli/tests/confinement.rs -->\n\n";
const END: &str = "\n  <!-- end of rights -->\n";

const HEAD: &str = "  | command | user | capabilities left to root | kernel | from when on |
  |---|---|---|---|---|
";

fn security_md_says_who_has_which_rights() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../SECURITY.md");
    let text = fs::read_to_string(&path).expect("SECURITY.md");
    let (before, rest) = text.split_once(BEGIN).expect("a table");
    let (known, after) = rest.split_once(END).expect("its end");

    let bed = Bed::new().expect("a bed");
    let host = bed.host("box").expect("a host");
    for words in [
        "ip link set lo up",
        "ip link add line type veth peer name modem",
        "ip link set line up",
        "ip link set modem up",
        "tc qdisc add dev modem root handle 1: htb default 1",
        "tc class add dev modem parent 1: classid 1:1 htb rate 50mbit quantum 1514",
    ] {
        let mut words = words.split(' ');
        let mut command = host.command(words.next().expect("a program"));
        let done = command.as_mut().expect("a command").args(words).status();
        assert!(done.expect("it starts").success());
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path_of = |name: &str| folder.path().join(name).display().to_string();
    let on_host = |words: &str| {
        let command = host.command(env!("CARGO_BIN_EXE_unbloat"));
        let mut command = command.expect("a command");
        command.args(words.split(' '));
        for variable in ["UNBLOAT_RUN", "UNBLOAT_RUNS", "XDG_DATA_HOME"] {
            command.env(variable, folder.path().join(variable));
        }
        command.env("SUDO_UID", CALLER).env("SUDO_GID", CALLER);
        command
    };
    let run = path_of("run");
    let made = on_host(&format!("analyze {CAPTURE} --quiet --out {run}")).output();
    assert!(made.expect("it starts").status.success());
    let server = Server::start(on_host);
    let measures = |words: &str| {
        on_host(&format!(
            "{words} --no-run --insecure --quiet {}",
            server.address
        ))
    };
    let serve = |more: &str| on_host(&format!("serve --listen 127.0.0.1:0 --no-echo{more}"));
    // What is announced must be within reach of others: with a loopback address the server ends.
    let announces =
        |more: &str| on_host(&format!("serve --announce --listen [::]:0 --no-echo{more}"));

    let rows = [
        Row {
            commands: vec![on_host(&format!(
                "analyze {CAPTURE} --quiet --out {}",
                path_of("file")
            ))],
            threads: &[[
                "`analyze FILE`",
                "before the first byte is read; files: once the run's folder is made",
            ]],
        },
        Row {
            commands: vec![
                on_host(&format!("report {run}")),
                on_host(&format!("compare {run} {run}")),
                on_host(&format!("runs show {run}")),
            ],
            threads: &[[
                "`report`, `compare`, `runs`",
                "before the first byte is read",
            ]],
        },
        Row {
            // Longer than it takes to see that a thread is not confined.
            commands: vec![on_host(&format!(
                "analyze --interface lo --quiet --duration 60s --out {}",
                path_of("live")
            ))],
            threads: &[["`analyze --interface`", "once its socket is open"]],
        },
        Row {
            commands: vec![serve(""), serve(" --metrics 127.0.0.1:0")],
            threads: &[["`serve`", "once it listens"]],
        },
        Row {
            commands: vec![serve(" --allow-congestion-control reno")],
            threads: &[["`serve --allow-congestion-control`", "the same"]],
        },
        Row {
            commands: vec![serve(" --user nobody --metrics 127.0.0.1:0")],
            threads: &[["`serve --user`", "the same"]],
        },
        Row {
            commands: vec![announces("")],
            threads: &[["`serve --announce`", "never"]],
        },
        Row {
            commands: vec![announces(" --user nobody")],
            threads: &[["`serve --announce --user`", "once it listens"]],
        },
        Row {
            commands: vec![measures("test"), measures("locate")],
            threads: &[
                [
                    "`test`, `locate`: the threads that speak with other hosts",
                    "before a name is looked up",
                ],
                ["`test`, `locate`: their other threads", "start"],
            ],
        },
        Row {
            commands: vec![measures("fix --dry-run")],
            threads: &[
                [
                    "`fix`: the threads that speak with other hosts",
                    "before a name is looked up",
                ],
                ["`fix`: its other threads, which change the host", "never"],
            ],
        },
        Row {
            commands: vec![
                on_host(&format!(
                    "monitor --interface lo --history {}",
                    path_of("history")
                )),
                on_host("watch --json --interface lo"),
            ],
            threads: &[["`monitor`, `watch`", "start"]],
        },
        Row {
            commands: vec![on_host("shape --interface lo --rate-up 50Mbit/s")],
            threads: &[["`shape`", "once it shapes"]],
        },
        Row {
            commands: vec![
                on_host("uplink --interface line"),
                on_host("autorate --interface modem --interface-up modem"),
            ],
            threads: &[[
                "`autorate`, `uplink`",
                "start, but for the process that undoes what they changed",
            ]],
        },
    ];
    let observed = std::thread::scope(|scope| {
        let each = rows.map(|row| scope.spawn(|| row.lines(known)));
        let each = each.map(|lines| lines.join().unwrap_or_else(|panic| resume_unwind(panic)));
        each.concat()
    });
    let table = HEAD.to_owned() + &observed + &UNITS.map(row_of_unit).concat();
    if blesses() {
        fs::write(&path, [before, BEGIN, &table, END, after].concat()).expect("SECURITY.md");
    } else {
        assert_eq!(
            known, table,
            "SECURITY.md is stale: UNBLOAT_BLESS=1 writes its table anew"
        );
    }
}

/// Commands that print a unit, and how exposed it may be to `systemd-analyze security`.
const UNITS: [(&str, f64); 3] = [
    ("serve --unit", 2.5),
    ("monitor --interface lo --unit", 4.0),
    ("autorate --interface lo --interface-up lo --unit", 4.0),
];

fn unit(words: &str) -> String {
    let words: Vec<_> = words.split(' ').collect();
    let unit = unbloat(&words).output().expect("it starts");
    assert!(unit.status.success(), "{words:?}: {unit:?}");
    String::from_utf8(unit.stdout).expect("text")
}

fn row_of_unit((words, most): (&str, f64)) -> String {
    let unit = unit(words);
    let of = |key| unit.lines().find_map(|line| line.strip_prefix(key));
    let name = words.split(' ').next().expect("a command");
    let left = of("CapabilityBoundingSet=").expect("capabilities");
    let user = match of("DynamicUser=") {
        Some("yes") => "its own",
        _ => "root",
    };
    format!(
        "  | `{name} --unit` | {user} | {} | systemd, exposure {most} at most | start |\n",
        left.replace(' ', ", ")
    )
}

/// By `systemd-analyze security`, which adds up what a unit may do.
fn units_have_few_rights() {
    let folder = tempfile::tempdir().expect("a folder");
    for (words, most) in UNITS {
        let file = folder.path().join("unit.service");
        fs::write(&file, unit(words)).expect("a file");
        let mut judge = Command::new("systemd-analyze");
        judge.args(["security", "--offline=true", "--no-pager"]);
        let said = judge.arg(&file).output().expect("it starts");
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let exposure = said.lines().find_map(|line| {
            let (_, exposure) = line.split_once(".service: ")?;
            exposure.split(' ').next()?.parse::<f64>().ok()
        });
        let exposure = exposure.expect("a figure");
        assert!(exposure <= most, "{words}: {exposure}");
    }
}

fn who_gives_up_rights_does_its_work() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("live");
    let mut live = unbloat(&[
        "analyze",
        "--interface",
        "lo",
        "--quiet",
        "--duration",
        "1s",
    ]);
    let done = live.arg("--out").arg(&run).output().expect("it starts");
    assert!(done.status.success(), "{done:?}");
    assert!(run.join("run.json").exists());
    // The run is root's, as it was.
    let server = Server::start(|words| unbloat(&words.split(' ').collect::<Vec<_>>()));
    let tested = folder.path().join("test");
    let mut glance = unbloat(&["test", "--glance", "--insecure", "--quiet", &server.address]);
    glance.env("SUDO_UID", CALLER).env("SUDO_GID", CALLER);
    let shown = glance.arg("--out").arg(&tested).output();
    let measured = fs::metadata(tested.join("test.json"));
    let measured = measured.unwrap_or_else(|error| panic!("{error}: {shown:?}"));
    assert_eq!(measured.uid(), 0);
}

/// As the unit of a server does, which ends it for what only the privileged may do.
fn a_unit_that_ends_who_gives_up_rights_serves_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let filtered = || {
        let ended = [
            libc::SYS_capset,
            libc::SYS_seccomp,
            libc::SYS_landlock_create_ruleset,
        ];
        let rules = ended.map(|call| (call, Vec::new())).into();
        let arch = TargetArch::try_from(std::env::consts::ARCH).expect("a known processor");
        let (others, these) = (SeccompAction::Allow, SeccompAction::KillProcess);
        let filter = SeccompFilter::new(rules, others, these, arch).expect("a filter");
        let filter: BpfProgram = filter.try_into().expect("a program");
        seccompiler::apply_filter(&filter).expect("a kernel with seccomp");
        // A child has the filter of this thread.
        let mut command = unbloat(&["serve", "--json", "--no-echo", "--listen", "127.0.0.1:0"]);
        command
            .env("STATE_DIRECTORY", folder.path())
            .env("INVOCATION_ID", "0");
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null());
        child.spawn().expect("it starts")
    };
    let started = std::thread::scope(|scope| scope.spawn(filtered).join());
    let mut server = started.expect("a thread");
    let said = server.stdout.take().expect("a pipe");
    let line = BufReader::new(said).lines().next();
    let at: serde_json::Value =
        serde_json::from_str(&line.expect("a line").expect("text")).expect("JSON");
    let address = at["tls"].as_str().expect("an address");
    std::thread::sleep(Duration::from_millis(300));
    assert!(TcpStream::connect(address).is_ok(), "{at}");
    assert!(server.try_wait().expect("a child").is_none());
    server.kill().expect("it runs");
    server.wait().expect("it ends");
}

/// As `sudo` with another user's HOME would quote it, in the error of its parser.
fn root_does_not_quote_where_a_link_of_another_user_leads() {
    let home = tempfile::tempdir().expect("a folder");
    let secret = home.path().join("secret");
    fs::write(&secret, "root:SECRET").expect("a file");
    fs::create_dir_all(home.path().join(".config/unbloat")).expect("a folder");
    let link = home.path().join(".config/unbloat/config.toml");
    symlink(&secret, &link).expect("a link");
    lchown(&link, Some(65_534), Some(65_534)).expect("root");
    let mut command = unbloat(&["runs", "list"]);
    command
        .env("HOME", home.path())
        .env_remove("XDG_CONFIG_HOME");
    let done = command.output().expect("it starts");
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(!done.status.success() && told.contains("belongs to another user"));
    assert!(!told.contains("SECRET"), "{told}");
}

unbloat_testkit::main! {
    always() => [a_unit_that_ends_who_gives_up_rights_serves_on],
    root("a packet socket, and rights to lose").and(tools(&["ip", "tc"])) => [
        security_md_says_who_has_which_rights,
        who_gives_up_rights_does_its_work,
        who_borrows_rights_does_not_configure_them,
        root_does_not_quote_where_a_link_of_another_user_leads,
    ],
    tools(&["systemd-analyze"]) => [units_have_few_rights],
}
