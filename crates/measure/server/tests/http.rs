//! What clients get.

mod common;

use common::{Reply, Running};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use unbloat_server::{Limits, Options};
use unbloat_testkit::until;
use unbloat_units::{Delta, Rate};

#[test]
fn the_discovery_names_six_urls_of_the_host_that_was_asked() {
    let server = Running::new(&Options::loopback());
    let reply = server.ask("GET", "/.well-known/nq");
    assert_eq!(reply.status, 200);
    assert!(reply.head.contains("content-type: application/json"));
    let nq = reply.json();
    assert_eq!(nq["version"], 1);
    let urls = nq["urls"].as_object().unwrap();
    assert_eq!(urls.len(), 6);
    assert_eq!(
        urls["small_https_download_url"],
        "http://test.example:1/small"
    );
    assert_eq!(urls["upload_url"], urls["https_upload_url"]);
}

#[test]
fn bodies_have_the_sizes_that_were_asked_for() {
    let server = Running::new(&Options::loopback());
    assert_eq!(server.ask("GET", "/small").body.len(), 1);
    assert_eq!(
        server.ask("GET", "/large?bytes=3000001").body.len(),
        3_000_001
    );
    let head = server.ask("HEAD", "/large");
    assert!(
        head.head.contains("content-length: 8589934592"),
        "{}",
        head.head
    );
    assert!(head.body.is_empty());
    let mut upload =
        b"POST /upload HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 2000003\r\n\r\n"
            .to_vec();
    upload.resize(upload.len() + 2_000_003, 7);
    assert_eq!(server.send(&upload).json()["received_bytes"], 2_000_003);
    until("counted", || server.counts().down_bytes == 3_000_001);
    assert_eq!(server.counts().up_bytes, 2_000_003);
}

#[test]
fn what_is_not_there_or_not_so_is_refused_in_words() {
    let server = Running::new(&Options::loopback());
    assert_eq!(server.ask("GET", "/nothing").status, 404);
    let method = server.ask("DELETE", "/small");
    assert_eq!(method.status, 405);
    assert!(method.head.contains("allow: GET, HEAD"));
    let twice = server.ask("GET", "/large?bytes=1&bytes=2");
    assert_eq!(
        (twice.status, twice.text().as_str()),
        (400, "bytes occurs twice in the query\n")
    );
    assert_eq!(server.ask("GET", "/large?bytes=8589934593").status, 400);
    let control = server.ask("GET", "/large?bytes=1&congestion_control=nosuch");
    assert_eq!(control.status, 400);
    assert!(control.text().contains("not with nosuch"));
    let session = "00000000000000000000000000000000";
    assert_eq!(
        server
            .ask("GET", &format!("/large?session={session}&flow=1"))
            .status,
        404
    );
    assert_eq!(server.ask("GET", "/unbloat/v1/ws").status, 400);
}

/// Lines of an account, as they come.
fn account(server: &Running, id: &str) -> impl Iterator<Item = Value> {
    let mut stream = server.connect();
    write!(
        stream,
        "GET /unbloat/v1/session/{id}/account HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let lines = BufReader::new(stream).lines();
    // Between lines stand the lengths of chunks and the head.
    let lines = lines.map_while(Result::ok);
    lines
        .filter(|l| l.starts_with("{"))
        .map(|l| serde_json::from_str(&l).unwrap())
}

/// What an account has told so far.
#[derive(Default)]
struct Told {
    flows: BTreeMap<u64, Value>,
    connections: BTreeMap<u64, Value>,
}

impl Told {
    /// Reads until it is so.
    fn read(
        &mut self,
        lines: &mut impl Iterator<Item = Value>,
        mut is_so: impl FnMut(&Told) -> bool,
    ) {
        let list = |line: &Value, of: &str| line[of].as_array().cloned().unwrap_or_default();
        while !is_so(self) {
            let line = lines.next().expect("the account goes on");
            for flow in list(&line, "flows") {
                self.flows.insert(flow["flow"].as_u64().unwrap(), flow);
            }
            for pair in list(&line, "bytes") {
                let flow = self.flows.get_mut(&pair[0].as_u64().unwrap());
                flow.expect("it began")["bytes"] = pair[1].clone();
            }
            for connection in list(&line, "connections") {
                let number = connection["connection"].as_u64().unwrap();
                let known = self.connections.entry(number).or_default();
                for (name, value) in connection["tcp"].as_object().unwrap() {
                    known[name] = value.clone();
                }
            }
        }
    }

    fn tcp(&self, flow: u64, field: &str) -> Option<u64> {
        let connection = self.flows.get(&flow)?["connection"].as_u64()?;
        self.connections.get(&connection)?[field].as_u64()
    }
}

#[test]
fn the_account_tells_of_both_directions_with_the_kernels_view() {
    let server = Running::new(&Options::loopback());
    let id = server.session();
    let mut lines = account(&server, &id);
    assert_eq!(lines.next().unwrap()["flows"], Value::Null);
    let mut up = server.connect();
    write!(
        up,
        "POST /upload?session={id}&flow=2 HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\n"
    )
    .unwrap();
    up.write_all(&[1; 400_000]).unwrap();
    let mut down = server.connect();
    write!(
        down,
        "GET /large?session={id}&flow=1&unsent_ms=5 HTTP/1.1\r\nhost: a\r\n\r\n"
    )
    .unwrap();
    down.read_exact(&mut [0; 500_000]).unwrap();
    let mut told = Told::default();
    told.read(&mut lines, |told| {
        let received = told.flows.get(&2).map(|flow| &flow["bytes"]);
        told.flows.contains_key(&1)
            && received == Some(&400_000.into())
            && [1, 2]
                .iter()
                .all(|k| told.tcp(*k, "received_bytes") >= Some(40))
            && told.tcp(2, "received_bytes") >= Some(400_000)
    });
    let [first, second] = [1, 2].map(|k| told.flows[&k].clone());
    assert_eq!(
        (&first["direction"], &second["direction"]),
        (&"down".into(), &"up".into())
    );
    assert!(first["bytes"].as_u64().unwrap() >= 400_000);
    assert!(told.tcp(1, "unsent_limit_bytes") > Some(0));
    assert_eq!(told.tcp(2, "unsent_limit_bytes"), None);
    assert!(second["open"].as_bool().unwrap());
    assert_ne!(first["connection"], second["connection"]);
    told.read(&mut lines, |told| told.tcp(1, "acked_bytes") > Some(0));
    let again = server.ask("GET", &format!("/large?session={id}&flow=1"));
    assert_eq!(again.status, 409, "the flow is under way");
    let other = server.ask("GET", &format!("/unbloat/v1/session/{id}/account"));
    assert_eq!(other.status, 409, "one account at a time");
    drop(down);
    told.read(&mut lines, |told| told.flows[&1]["open"] == false);
    assert_eq!(
        server
            .ask("DELETE", &format!("/unbloat/v1/session/{id}"))
            .status,
        204
    );
    assert!(lines.all(|_| true), "and the account ends");
    assert_eq!(
        server
            .ask("GET", &format!("/unbloat/v1/session/{id}"))
            .status,
        404
    );
}

#[test]
fn tokens_keep_strangers_out_and_are_handed_on() {
    let options = Options {
        tokens: vec!["open sesame".to_owned()],
        ..Options::loopback()
    };
    let server = Running::new(&options);
    assert_eq!(server.ask("GET", "/small").status, 401);
    assert_eq!(server.ask("GET", "/small?token=guess").status, 401);
    assert_eq!(server.ask("GET", "/small?token=open+sesame").status, 200);
    assert_eq!(server.ask("GET", "/").status, 200);
    let bearer = b"GET /small HTTP/1.1\r\nhost: a\r\nconnection: close\r\nauthorization: Bearer open sesame\r\n\r\n";
    assert_eq!(server.send(bearer).status, 200);
    let nq = server
        .ask("GET", "/.well-known/nq?token=open%20sesame")
        .json();
    let small = nq["urls"]["small_download_url"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = small.strip_prefix("http://test.example:1").unwrap();
    assert_eq!(server.ask("GET", path).status, 200);
    let session = server
        .ask("POST", "/unbloat/v1/session?token=open%20sesame")
        .json();
    let id = session["session"].as_str().unwrap();
    let reply = server.ask("GET", &format!("/large?bytes=5&session={id}&flow=0"));
    assert_eq!(reply.body.len(), 5, "a session takes a token's place");
}

/// A connection whose upload is under way.
fn uploading(server: &Running) -> std::net::TcpStream {
    let before = server.counts().up_bytes;
    let mut stream = server.connect();
    stream
        .write_all(b"POST /upload HTTP/1.1\r\nhost: a\r\ncontent-length: 900\r\n\r\n.")
        .unwrap();
    until("begun", || server.counts().up_bytes > before);
    stream
}

#[test]
fn who_is_idle_longest_gives_way_in_the_words_of_its_protocol() {
    let limits = Limits {
        connections_per_address: 3,
        ..Limits::default()
    };
    let server = Running::new(&Options {
        limits,
        ..Options::loopback()
    });
    let mut load = uploading(&server);
    let mut first = server.connect();
    first
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .unwrap();
    // Its settings: it has been heard.
    first.read_exact(&mut [0; 9]).unwrap();
    let mut second = server.connect();
    second
        .write_all(b"GET /small HTTP/1.1\r\nhost: a\r\n\r\n")
        .unwrap();
    assert!(second.read(&mut [0; 4096]).unwrap() > 0);
    assert_eq!(server.ask("GET", "/small").status, 200);
    let mut last = Vec::new();
    let _ = first.read_to_end(&mut last);
    // Length 8, kind 7, of the connection (RFC 9113, 6.8).
    let goaway = [0, 0, 8, 7, 0, 0, 0, 0, 0];
    assert!(last.windows(9).any(|w| w == goaway), "{last:?}");
    until("two stay", || server.counts().connections == 2);
    second
        .write_all(b"GET /small HTTP/1.1\r\nhost: a\r\n\r\n")
        .unwrap();
    assert!(second.read(&mut [0; 4096]).unwrap() > 0, "it stayed");
    load.write_all(&[0; 899]).unwrap();
    assert!(load.read(&mut [0; 4096]).unwrap() > 0, "the load as well");
}

#[test]
fn limits_refuse_with_their_reason() {
    let limits = Limits {
        sessions_per_address: 1,
        transfer_time: Delta::ms(200),
        transfer_bytes: unbloat_units::Bytes::new(1000),
        rate: Some(Rate::mbps(800)),
        ..Limits::default()
    };
    let server = Running::new(&Options {
        limits,
        ..Options::loopback()
    });
    server.session();
    let more = server.ask("POST", "/unbloat/v1/session");
    assert_eq!(
        (more.status, more.text().contains("your address")),
        (429, true)
    );
    assert!(more.head.contains("retry-after: "));
    let cut = server.ask("GET", "/large");
    assert_eq!(cut.status, 200);
    assert!(
        !cut.body.is_empty() && cut.body.len() < 1 << 30,
        "{}",
        cut.body.len()
    );
    let mut long =
        b"POST /upload HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 5000\r\n\r\n"
            .to_vec();
    long.resize(long.len() + 4000, 0);
    let early = server.send(&long);
    assert!(early.json()["received_bytes"].as_u64().unwrap() >= 1000);
}

#[test]
fn nobody_who_works_gives_way() {
    let limits = Limits {
        connections_per_address: 3,
        ..Limits::default()
    };
    let server = Running::new(&Options {
        limits,
        ..Options::loopback()
    });
    let held: Vec<_> = (0..3).map(|_| uploading(&server)).collect();
    let refused: Reply = server.ask("GET", "/small");
    assert_eq!(refused.status, 429);
    assert!(refused.text().contains("connections"));
    drop(held);
}

#[test]
fn answers_tell_browsers_to_keep_them_from_other_sites() {
    let server = Running::new(&Options::loopback());
    for path in ["/", "/small", "/nothing", "/.well-known/nq"] {
        let head = server.ask("GET", path).head;
        for line in [
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cross-origin-resource-policy: same-origin",
        ] {
            assert!(head.contains(line), "{path}: {head}");
        }
    }
}

#[test]
fn pages_of_other_sites_load_nobody_and_take_no_places() {
    let server = Running::new(&Options::loopback());
    let ask = |line: &str, header: &str| {
        let request = format!(
            "{line} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 0\r\n{header}\r\n\r\n"
        );
        server.send(request.as_bytes()).status
    };
    for line in [
        "GET /large?bytes=1",
        "POST /upload",
        "POST /unbloat/v1/session",
        "GET /unbloat/v1/ws",
        "GET /ndt/v7/download",
    ] {
        assert_eq!(ask(line, "sec-fetch-site: cross-site"), 403, "{line}");
        assert_eq!(ask(line, "origin: https://evil.example"), 403, "{line}");
        assert_ne!(ask(line, "sec-fetch-site: same-origin"), 403, "{line}");
        assert_ne!(ask(line, "origin: http://a"), 403, "{line}");
    }
    assert_eq!(ask("GET /small", "sec-fetch-site: cross-site"), 200);
}

#[test]
fn a_congestion_control_that_the_kernel_does_not_allow_everybody_is_refused() {
    let read = |name: &str| {
        let path = format!("/proc/sys/net/ipv4/tcp_{name}_congestion_control");
        let text = std::fs::read_to_string(path).unwrap();
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let allowed = read("allowed");
    let server = Running::new(&Options::loopback());
    // Root may set those that are not allowed: it is us who refuse them.
    for name in read("available") {
        let reply = server.ask("GET", &format!("/large?bytes=1&congestion_control={name}"));
        let expected = if allowed.contains(&name) { 200 } else { 400 };
        assert_eq!(reply.status, expected, "{name}");
        // Who asks for a session hears it before any load.
        let path = format!("/unbloat/v1/session?congestion_control={name}");
        let opened = server.ask("POST", &path);
        let created = if allowed.contains(&name) { 201 } else { 400 };
        assert_eq!(opened.status, created, "{name}");
        let is_told = opened.text().contains("--allow-congestion-control NAME");
        assert_eq!(is_told, created == 400, "{}", opened.text());
    }
    let named = Running::new(&Options {
        congestion_controls: read("available"),
        ..Options::loopback()
    });
    for name in read("available") {
        // What only root may set is refused by the kernel, to others than root.
        let reply = named.ask("GET", &format!("/large?bytes=1&congestion_control={name}"));
        assert!(!reply.text().contains("this server sends"), "{name}");
    }
}

#[test]
fn connections_are_numbered_within_their_session() {
    let server = Running::new(&Options::loopback());
    for _ in 0..5 {
        assert_eq!(server.ask("GET", "/small").status, 200);
    }
    let id = server.session();
    let mut lines = account(&server, &id);
    let path = format!("/upload?session={id}&flow=1");
    server.post(&path, &[7; 1000]);
    let flow = lines
        .find_map(|line| line["flows"].get(0).cloned())
        .unwrap();
    assert_eq!(flow["connection"], 1);
}

#[test]
fn who_was_answered_may_leave_without_a_farewell() {
    let server = Running::new(&Options::loopback());
    // Without linger, closing resets the connection.
    let leave = |stream: TcpStream| {
        let stream = socket2::SockRef::from(&stream);
        stream.set_linger(Some(std::time::Duration::ZERO)).unwrap();
    };
    let mut answered = server.connect();
    answered
        .write_all(b"GET /small HTTP/1.1\r\nhost: a\r\n\r\n")
        .unwrap();
    assert!(answered.read(&mut [0; 1024]).unwrap() > 0);
    leave(answered);
    until("it is gone", || server.counts().connections == 0);
    assert_eq!(server.counts().failed, 0);
    let mut unheard = server.connect();
    unheard.write_all(b"GET /small HT").unwrap();
    leave(unheard);
    until("it has failed", || server.counts().failed == 1);
}

#[test]
fn who_only_looks_whether_anything_listens_has_not_failed() {
    let server = Running::new(&Options::loopback());
    let tls = || TcpStream::connect(server.at.tls).unwrap();
    drop(tls());
    until("it came and went", || {
        server.counts().accepted == 1 && server.counts().connections == 0
    });
    assert_eq!(server.counts().failed, 0);
    let mut broken = tls();
    broken.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    until("it has failed", || server.counts().failed == 1);
}
