//! WebSockets: the echo for browsers, and ndt7.

mod common;

use common::Running;
use serde_json::Value;
use std::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Error, Message, WebSocket, client};
use unbloat_server::Options;
use unbloat_testkit::until;

fn open(
    server: &Running,
    path: &str,
    protocol: Option<&'static str>,
) -> Result<WebSocket<TcpStream>, u16> {
    let mut request = format!("ws://test.example{path}")
        .into_client_request()
        .unwrap();
    if let Some(protocol) = protocol {
        let value = HeaderValue::from_static(protocol);
        request
            .headers_mut()
            .insert("sec-websocket-protocol", value);
    }
    match client(request, server.connect()) {
        Ok((socket, _)) => Ok(socket),
        Err(error) => match error {
            tokio_tungstenite::tungstenite::HandshakeError::Failure(Error::Http(reply)) => {
                Err(reply.status().as_u16())
            }
            other => panic!("{other}"),
        },
    }
}

#[test]
fn messages_come_back_as_they_are() {
    let server = Running::new(&Options::loopback());
    let mut socket = open(&server, "/unbloat/v1/ws", None).unwrap();
    let messages = [
        Message::text("17"),
        Message::binary(vec![1, 2, 3]),
        Message::binary(vec![0; 1024]),
    ];
    for message in messages {
        socket.send(message.clone()).unwrap();
        assert_eq!(socket.read().unwrap(), message);
    }
    socket.send(Message::binary(vec![0; 1025])).unwrap();
    assert!(matches!(socket.read().unwrap(), Message::Close(Some(_))));
}

#[test]
fn who_sends_too_many_messages_is_sent_away() {
    let server = Running::new(&Options::loopback());
    let mut socket = open(&server, "/unbloat/v1/ws", None).unwrap();
    // In two seconds of a loaded machine at most 400 pass.
    let ended = (0..2000).find_map(|_| {
        let sent = socket.send(Message::text("x"));
        let read = sent.and_then(|()| socket.read());
        (!matches!(read, Ok(Message::Text(_)))).then_some(())
    });
    assert!(ended.is_some());
}

#[test]
fn load_of_the_page_begins_and_stops_by_message_and_uploads_are_counted() {
    let server = Running::new(&Options::loopback());
    let session = server.session();
    let path =
        format!("/unbloat/v1/ws/load?session={session}&flow=3&congestion_control=reno&unsent_ms=5");
    let mut socket = open(&server, &path, None).unwrap();
    let said = socket.read().unwrap().into_text().unwrap();
    assert_eq!(said.as_str(), r#"{"congestion_control":"reno"}"#);
    socket.send(Message::text("down")).unwrap();
    assert!((0..20).all(|_| socket.read().unwrap().is_binary()));
    socket.send(Message::text("stop")).unwrap();
    socket.send(Message::binary(vec![7; 5000])).unwrap();
    until("the upload is counted", || server.counts().up_bytes == 5000);
    assert_eq!(open(&server, "/unbloat/v1/ws/load", None).unwrap_err(), 400);
}

#[test]
fn a_run_of_the_page_is_judged_and_what_is_none_is_refused() {
    let server = Running::new(&Options::loopback());
    let run = r#"{"stages":[{"name":"idle","start_ms":0,"end_ms":4000}],"samples":[[0,10,20]],"unanswered":[],"down":[],"up":[],
        "watched":{"hidden_ms":9000,"late_p95_ms":1,"failures":[],"lanes":8,"lanes_lost":0,"interval_ms":20,
        "network_changed":false,"connections":16,"congestion_control":"cubic","limit_bps":null}}"#;
    assert_eq!(
        server.post("/unbloat/v1/verdict", run.as_bytes()).status,
        400
    );
    let path = format!("/unbloat/v1/verdict?session={}", server.session());
    let judged = server.post(&path, run.as_bytes());
    assert_eq!(judged.status, 200, "{}", judged.text());
    let judged = judged.json();
    assert_eq!(judged["verdict"]["kind"], "unknown");
    let headline = judged["verdict"]["headline"].as_str().unwrap();
    assert!(headline.contains("background"), "{headline}");
    assert_eq!(server.post(&path, b"[]").status, 400);
    assert_eq!(server.post(&path, &[b' '; 2 << 20]).status, 413);
    // A run of 6,000 stages, which would take seconds to judge.
    let stage = r#"{"name":"down","start_ms":0,"end_ms":1000}"#;
    let stages = vec![stage; 6_000].join(",");
    let long = run.replacen(r#"{"name":"idle","start_ms":0,"end_ms":4000}"#, &stages, 1);
    let refused = server.post(&path, long.as_bytes());
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("at most 8"), "{}", refused.text());
    let mut others = (0..20).map(|_| server.post(&path, run.as_bytes()).status);
    assert!(others.any(|status| status == 429));
}

#[test]
fn ndt7_downloads_begin_with_a_measurement_and_bring_random_bytes() {
    let server = Running::new(&Options::loopback());
    let mut socket = open(
        &server,
        "/ndt/v7/download?client_name=test",
        Some("net.measurementlab.ndt.v7"),
    )
    .unwrap();
    let measurement: Value = match socket.read().unwrap() {
        Message::Text(text) => serde_json::from_str(&text).unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(measurement["Origin"], "server");
    assert_eq!(measurement["Test"], "download");
    assert!(measurement["TCPInfo"]["RTT"].is_u64());
    assert!(measurement["ConnectionInfo"]["UUID"].is_string());
    let mut lengths = Vec::new();
    while lengths.len() < 40 {
        if let Message::Binary(load) = socket.read().unwrap() {
            lengths.push(load.len());
        }
    }
    assert_eq!(lengths[0], 1 << 13);
    assert!(lengths.is_sorted() && lengths[39] > 1 << 13);
}

#[test]
fn ndt7_uploads_are_measured_by_the_receiver() {
    let server = Running::new(&Options::loopback());
    let mut socket = open(&server, "/ndt/v7/upload", Some("net.measurementlab.ndt.v7")).unwrap();
    for _ in 0..50 {
        socket.send(Message::binary(vec![7; 1 << 13])).unwrap();
    }
    let found = std::iter::repeat_with(|| socket.read().unwrap()).find_map(|message| {
        let value: Value = serde_json::from_str(message.to_text().unwrap()).unwrap();
        (value["AppInfo"]["NumBytes"] == 50 << 13).then_some(value)
    });
    assert_eq!(found.unwrap()["Test"], "upload");
}

#[test]
fn ndt7_wants_its_protocol_and_is_found() {
    let server = Running::new(&Options::loopback());
    assert_eq!(open(&server, "/ndt/v7/download", None).unwrap_err(), 400);
    let found = server.ask("GET", "/ndt7").json();
    assert_eq!(found["fqdn"], "test.example:1");
    let url = &found["results"][0]["urls"]["ws:///ndt/v7/download"];
    assert_eq!(url, "ws://test.example:1/ndt/v7/download");
}
