//! The page: its logic in node, and all of it in Chromium behind a bloated link of the kernel. `bench/live/browser` holds it
//! against an emulated path, in numbers: here only what holds on a machine that has other things to do.

use serde_json::Value;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use unbloat_bed::tc::Framing;
use unbloat_bed::{Bed, Host};
use unbloat_serve::{Options, Server};
use unbloat_units::Rate;

const TOKEN: &str = "a token of nobody";
const DOWN_MBPS: f64 = 20.0;
const UP_MBPS: f64 = 5.0;
const BUFFER_BYTES: f64 = 150_000.0;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/web")
}

/// Whether the tools are there. In CI they must be; elsewhere the test says that it was skipped.
fn have(tools: &[&str]) -> bool {
    let is_missing = |tool: &&&str| {
        let mut asked = Command::new(**tool);
        asked
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        asked.status().is_err()
    };
    let missing: Vec<_> = tools.iter().filter(is_missing).collect();
    if missing.is_empty() {
        return true;
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "CI must have {missing:?}: tools/install test"
    );
    unbloat_skip::skip(&format!("{missing:?} not installed (tools/install test)"));
    false
}

fn is_root() -> bool {
    unbloat_skip::is_root("a bed")
}

/// Runs to the end; its words are shown if it fails.
fn succeed(command: &mut Command) {
    let output = command.output().unwrap();
    let [said, complained] = [&output.stdout, &output.stderr].map(|b| String::from_utf8_lossy(b));
    assert!(output.status.success(), "{command:?}\n{said}{complained}");
}

#[test]
fn the_logic_of_the_page_is_right() {
    if !have(&["node"]) {
        return;
    }
    let files = fs::read_dir(folder()).unwrap().map(|f| f.unwrap().path());
    let mut tests: Vec<_> = files
        .filter(|f| f.to_string_lossy().ends_with(".test.mjs"))
        .collect();
    tests.sort();
    assert!(tests.len() >= 5, "{tests:?}");
    succeed(Command::new("node").arg("--test").args(tests));
}

/// Client, router, server. Packets wait for the router's link of each direction in a buffer that is much too large; CUBIC
/// fills it.
fn bloated(bed: &Bed) -> [Host; 3] {
    let hosts = ["client", "router", "server"].map(|role| bed.host(role).unwrap());
    let [client, router, server] = &hosts;
    router.forward().unwrap();
    let sides = [
        (client, "left", "10.45.1.1", "10.45.1.2", DOWN_MBPS),
        (server, "right", "10.45.2.1", "10.45.2.2", UP_MBPS),
    ];
    for (host, device, address, gateway, mbps) in sides {
        host.veth("eth0", router, device).unwrap();
        host.address("eth0", format!("{address}/24").parse().unwrap())
            .unwrap();
        router
            .address(device, format!("{gateway}/24").parse().unwrap())
            .unwrap();
        host.offloads_off("eth0").unwrap();
        router.offloads_off(device).unwrap();
        let buffer = format!("bfifo limit {BUFFER_BYTES}");
        let rate = Rate::bps((mbps * 1e6) as u64);
        router
            .bottleneck(device, &buffer, rate, Framing::default())
            .unwrap();
        let route = format!("route add 10.45.0.0/16 via {gateway} congctl cubic");
        succeed(host.command("ip").unwrap().args(route.split(' ')));
    }
    hosts
}

/// Serves on a host while the job runs.
fn serving(host: &Host, job: impl FnOnce(SocketAddr)) {
    let options = Options {
        listen: SocketAddr::from((Ipv4Addr::UNSPECIFIED, 4043)),
        tokens: vec![TOKEN.to_owned()],
        threads: 1,
        ..Options::loopback()
    };
    let server = host.within(|| Server::bind(&options)).unwrap().unwrap();
    let address = server.addresses().tls;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| server.run(&stop));
        let stopping = StopAtEnd(&stop);
        job(address);
        drop(stopping);
        running.join().unwrap().unwrap();
    });
}

/// On panic too, else the scope would wait forever.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn stage<'a>(run: &'a Value, name: &str) -> &'a Value {
    let stages = run["summary"]["stages"].as_array().unwrap();
    stages.iter().find(|s| s["name"] == name).unwrap()
}

#[test]
fn in_chromium_the_page_tells_a_bloated_link_from_its_directions_and_behaves() {
    if !is_root() || !have(&["node", "chromium", "ip"]) {
        return;
    }
    let bed = Bed::new().unwrap();
    let [client, _router, server] = bloated(&bed);
    let kept = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("page");
    fs::create_dir_all(&kept).unwrap();
    serving(&server, |address| {
        let url = format!("https://10.45.2.1:{}/?glance", address.port());
        let mut node = client.command("node").unwrap();
        succeed(
            node.arg(folder().join("browser.mjs"))
                .arg(url)
                .arg(&kept)
                .arg(TOKEN),
        );
    });
    let run = fs::read(kept.join("run.json")).unwrap();
    let run: Value = serde_json::from_slice(&run).unwrap();
    let verdict = &run["verdict"];
    if verdict["kind"] == "inconclusive" {
        // The reasons that a sound page may have here.
        let words = verdict["words"].as_str().unwrap();
        let may_say = ["too busy", "messages told the delay"];
        assert!(may_say.iter().any(|why| words.contains(why)), "{verdict}");
        return;
    }
    assert_eq!(verdict["kind"], "bloated", "{run}");
    assert_eq!(run["protocol"], "h2");
    let added = |name| stage(&run, name)["added_p50_ms"].as_f64().unwrap();
    assert!(added("up") > added("down"), "{run}");
}
