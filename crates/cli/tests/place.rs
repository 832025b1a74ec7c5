//! The place of a queue decides the cure: `test --locate` and `fix` over a path of several hops. Needs root.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::IpAddr;
use std::process::{Child, Command, Stdio};
use unbloat_netns::tc::Framing;
use unbloat_netns::{Bed, Host, Route};
use unbloat_units::Rate;

const UNBLOAT: &str = env!("CARGO_BIN_EXE_unbloat");
const SERVER: &str = "203.0.113.10";

/// This host, its gateway, a router of the provider, a server; a cable between each two.
struct Path {
    hosts: [Host; 4],
    serving: Option<Child>,
    _bed: Bed,
}

/// Addresses of both ends of each cable.
const CABLES: [[&str; 2]; 3] = [
    ["192.168.7.10", "192.168.7.1"],
    ["198.51.100.1", "198.51.100.2"],
    ["203.0.113.1", SERVER],
];

impl Path {
    fn build() -> Path {
        let bed = Bed::new().expect("a bed");
        let roles = ["host", "gateway", "provider", "server"];
        let hosts = roles.map(|role| bed.host(role).expect("a host"));
        for (pair, [near, far]) in hosts.windows(2).zip(CABLES) {
            pair[0].veth("right", &pair[1], "left").expect("a pair");
            for (node, device, address) in [(&pair[0], "right", near), (&pair[1], "left", far)] {
                node.offloads_off(device).expect("no offloads");
                let network = format!("{address}/24");
                node.address(device, network.parse().expect("a network"))
                    .expect("an address");
            }
        }
        for (at, node) in hosts.iter().enumerate() {
            for (number, [near, _]) in CABLES.iter().enumerate() {
                let via: IpAddr = match (number < at, number > at) {
                    (true, _) if at - number > 1 => CABLES[at - 1][0].parse().expect("an address"),
                    (_, true) => CABLES[at][1].parse().expect("an address"),
                    _ => continue,
                };
                let network = format!("{}.0/24", near.rsplit_once('.').expect("dots").0);
                node.route(network.parse().expect("a network"), Route::Gateway(via))
                    .expect("a route");
            }
        }
        for router in &hosts[1..3] {
            router.forward().expect("a router");
            router
                .set("net/ipv4/icmp_ratelimit", "0")
                .expect("a setting");
        }
        // Downloads have a line of 50 Mbit/s with a short queue. Without one they take the whole processor, and their acknowledgements
        // more than the uplink.
        hosts[3]
            .bottleneck(
                "left",
                "bfifo limit 30000",
                Rate::mbps(50),
                Framing::default(),
            )
            .expect("a queue");
        Path {
            hosts,
            serving: None,
            _bed: bed,
        }
    }

    /// Some 200 ms at 5 Mbit/s for what this node sends towards the server.
    fn bloat(&self, node: usize) {
        let queue = "bfifo limit 125000";
        self.hosts[node]
            .bottleneck("right", queue, Rate::mbps(5), Framing::default())
            .expect("a queue");
    }

    fn serve(&mut self) {
        let mut serving = self.hosts[3].command(UNBLOAT).expect("a command");
        serving.args([
            "serve",
            "--json",
            "--listen",
            "0.0.0.0:4043",
            "--listen-echo",
            "0.0.0.0:2112",
            "--allow-congestion-control",
            "cubic",
        ]);
        serving.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut serving = serving.spawn().expect("it starts");
        let mut line = String::new();
        let said = serving.stdout.take().expect("a pipe");
        BufReader::new(said).read_line(&mut line).expect("a line");
        assert!(line.contains("fingerprint"), "{line}");
        self.serving = Some(serving);
    }

    fn run(&self, job: &[&str]) -> (Option<i32>, Value, String) {
        let mut command: Command = self.hosts[0].command(UNBLOAT).expect("a command");
        command.args(job);
        command.args([
            SERVER,
            "--insecure",
            "--quiet",
            "--json",
            "--congestion-control",
            "cubic",
            "--stages",
            "4s,3s,5s,0s",
        ]);
        let output = command.stdin(Stdio::null()).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let value =
            serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said} {errors}"));
        (output.status.code(), value, errors)
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        if let Some(serving) = &mut self.serving {
            // It may have ended by itself.
            let _ = serving.kill();
            let _ = serving.wait();
        }
    }
}

/// The upload's place, if the machine was quiet enough for a verdict.
fn place(document: &Value) -> Option<&str> {
    let verdict = &document["verdict"];
    let directions = verdict["directions"].as_array()?;
    let up = directions.iter().find(|load| load["direction"] == "up")?;
    verdict["grade"].as_str()?;
    up["located"]["place"].as_str()
}

fn advised(document: &Value) -> Vec<&str> {
    let advice = document["verdict"]["advice"].as_array().expect("advice");
    advice
        .iter()
        .filter_map(|one| one["cure"]["kind"].as_str())
        .collect()
}

fn a_queue_at_the_gateway_is_shaped_and_its_place_is_told() {
    let mut path = Path::build();
    path.bloat(1);
    path.serve();
    let (_, document, errors) = path.run(&["test", "--locate"]);
    let Some(place) = place(&document) else {
        panic!("{} {errors}", document["verdict"]);
    };
    assert_eq!(place, "access_line", "{}", document["verdict"]);
    assert!(
        advised(&document)[0].ends_with("shaper"),
        "{:?}",
        advised(&document)
    );
    let places = document["verdict"]["places"].as_array().expect("places");
    let of_uploads = |said: &&Value| {
        said.as_str()
            .is_some_and(|said| said.starts_with("The queue of uploads"))
    };
    let sentence = places.iter().find(of_uploads).and_then(Value::as_str);
    let sentence = sentence.unwrap_or_else(|| panic!("{places:?}"));
    assert!(
        sentence.contains("hop 1") && sentence.contains("192.168.7.1"),
        "{sentence}"
    );
    assert_eq!(document["located"][1]["load"], "up");
}

fn a_queue_beyond_the_access_line_is_left_alone_by_fix() {
    let mut path = Path::build();
    path.bloat(2);
    path.serve();
    let (code, said, errors) = path.run(&["fix", "--yes"]);
    assert_eq!(said["shaper"], Value::Null, "{said}");
    let because = said["because"][0].as_str().unwrap_or_default();
    if code == Some(5) {
        // A machine too busy for a test.
        return;
    }
    assert_eq!(code, Some(4), "{said} {errors}");
    assert!(because.contains("beyond the access line"), "{because}");
}

fn a_queue_in_this_hosts_discipline_is_cured_here() {
    let mut path = Path::build();
    path.bloat(0);
    path.serve();
    let (_, document, errors) = path.run(&["test", "--locate"]);
    let Some(place) = place(&document) else {
        panic!("{} {errors}", document["verdict"]);
    };
    assert_eq!(place, "qdisc", "{}", document["verdict"]);
    assert_eq!(advised(&document)[0], "device_queue");
    let alternative = &document["verdict"]["advice"][1]["cure"];
    assert_eq!(
        alternative["site"], "this_host",
        "{}",
        document["verdict"]["advice"]
    );
}

unbloat_testkit::main! {
    root("a bed") => [
        a_queue_at_the_gateway_is_shaped_and_its_place_is_told,
        a_queue_beyond_the_access_line_is_left_alone_by_fix,
        a_queue_in_this_hosts_discipline_is_cured_here,
    ],
}
