//! The page: its logic in node, and all of it in Chromium behind a bloated link of the kernel. `bench/live/agreement` holds it
//! against emulated paths, in numbers: here only what holds on a machine that has other things to do.

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use unbloat_netns::tc::Framing;
use unbloat_netns::{Bed, Host};
use unbloat_responsiveness::{Kind, Verdict};
use unbloat_server::{Options, Server};
use unbloat_units::{Direction, Rate};

const TOKEN: &str = "a token of nobody";
const DOWN_MBPS: f64 = 20.0;
const UP_MBPS: f64 = 5.0;
const BUFFER_BYTES: f64 = 150_000.0;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/web")
}

/// Runs to the end; its words are shown if it fails.
fn succeed(command: &mut Command) {
    let output = command.output().unwrap();
    let [said, complained] = [&output.stdout, &output.stderr].map(|b| String::from_utf8_lossy(b));
    assert!(output.status.success(), "{command:?}\n{said}{complained}");
}

fn the_logic_of_the_page_is_right() {
    let files = fs::read_dir(folder()).unwrap().map(|f| f.unwrap().path());
    let mut tests: Vec<_> = files
        .filter(|f| f.to_string_lossy().ends_with(".test.mjs"))
        .collect();
    tests.sort();
    assert!(tests.len() >= 4, "{tests:?}");
    succeed(Command::new("node").arg("--test").args(tests));
}

/// Client, router, server. Packets wait for the router's link of each direction in a buffer that is much too large. Both ends send by `control`.
fn bloated(bed: &Bed, control: &str) -> [Host; 3] {
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
        let route = format!("route add 10.45.0.0/16 via {gateway} congctl {control}");
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
        let running = scope.spawn(|| server.run(&stop, || {}));
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

static ALONE: Mutex<()> = Mutex::new(());

/// Somebody else who uploads from before the test until this is dropped.
struct Other {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Other {
    fn uploads(client: &Host, server: &Host) -> Other {
        let listen = || TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        let listener = server.within(listen).unwrap();
        let to = SocketAddr::from(([10, 45, 2, 1], listener.local_addr().unwrap().port()));
        let mut writer = client.within(|| TcpStream::connect(to)).unwrap().unwrap();
        let (mut reader, _) = listener.accept().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            std::thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()));
            while !stopped.load(Ordering::Relaxed) && writer.write_all(&[7; 1 << 12]).is_ok() {}
        });
        // Until its queue stands.
        std::thread::sleep(Duration::from_secs(3));
        Other {
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// One run of the page and one of `unbloat test` on the same path: the page's record, the other's verdict. `is_shared`: another uploads
/// all the time. `tries_all`: all that the page does besides is tried.
fn both(control: &str, is_shared: bool, tries_all: bool) -> (Value, Verdict) {
    // Two browsers at a time keep each other from measuring.
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let bed = Bed::new().unwrap();
    let [client, _router, server] = bloated(&bed, control);
    let name = format!("page-{control}-{is_shared}");
    let kept = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _other = is_shared.then(|| Other::uploads(&client, &server));
    fs::create_dir_all(&kept).unwrap();
    let mut tested = None;
    serving(&server, |address| {
        let host = format!("10.45.2.1:{}", address.port());
        let mut node = client.command("node").unwrap();
        node.arg(folder().join("browser.mjs"));
        node.arg(format!("https://{host}/?glance"))
            .arg(&kept)
            .arg(TOKEN)
            .args(tries_all.then(modules));
        succeed(&mut node);
        let mut options = unbloat_loadtest::Options::of(host.parse().unwrap());
        options.plan = unbloat_loadtest::Plan::glance(&[unbloat_loadtest::Stack::NetworkOnly]);
        options.trust.is_blind = true;
        options.token = Some(TOKEN.to_owned());
        let stop = AtomicBool::new(false);
        let measured = client.within(|| unbloat_loadtest::measure(&options, &stop, &mut |_| {}));
        let measured = measured.unwrap().unwrap();
        let findings = unbloat_loadtest::findings(&measured, unbloat_loadtest::Rule::default());
        tested = Some(findings.verdict);
    });
    let run = fs::read(kept.join("run.json")).unwrap();
    (serde_json::from_slice(&run).unwrap(), tested.unwrap())
}

/// Where `tools/install test` puts axe-core; without it accessibility is not looked at.
fn modules() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/report-pages/node_modules")
}

fn in_chromium_a_server_that_goes_away_is_named_and_the_test_ends() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let options = Options {
        threads: 1,
        ..Options::loopback()
    };
    let server = Server::bind(&options).unwrap();
    let url = format!("https://{}/", server.addresses().tls);
    let mut node = Command::new("node");
    node.arg(folder().join("gone.mjs")).arg(url);
    node.arg(env!("CARGO_TARGET_TMPDIR"));
    node.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut node = node.spawn().unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| server.run(&stop, || {}));
        let stopping = StopAtEnd(&stop);
        let mut said = String::new();
        let lines = node.stdout.as_mut().unwrap();
        BufReader::new(lines).read_line(&mut said).unwrap();
        drop(stopping);
        running.join().unwrap().unwrap();
    });
    let output = node.wait_with_output().unwrap();
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complained}");
}

/// Whether the page could judge; if not, for a reason that a sound page may have here.
fn is_judged(run: &Value) -> bool {
    let verdict = &run["verdict"];
    if verdict["kind"] != "unknown" {
        return true;
    }
    let words = verdict["headline"].as_str().unwrap();
    let may_say = ["too busy", "messages measured the delay"];
    assert!(may_say.iter().any(|why| words.contains(why)), "{verdict}");
    false
}

fn load_named(run: &Value, control: &str) {
    assert_eq!(run["protocol"], "h2");
    let limits = run["limits"].to_string();
    assert!(limits.contains("16 connections each way"), "{limits}");
    let named = format!("sends with {control} congestion control");
    assert!(limits.contains(&named), "{limits}");
}

/// Which direction is worse, by the page and by `unbloat test`, where that makes a difference.
fn worst(verdict: &Verdict) -> Option<Direction> {
    let worst = verdict.directions.iter().max_by_key(|load| load.added);
    worst.map(|load| load.direction)
}

fn in_chromium_the_page_gives_a_bloated_link_the_verdict_of_unbloat_test() {
    let (run, tested) = both("cubic", false, true);
    load_named(&run, "cubic");
    if !is_judged(&run) || tested.grade.is_none() {
        return;
    }
    let page: Verdict = serde_json::from_value(run["verdict"].clone()).unwrap();
    assert_eq!(page.kind, Kind::Bloated, "{run}");
    assert_eq!(page.kind, tested.kind, "{tested:?}");
    assert_eq!(worst(&page), worst(&tested), "{page:?} {tested:?}");
    // 240 ms up, 60 ms down.
    assert_eq!(worst(&page), Some(Direction::Up), "{page:?}");
    assert_eq!(
        (page.grade.as_deref(), tested.grade.as_deref()),
        (Some("D"), Some("D"))
    );
}

fn in_chromium_the_page_and_unbloat_test_agree_where_bbr_is_the_default() {
    let (run, tested) = both("bbr", false, false);
    load_named(&run, "bbr");
    if !is_judged(&run) || tested.grade.is_none() {
        return;
    }
    let page: Verdict = serde_json::from_value(run["verdict"].clone()).unwrap();
    for direction in Direction::BOTH {
        let [page, tested] = [&page, &tested].map(|verdict| verdict.of(direction).unwrap().added);
        // Sixteen flows of BBR keep up to a round trip each; how much differs from run to run.
        let apart = (page.as_ms() - tested.as_ms()).abs();
        assert!(
            apart < 30.0f64.max(0.5 * tested.as_ms()),
            "{direction:?}: {page} {tested}"
        );
    }
    // Losses leave gaps in what the server reads, and none in what reached it.
    let [page, tested] = [&page, &tested].map(|verdict| verdict.of(Direction::Up).unwrap());
    let share = page.delivered.as_bps_f64() / tested.delivered.as_bps_f64();
    assert!((0.9..1.1).contains(&share), "{page:?} {tested:?}");
}

fn in_chromium_a_queue_that_others_keep_filled_is_not_taken_for_the_path() {
    let (run, tested) = both("cubic", true, false);
    if !is_judged(&run) || tested.grade.is_none() {
        return;
    }
    let page: Verdict = serde_json::from_value(run["verdict"].clone()).unwrap();
    let [page, tested] = [&page, &tested].map(|verdict| verdict.of(Direction::Up).unwrap());
    // 240 ms; of what the other alone leaves in the queue at its least, some 70 are left above.
    assert!(page.added.as_ms() > 150.0, "{page:?} {tested:?}");
}

unbloat_testkit::main! {
    tools(&["node"]) => [
        the_logic_of_the_page_is_right,
    ],
    tools(&["node", "chromium"]) => [
        in_chromium_a_server_that_goes_away_is_named_and_the_test_ends,
    ],
    root("a bed").and(tools(&["node", "chromium", "ip"])) => [
        in_chromium_the_page_gives_a_bloated_link_the_verdict_of_unbloat_test,
        in_chromium_the_page_and_unbloat_test_agree_where_bbr_is_the_default,
        in_chromium_a_queue_that_others_keep_filled_is_not_taken_for_the_path,
    ],
}
