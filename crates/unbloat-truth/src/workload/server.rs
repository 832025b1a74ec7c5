//! The server: HTTP/1.1 on three ports, whatever is asked for, and DNS.

use crate::error::LabError;
use crate::workload::{CONTENT_TYPES, PORTS, SERVER, dns};
use socket2::SockRef;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpSocket, TcpStream, UdpSocket};
use tokio::runtime::Builder;
use tokio::task::LocalSet;

const CHUNK: usize = 64 * 1024;
const PACE: Duration = Duration::from_millis(50);
/// Longer request heads end the connection.
const MAX_HEAD: usize = 8_192;

/// Serves on the calling thread until `stop`; calls `ready` once every port is open.
pub(crate) fn run(stop: &AtomicBool, ready: impl FnOnce()) -> Result<(), LabError> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(socket_error)?;
    LocalSet::new().block_on(&runtime, async {
        for port in PORTS {
            let listener = listen(port).map_err(socket_error)?;
            tokio::task::spawn_local(accept(listener));
        }
        let names = UdpSocket::bind((SERVER, 53)).await.map_err(socket_error)?;
        tokio::task::spawn_local(dns::answer(names));
        ready();
        while !stop.load(Ordering::Relaxed) {
            tokio::time::sleep(PACE).await;
        }
        Ok(())
    })
}

fn socket_error(source: std::io::Error) -> LabError {
    let what = "the server's sockets";
    LabError::Socket { what, source }
}

fn listen(port: u16) -> std::io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    // Accepted sockets inherit this; what the system's default is does not matter then.
    SockRef::from(&socket).set_tcp_congestion(b"cubic")?;
    socket.bind((SERVER, port).into())?;
    socket.listen(4096)
}

async fn accept(listener: TcpListener) {
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            // Clients leave when they like; what a connection ends with is in their log.
            tokio::task::spawn_local(async { serve(stream).await.unwrap_or_default() });
        }
    }
}

/// What the path of a request asks for: `/<bytes>/<content type>/<bulk or paced>/<algorithm>`.
struct Order {
    bytes: u64,
    content_type: &'static str,
    paced: bool,
    congestion_control: String,
}

impl Order {
    fn parse(line: &str) -> Option<Order> {
        let mut parts = line.split(' ').nth(1)?.split('/').skip(1);
        let bytes = parts.next()?.parse().ok()?;
        let index: usize = parts.next()?.parse().ok()?;
        Some(Order {
            bytes,
            content_type: CONTENT_TYPES.get(index)?.0,
            paced: parts.next()? == "paced",
            congestion_control: parts.next()?.to_owned(),
        })
    }
}

async fn serve(stream: TcpStream) -> std::io::Result<()> {
    let blob = vec![b'u'; CHUNK];
    let mut stream = BufReader::new(stream);
    while let Some((order, posted)) = read_head(&mut stream).await? {
        let socket = SockRef::from(stream.get_ref());
        socket.set_tcp_congestion(order.congestion_control.as_bytes())?;
        discard(&mut stream, posted).await?;
        stream.write_all(head(&order).as_bytes()).await?;
        let mut left = order.bytes;
        while left > 0 {
            let size = left.min(CHUNK as u64);
            stream.write_all(&blob[..size as usize]).await?;
            left -= size;
            if order.paced {
                tokio::time::sleep(PACE).await;
            }
        }
    }
    Ok(())
}

async fn read_head(stream: &mut BufReader<TcpStream>) -> std::io::Result<Option<(Order, u64)>> {
    let mut first = String::new();
    let mut posted = 0;
    let mut size = 0;
    loop {
        let mut line = String::new();
        size += stream.read_line(&mut line).await?;
        if line.is_empty() || size > MAX_HEAD {
            return Ok(None);
        }
        let line = line.trim_end();
        if line.is_empty() {
            return Ok(Order::parse(&first).map(|order| (order, posted)));
        }
        if let Some(length) = line.strip_prefix("Content-Length: ") {
            posted = length.parse().unwrap_or(0);
        }
        if first.is_empty() {
            first = line.to_owned();
        }
    }
}

fn head(order: &Order) -> String {
    let content_type = match order.content_type {
        "" => String::new(),
        name => format!("Content-Type: {name}\r\n"),
    };
    let bytes = order.bytes;
    format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n{content_type}Server: lab\r\n\r\n")
}

async fn discard(stream: &mut BufReader<TcpStream>, bytes: u64) -> std::io::Result<()> {
    tokio::io::copy(&mut stream.take(bytes), &mut tokio::io::sink()).await?;
    Ok(())
}
