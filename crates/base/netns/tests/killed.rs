//! Beds whose process is killed: 200 of them, at random moments. Needs root.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use unbloat_netns::{Bed, BedError, Maker, Route, Tun, sweep};
use unbloat_testkit::until;

const CYCLES: u64 = 200;
/// Says to a copy of this test what it is to be.
const VICTIM: &str = "UNBLOAT_BED_TEST_VICTIM";

fn what_killed_beds_leave_is_removed_by_the_next_one() {
    // Makes /run/netns, as any use of namespaces does.
    drop(Bed::new().and_then(|bed| bed.host("first")).unwrap());
    let longest = time_to_build() * 3 / 2;
    let seed = 4;
    let mut random = fastrand::Rng::with_seed(seed);
    let before = System::now(&BTreeSet::new());
    let mut killed = BTreeSet::new();
    let mut left_something = 0;
    for _ in 0..CYCLES {
        let mut victim = start_victim();
        // From its first trace on: how long a process takes to start depends on what else runs.
        until("it is not built", || {
            !unbloat_netns::leftovers(victim.id()).is_empty()
        });
        sleep(longest.mul_f64(random.f64()));
        victim.kill().unwrap();
        victim.wait().unwrap();
        killed.insert(victim.id());
        left_something += u64::from(!unbloat_netns::leftovers(victim.id()).is_empty());
    }
    // Not each: the tests beside this one sweep, too.
    assert!(
        left_something > CYCLES / 2,
        "only {left_something} were hit"
    );
    drop(Bed::new().unwrap());
    let after = System::now(&killed);
    assert_eq!(after, before, "seed {seed}");
    assert!(
        killed
            .iter()
            .all(|pid| unbloat_netns::leftovers(*pid).is_empty())
    );
}

fn what_lives_or_is_not_ours_is_not_swept() {
    let bed = Bed::new().unwrap();
    let host = bed.host("alive").unwrap();
    let mut child = host.command("sleep").unwrap().arg("95").spawn().unwrap();
    let foreign = Path::new("/run/netns/ub-foreign");
    fs::write(foreign, "").unwrap();
    let swept = sweep();
    assert!(foreign.exists() && Path::new("/run/netns").join(host.name()).exists());
    assert!(child.try_wait().unwrap().is_none());
    let ours = bed.mark();
    let is_ours = |path: &&std::path::PathBuf| path.to_string_lossy().contains(ours);
    assert_eq!(swept.removed.iter().find(is_ours), None);
    fs::remove_file(foreign).unwrap();
    drop(host);
    child.wait().unwrap();
}

fn a_bed_within_a_bed_goes_with_it() {
    let bed = Bed::new().unwrap();
    let outer = bed.host("outer").unwrap();
    let mut command = outer.command(std::env::current_exe().unwrap()).unwrap();
    command
        .args(["--exact", "victim", "--ignored"])
        .env(VICTIM, "1");
    let mut inner = command.stdout(Stdio::null()).spawn().unwrap();
    // The namespace of its last host, as it is seen from outside.
    until("it is not built", || {
        let names = unbloat_netns::leftovers(inner.id());
        names
            .iter()
            .any(|path| path.to_string_lossy().ends_with("-server"))
    });
    drop(outer);
    assert!(!inner.wait().unwrap().success());
    assert_eq!(marked(&[inner.id()].into()), BTreeSet::new());
}

/// Not a test: what is killed in one.
fn victim() {
    if std::env::var_os(VICTIM).is_none() {
        return;
    }
    build(|| sleep(Duration::from_secs(60))).unwrap();
}

/// A bed with all that a bed can have.
fn build(then: impl FnOnce()) -> Result<(), BedError> {
    let bed = Bed::new()?;
    let hosts = [
        bed.host("client")?,
        bed.host("router")?,
        bed.host("server")?,
    ];
    let [client, router, server] = &hosts;
    client.veth("eth0", router, "lan")?;
    router.veth("wan", server, "eth0")?;
    let _tun = client.tun("tun0", &Tun::default())?;
    client.address("eth0", "10.45.0.2/24".parse().expect("an address"))?;
    server.address("eth0", "10.99.0.1/24".parse().expect("an address"))?;
    client.route(
        "10.98.0.0/16".parse().expect("a network"),
        Route::Device("tun0"),
    )?;
    let group = group(bed.mark());
    let scripts = [
        "exec sleep 94",
        "setsid sleep 94 & exec unshare --net sleep 94",
    ];
    let _children = scripts.map(|script| {
        let mut command = client.command("sh").expect("the host is there");
        command.args(["-c", script]).spawn()
    });
    then();
    if let Some(group) = group {
        let _ = fs::remove_dir(group);
    }
    Ok(())
}

/// A control group with the bed's mark, where there is cgroup2.
fn group(mark: &str) -> Option<std::path::PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mut lines = mounts.lines().filter(|line| line.contains(" cgroup2 "));
    let root = lines.next()?.split(' ').nth(1)?;
    let group = Path::new(root).join(mark);
    fs::create_dir(&group).ok().map(|()| group)
}

fn time_to_build() -> Duration {
    let begin = Instant::now();
    let mut took = Duration::ZERO;
    build(|| took = begin.elapsed()).unwrap();
    took
}

fn start_victim() -> Child {
    let program = std::env::current_exe().unwrap();
    let arguments = ["--exact", "victim", "--ignored"];
    let mut command = Command::new(program);
    command.args(arguments).env(VICTIM, "1");
    command.stdout(Stdio::null()).spawn().unwrap()
}

/// What beds could leave in the system.
#[derive(Debug, PartialEq, Eq)]
struct System {
    links: BTreeSet<String>,
    queues: Option<String>,
    /// Names of namespaces and mounts, control groups, pins, and processes of killed beds.
    marked: BTreeSet<String>,
}

impl System {
    /// Other beds may come and go on the machine meanwhile: of marked things, only those of `killed` count.
    fn now(killed: &BTreeSet<u32>) -> System {
        let links = fs::read_to_string("/proc/net/dev").unwrap();
        let links = links.lines().filter_map(|line| line.split_once(':'));
        let queues = Command::new("tc").args(["qdisc", "show"]).output();
        System {
            links: links.map(|(name, _)| name.trim().to_owned()).collect(),
            queues: queues
                .ok()
                .map(|o| String::from_utf8_lossy(&o.stdout).into_owned()),
            marked: marked(killed),
        }
    }
}

fn marked(killed: &BTreeSet<u32>) -> BTreeSet<String> {
    let mut texts: Vec<String> = Vec::new();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    texts.extend(mounts.split_whitespace().map(str::to_owned));
    for folder in [
        "/run/netns",
        "/etc/netns",
        "/sys/fs/bpf",
        "/sys/fs/cgroup",
        "/sys/fs/cgroup/unified",
    ] {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        texts.extend(entries.map(|entry| entry.path().to_string_lossy().into_owned()));
    }
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let environment = fs::read(process.path().join("environ")).unwrap_or_default();
        let variables = environment.split(|&byte| byte == 0);
        texts.extend(variables.map(|v| String::from_utf8_lossy(v).into_owned()));
    }
    let is_of_killed = |text: &String| {
        let mut marks = text.match_indices("ub-").map(|(at, _)| &text[at..]);
        marks.any(|mark| Maker::of(mark).is_some_and(|maker| killed.contains(&maker.pid())))
    };
    texts.into_iter().filter(is_of_killed).collect()
}

unbloat_testkit::main! {
    root("a bed") => [
        what_killed_beds_leave_is_removed_by_the_next_one,
        what_lives_or_is_not_ours_is_not_swept,
        a_bed_within_a_bed_goes_with_it,
    ],
    on_request() => [
        victim,
    ],
}
