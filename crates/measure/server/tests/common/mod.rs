//! A server on the loopback device, and the plainest of clients.

#![allow(dead_code, reason = "each test file uses its part")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use unbloat_server::{Addresses, Counts, Options, Server};

pub struct Running {
    pub at: Addresses,
    counts: Box<dyn Fn() -> Counts + Send>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    pub fn new(options: &Options) -> Running {
        let server = Server::bind(options).unwrap();
        let at = server.addresses().clone();
        let counts = Box::new(server.counts());
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let thread = std::thread::spawn(move || server.run(&flag, || {}).unwrap());
        Running {
            at,
            counts,
            stop,
            thread: Some(thread),
        }
    }

    pub fn counts(&self) -> Counts {
        (self.counts)()
    }

    pub fn plain(&self) -> SocketAddr {
        self.at.plain.unwrap()
    }

    /// One request without a body over a connection of its own.
    pub fn ask(&self, method: &str, target: &str) -> Reply {
        self.send(
            format!(
                "{method} {target} HTTP/1.1\r\nhost: test.example:1\r\nconnection: close\r\n\r\n"
            )
            .as_bytes(),
        )
    }

    pub fn post(&self, target: &str, body: &[u8]) -> Reply {
        let length = body.len();
        let head = format!(
            "POST {target} HTTP/1.1\r\nhost: test.example:1\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        );
        self.send(&[head.as_bytes(), body].concat())
    }

    pub fn send(&self, request: &[u8]) -> Reply {
        let mut stream = self.connect();
        // A server that refuses early may have closed already.
        let _ = stream.write_all(request);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        Reply::of(&bytes)
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.plain()).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        stream
    }

    /// A new session's id.
    pub fn session(&self) -> String {
        let reply = self.ask("POST", "/unbloat/v1/session");
        assert_eq!(reply.status, 201, "{}", reply.text());
        reply.json()["session"].as_str().unwrap().to_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().unwrap().join();
        if !std::thread::panicking() {
            ended.unwrap();
        }
    }
}

pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Reply {
    /// Status 0 if nothing came.
    pub fn of(bytes: &[u8]) -> Reply {
        let split = bytes.windows(4).position(|w| w == b"\r\n\r\n");
        let (head, body) = bytes.split_at(split.map_or(bytes.len(), |at| at + 4));
        let head = String::from_utf8_lossy(head).into_owned();
        let status = head.split(' ').nth(1).and_then(|s| s.parse().ok());
        Reply {
            status: status.unwrap_or(0),
            head,
            body: body.to_vec(),
        }
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}
