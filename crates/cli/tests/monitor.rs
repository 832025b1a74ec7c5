//! `unbloat monitor` in network namespaces, and the metrics of all commands under a real Prometheus.

use rustix::net::sockopt::set_tcp_congestion;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};
use unbloat_netns::{Bed, Host, Route};
use unbloat_run::RunReader;
use unbloat_table::ColumnView;

const UNBLOAT: &str = env!("CARGO_BIN_EXE_unbloat");
const DASHBOARD: &str = include_str!("../../../packaging/grafana/unbloat.json");
const SCHEMA: &str = include_str!("../../../docs/schema/monitor.json");
const SERVER: &str = "10.82.0.2:9000";

/// A host behind a router whose queues are long, and a server.
/// Says that it is over, when it goes.
struct Over<'f>(&'f AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Home {
    _bed: Bed,
    host: Host,
    router: Host,
    _line: Host,
    server: Host,
    folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Home {
        let bed = Bed::new().unwrap();
        let [host, router, line, server] =
            ["host", "router", "line", "server"].map(|role| bed.host(role).unwrap());
        host.veth("wan0", &router, "lan0").unwrap();
        router.veth("up0", &line, "home0").unwrap();
        line.veth("net0", &server, "eth0").unwrap();
        let address = |at: &Host, device: &str, net: &str| {
            at.address(device, net.parse().unwrap()).unwrap();
            at.single_segments(device).unwrap();
        };
        address(&host, "wan0", "10.81.0.2/24");
        address(&router, "lan0", "10.81.0.1/24");
        address(&router, "up0", "10.83.0.1/24");
        address(&line, "home0", "10.83.0.2/24");
        address(&line, "net0", "10.82.0.1/24");
        address(&server, "eth0", "10.82.0.2/24");
        let route = |at: &Host, via: &str| {
            let via = Route::Gateway(via.parse().unwrap());
            at.route("0.0.0.0/0".parse().unwrap(), via).unwrap();
        };
        route(&host, "10.81.0.1");
        route(&router, "10.83.0.2");
        route(&line, "10.83.0.1");
        route(&server, "10.82.0.1");
        router.forward().unwrap();
        line.forward().unwrap();
        router
            .queue("up0", "tbf rate 5mbit burst 5000 limit 200000")
            .unwrap();
        // Downloads wait on the line, in front of the router's shaper. A sender keeps only a few packets of each connection in a queue of its own.
        line.queue("home0", "tbf rate 15mbit burst 5000 limit 500000")
            .unwrap();
        for words in [
            "qdisc add dev lan0 root handle 1: htb default 1",
            "class add dev lan0 parent 1: classid 1:1 htb rate 20mbit",
        ] {
            let mut tc = router.command("tc").unwrap();
            assert!(tc.args(words.split(' ')).status().unwrap().success());
        }
        Home {
            _bed: bed,
            host,
            router,
            _line: line,
            server,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// The command on a host; its output goes to files.
    fn start(&self, host: &Host, name: &str, words: &[&str]) -> Running {
        let mut command = host.command(UNBLOAT).unwrap();
        command.args(words);
        Running::start(command, self.folder.path(), name)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// While `job` runs, the server answers, and a flow asks a little all the time.
    fn while_living<T>(&self, job: impl FnOnce() -> T) -> T {
        let listen = || TcpListener::bind("0.0.0.0:9000").unwrap();
        let listener = self.server.within(listen).unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                listener.set_nonblocking(true).unwrap();
                while !is_over.load(Ordering::Relaxed) {
                    match listener.accept() {
                        Ok((stream, _)) => drop(scope.spawn(|| answer(stream))),
                        Err(_) => sleep(Duration::from_millis(20)),
                    }
                }
            });
            let mut light = self.connect();
            let over = &is_over;
            scope.spawn(move || {
                let mut answer = [0; 64];
                while !over.load(Ordering::Relaxed) {
                    let asked = light
                        .write_all(b"ask")
                        .and_then(|()| light.read(&mut answer));
                    if asked.is_err() {
                        return;
                    }
                    sleep(Duration::from_millis(100));
                }
            });
            // Also when the job panics: the scope waits for its threads.
            let _over = Over(&is_over);
            job()
        })
    }

    fn connect(&self) -> TcpStream {
        let connect = || TcpStream::connect(SERVER).unwrap();
        let stream = self.host.within(connect).unwrap();
        set_tcp_congestion(&stream, "cubic").unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(5)))
            .unwrap();
        stream
    }

    fn upload(&self, span: Duration) {
        let mut stream = self.connect();
        let until = Instant::now() + span;
        while Instant::now() < until {
            stream.write_all(&[7; 16_384]).unwrap();
        }
    }

    /// What is at `path` of a server, seen from the host.
    fn get(&self, at: &str, path: &str) -> String {
        let at: SocketAddr = at.parse().unwrap();
        let connect = || TcpStream::connect_timeout(&at, Duration::from_secs(5));
        let Ok(mut stream) = self.host.within(connect).unwrap() else {
            return String::new();
        };
        let request = format!("GET {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n");
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply);
        let reply = String::from_utf8_lossy(&reply).into_owned();
        let body = reply.split_once("\r\n\r\n");
        body.map_or(String::new(), |(_, body)| body.to_owned())
    }
}

/// Three bytes ask for an answer; more is an upload.
fn answer(mut stream: TcpStream) {
    stream.set_nonblocking(false).unwrap();
    let mut bytes = vec![0; 65_536];
    while let Ok(read @ 1..) = stream.read(&mut bytes) {
        if read == 3 && stream.write_all(b"answer").is_err() {
            return;
        }
    }
}

struct Running {
    child: Child,
    name: String,
    folder: PathBuf,
}

impl Running {
    fn start(mut command: Command, folder: &Path, name: &str) -> Running {
        let file = |end: &str| File::create(folder.join(format!("{name}.{end}"))).unwrap();
        command
            .stdin(Stdio::null())
            .stdout(file("out"))
            .stderr(file("err"));
        Running {
            child: command.spawn().unwrap(),
            name: name.to_owned(),
            folder: folder.to_owned(),
        }
    }

    fn read(&self, end: &str) -> String {
        let path = self.folder.join(format!("{}.{end}", self.name));
        std::fs::read_to_string(path).unwrap()
    }

    fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "{}: never {what}\n{}{}",
                self.name,
                self.read("out"),
                self.read("err")
            );
            sleep(Duration::from_millis(200));
        }
    }

    fn end(&mut self) -> ExitStatus {
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        self.child.wait().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(text: &str) -> Vec<Value> {
    let parse = |line| serde_json::from_str(line).expect("a line is JSON");
    text.lines().map(parse).collect()
}

fn kinds(lines: &[Value]) -> Vec<&str> {
    let events = lines.iter().filter(|line| line["record"] == "event");
    events.filter_map(|event| event["kind"].as_str()).collect()
}

/// The folder of the day that was written last.
fn last_day(history: &Path) -> PathBuf {
    let names = std::fs::read_dir(history).unwrap();
    let names = names.map(|entry| entry.unwrap().path());
    let days = names.filter(|path| path.join("run.json").exists());
    days.max().expect("a day was written")
}

fn column(day: &Path, table: &str, name: &str) -> Vec<String> {
    let run = RunReader::open(day).unwrap();
    let mut all = Vec::new();
    for batch in run.read(table).unwrap() {
        let batch = batch.unwrap();
        let column = ColumnView::of(batch.column(name));
        let text = |row| match column.text(row) {
            Some(text) => text.to_owned(),
            None => format!("{:?}", column.i64(row)),
        };
        all.extend((0..batch.len()).map(text));
    }
    all
}

fn an_upload_is_an_episode_with_its_culprit_and_a_restart_continues_the_day() {
    let home = Home::new();
    let (history, alerts) = (home.path("history"), home.path("alerts"));
    let alert = format!("cat >> {0}; echo >> {0}", alerts.display());
    let words = [
        "monitor",
        "--interface",
        "wan0",
        "--interval",
        "5 s",
        "--history",
        history.to_str().unwrap(),
        "--metrics",
        "9910",
        "--json",
        "--alert",
        &alert,
    ];
    let mut first = home.start(&home.host, "first", &words);
    home.while_living(|| {
        first.until("serves metrics", || home.get("127.0.0.1:9910", "/metrics").contains("unbloat_monitor_watched_seconds_total"));
        sleep(Duration::from_secs(3));
        home.upload(Duration::from_secs(14));
        let active = "unbloat_monitor_episode_active{direction=\"up\"} 1\n";
        first.until("sees the episode", || home.get("127.0.0.1:9910", "/metrics").contains(active));
        let page = home.get("127.0.0.1:9910", "/metrics");
        assert!(page.contains("unbloat_monitor_episode_active{direction=\"down\"} 0\n"), "{page}");
        assert!(page.contains("unbloat_monitor_culprit_ratio{direction=\"up\",client=\"10.81.0.2\",server=\"10.82.0.2\""), "{page}");
    });
    assert_eq!(first.end().code(), Some(0), "{}", first.read("err"));
    let told = lines(&first.read("out"));
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    for line in &told {
        assert_eq!(
            unbloat_testkit::violations(&schema, line),
            Vec::<String>::new(),
            "{line}"
        );
    }
    let episodes: Vec<&Value> = told
        .iter()
        .filter(|line| line["kind"] == "episode")
        .collect();
    let last = episodes.last().expect("an episode");
    assert_eq!(last["direction"], "up");
    assert_eq!(last["place"], "after_capture");
    assert_eq!(last["culprits"][0]["server"], "10.82.0.2");
    assert_eq!(last["culprits"][0]["server_port"], 9_000);
    let p95_ms = last["p95_ms"].as_f64().unwrap();
    // The bucket's limit is 320 ms at its rate.
    assert!((100.0..450.0).contains(&p95_ms), "{last}");
    assert!(
        episodes.iter().all(|episode| episode["direction"] == "up"),
        "{episodes:?}"
    );
    let alerted = lines(&std::fs::read_to_string(&alerts).unwrap());
    assert_eq!(alerted[0]["interface"], "wan0");
    assert_eq!(alerted[0]["direction"], "up");
    assert_eq!(alerted[0]["culprits"][0]["server"], "10.82.0.2");

    let day = last_day(&history);
    let before = column(&day, "monitor_delays", "start_ns");
    assert!(!before.is_empty());
    let mut second = home.start(&home.host, "second", &words);
    second.until("runs", || second.read("err").contains("monitoring wan0"));
    sleep(Duration::from_secs(7));
    home.host.down("wan0").unwrap();
    second.until("notices the loss", || {
        kinds(&lines(&second.read("out"))).contains(&"interface_lost")
    });
    home.host.up("wan0").unwrap();
    second.until("notices the return", || {
        kinds(&lines(&second.read("out"))).contains(&"interface_back")
    });
    assert_eq!(second.end().code(), Some(0), "{}", second.read("err"));
    let after = column(&last_day(&history), "monitor_delays", "start_ns");
    assert!(after.len() > before.len() && before.iter().all(|start| after.contains(start)));
    let unique: BTreeSet<&String> = after.iter().collect();
    // A row for each direction.
    assert_eq!(2 * unique.len(), after.len());
    let events = column(&last_day(&history), "monitor_events", "kind");
    let count = |kind: &str| events.iter().filter(|event| *event == kind).count();
    assert_eq!(
        ["started", "stopped", "interface_lost", "interface_back"].map(count),
        [2, 2, 1, 1],
        "{events:?}"
    );
    assert_eq!(count("episode"), 1, "{events:?}");
    let page = std::fs::read_to_string(history.join("index.html")).unwrap();
    assert!(
        page.contains("1 episode of bufferbloat")
            && page.contains("in the last 24 h")
            && page.contains("10.82.0.2:9000")
    );
}

/// The words of a query, without Grafana's variables.
fn plain(query: &str) -> String {
    query
        .replace("$__rate_interval", "30s")
        .replace("$instance", ".+")
}

fn queries() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels
        .iter()
        .filter_map(|panel| panel["targets"].as_array());
    let queries = targets
        .flatten()
        .filter_map(|target| target["expr"].as_str());
    queries.map(plain).collect()
}

fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

/// A body that may come in chunks, as JSON.
fn document(body: &str) -> Value {
    let begin = body.find('{').unwrap_or(0);
    let end = body.rfind('}').map_or(0, |end| end + 1);
    let whole: String = body[begin..end].to_owned();
    serde_json::from_str(&whole).unwrap_or_else(|error| panic!("{error}: {body}"))
}

fn a_real_prometheus_takes_the_metrics_and_the_dashboard_has_data() {
    let home = Home::new();
    let history = home.path("history");
    let mut serve = home.start(
        &home.server,
        "serve",
        &["serve", "--metrics", "10.82.0.2:9912"],
    );
    serve.until("listens", || serve.read("err").contains("metrics at"));
    let shape_words = [
        "shape",
        "--interface",
        "eth0",
        "--rate-up",
        "50 Mbit/s",
        "--metrics",
        "10.82.0.2:9913",
    ];
    let mut shape = home.start(&home.server, "shape", &shape_words);
    let autorate_words = [
        "autorate",
        "--interface",
        "up0",
        "--interface-down",
        "lan0",
        "--dry-run",
        "--metrics",
        "10.81.0.1:9914",
    ];
    let mut autorate = home.start(&home.router, "autorate", &autorate_words);
    let words = [
        "monitor",
        "--interface",
        "wan0",
        "--interval",
        "5 s",
        "--history",
        history.to_str().unwrap(),
        "--metrics",
        "9910",
        "--alert",
        "cat > /dev/null",
        "--every",
        "10 min",
        "--budget",
        "200 MB",
        "--insecure",
        "10.82.0.2:4043",
    ];
    let mut monitor = home.start(&home.host, "monitor", &words);
    let all = [
        ("monitor", "127.0.0.1:9910"),
        ("serve", "10.82.0.2:9912"),
        ("shape", "10.82.0.2:9913"),
        ("autorate", "10.81.0.1:9914"),
    ];
    let config = home.path("prometheus.yml");
    let targets = all.map(|(_, at)| format!("'{at}'")).join(", ");
    let text = format!(
        "global: {{scrape_interval: 1s}}\nscrape_configs:\n- job_name: unbloat\n  static_configs:\n  - targets: [{targets}]\n"
    );
    std::fs::write(&config, text).unwrap();
    let mut command = home.host.command("prometheus").unwrap();
    command.args([
        &format!("--config.file={}", config.display()),
        &format!("--storage.tsdb.path={}", home.path("tsdb").display()),
        "--web.listen-address=127.0.0.1:9090",
    ]);
    let mut prometheus = Running::start(command, home.folder.path(), "prometheus");
    let query = |asked: &str| {
        let path = format!("/api/v1/query?query={}", encoded(asked));
        document(&home.get("127.0.0.1:9090", &path))
    };
    home.while_living(|| {
        prometheus.until("is ready", || {
            home.get("127.0.0.1:9090", "/-/ready").contains("Ready")
        });
        home.upload(Duration::from_secs(14));
        monitor.until("has tested", || {
            monitor
                .read("err")
                .contains("test of 10.82.0.2:4043: grade")
        });
        // Two more scrapes.
        sleep(Duration::from_secs(4));
    });
    // All are scraped without a fault.
    let scraped = document(&home.get("127.0.0.1:9090", "/api/v1/targets"));
    let active = scraped["data"]["activeTargets"].as_array().unwrap();
    assert_eq!(active.len(), all.len());
    for target in active {
        assert_eq!(target["health"], "up", "{target}");
    }
    for (name, at) in all {
        let told = query(&format!("unbloat_build_info{{instance=\"{at}\"}}"));
        assert_eq!(
            told["data"]["result"][0]["metric"]["command"], name,
            "{told}"
        );
        lint(&home.get(at, "/metrics"));
    }
    // Every query of the dashboard had data at some time of the test.
    let mut empty = Vec::new();
    for asked in queries() {
        let path = format!(
            "/api/v1/query_range?query={}&start={}&end={}&step=1",
            encoded(&asked),
            seconds() - 90,
            seconds()
        );
        let told = document(&home.get("127.0.0.1:9090", &path));
        assert_eq!(told["status"], "success", "{asked}: {told}");
        if told["data"]["result"].as_array().is_none_or(Vec::is_empty) {
            empty.push(asked);
        }
    }
    assert!(empty.is_empty(), "queries without data: {empty:#?}");
    for one in [
        &mut monitor,
        &mut serve,
        &mut shape,
        &mut autorate,
        &mut prometheus,
    ] {
        one.end();
    }
}

fn seconds() -> u64 {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    since.as_secs()
}

fn lint(text: &str) {
    let mut promtool = Command::new("promtool");
    promtool.args(["check", "metrics"]).stdin(Stdio::piped());
    promtool.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = promtool.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let told = [output.stdout, output.stderr].concat();
    assert!(
        output.status.success() && told.is_empty(),
        "{}\n{text}",
        String::from_utf8_lossy(&told)
    );
}

fn a_unit_repeats_the_options() {
    let output = Command::new(UNBLOAT)
        .args([
            "monitor",
            "--interface",
            "wan0",
            "--alert",
            "logger $x",
            "--unit",
        ])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\nStartLimitIntervalSec=0\n"), "{text}");
    let line = text
        .lines()
        .find(|line| line.starts_with("ExecStart="))
        .unwrap();
    assert!(
        line.ends_with(r#" "monitor" "--interface" "wan0" "--alert" "logger $$x""#),
        "{line}"
    );
}

unbloat_testkit::main! {
    always() => [
        a_unit_repeats_the_options,
    ],
    root("capturing in network namespaces") => [
        an_upload_is_an_episode_with_its_culprit_and_a_restart_continues_the_day,
    ],
    root("capturing in network namespaces").and(tools(&["prometheus", "promtool"])) => [
        a_real_prometheus_takes_the_metrics_and_the_dashboard_has_data,
    ],
}
