//! The clients: they carry out plans and log what came of them.

use crate::core::{FiveTuple, client_address};
use crate::error::LabError;
use crate::workload::log::ConnectionRecord;
use crate::workload::plan::{Bulk, Close, Connection, Request, Traffic, Web, exponential};
use crate::workload::{CONTENT_TYPES, DARK, SERVER, WorkloadLog, dns};
use fastrand::Rng;
use socket2::SockRef;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Builder;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{sleep, timeout};

const TCP: u8 = 6;
/// How long a client waits for an answer to its SYN.
const CONNECT_PATIENCE: Duration = Duration::from_secs(8);
/// A slow reader takes this much at a time.
const SIP: usize = 4_096;
const GULP: usize = 65_536;

/// Runs every client's traffic on the calling thread for `length`, or until `stop`.
pub(crate) fn run(
    traffic: &[Traffic],
    clients: usize,
    seed: u64,
    length: Duration,
    stop: &AtomicBool,
    log: &WorkloadLog,
) -> Result<(), LabError> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let what = "the clients' runtime";
    let runtime = runtime.map_err(|source| LabError::Socket { what, source })?;
    let mut rng = Rng::with_seed(seed);
    let end = Instant::now() + length;
    // Dropping the set cuts what still runs; each cut connection writes its row.
    LocalSet::new().block_on(&runtime, async {
        for kind in traffic {
            for client in 0..clients {
                start(*kind, client, &mut rng, log);
            }
        }
        while Instant::now() < end && !stop.load(Ordering::Relaxed) {
            sleep(Duration::from_millis(20)).await;
        }
    });
    Ok(())
}

fn start(traffic: Traffic, client: usize, rng: &mut Rng, log: &WorkloadLog) {
    match traffic {
        Traffic::Bulk(bulk) => {
            for flow in 0..bulk.flows {
                let wait = bulk.stagger.mul_f64(flow as f64);
                spawn_local(transfers(bulk, client, wait, rng.fork(), log.clone()));
            }
        }
        Traffic::Web(web) => {
            spawn_local(browse(web, client, rng.fork(), log.clone()));
        }
        Traffic::Dns(dns) => {
            spawn_local(dns::ask(dns, client, rng.fork(), log.clone()));
        }
    }
}

async fn transfers(bulk: Bulk, client: usize, wait: Duration, mut rng: Rng, log: WorkloadLog) {
    sleep(wait).await;
    loop {
        let plan = bulk.connection(&mut rng);
        connection(client, plan, log.clone()).await;
        sleep(exponential(&mut rng, bulk.pause)).await;
    }
}

async fn browse(web: Web, client: usize, mut rng: Rng, log: WorkloadLog) {
    let idle = rng.f64() < web.idle_clients;
    loop {
        sleep(web.pause(idle, &mut rng)).await;
        let plan = web.connection(&mut rng);
        let task = spawn_local(connection(client, plan, log.clone()));
        if idle || rng.f64() < 0.72 {
            // A connection that failed says so in its own row.
            let _ = task.await;
        }
    }
}

async fn connection(client: usize, plan: Connection, log: WorkloadLog) {
    let Ok((socket, tuple)) = open(client, &plan) else {
        return;
    };
    let mut record = log.connection(tuple, plan.congestion_control.name());
    record.slow = plan.slow.is_some();
    let to = (tuple.destination, tuple.destination_port).into();
    let Ok(Ok(stream)) = timeout(CONNECT_PATIENCE, socket.connect(to)).await else {
        record.outcome = "unanswered";
        return;
    };
    record.connected = Some(log.clock.now());
    let outcome = converse(stream, &plan, &mut record, &log).await;
    record.outcome = outcome.unwrap_or("error");
}

fn open(client: usize, plan: &Connection) -> io::Result<(TcpSocket, FiveTuple)> {
    let socket = TcpSocket::new_v4()?;
    if let Some((buffer, _)) = plan.slow {
        socket.set_recv_buffer_size(buffer)?;
    }
    let source = client_address(client);
    socket.bind((source, 0).into())?;
    SockRef::from(&socket).set_tcp_congestion(plan.congestion_control.name().as_bytes())?;
    let tuple = FiveTuple {
        protocol: TCP,
        source,
        source_port: socket.local_addr()?.port(),
        destination: if plan.dark { DARK } else { SERVER },
        destination_port: plan.port,
    };
    Ok((socket, tuple))
}

async fn converse(
    stream: TcpStream,
    plan: &Connection,
    record: &mut ConnectionRecord,
    log: &WorkloadLog,
) -> io::Result<&'static str> {
    let mut stream = BufReader::with_capacity(SIP, stream);
    for request in &plan.requests {
        exchange(&mut stream, plan, request, record, log).await?;
        sleep(request.think_after).await;
    }
    match plan.close {
        Close::AtOnce => Ok("fin"),
        Close::After(wait) => {
            sleep(wait).await;
            Ok("late_fin")
        }
        Close::Reset => {
            SockRef::from(stream.get_ref()).set_linger(Some(Duration::ZERO))?;
            Ok("rst")
        }
    }
}

async fn exchange(
    stream: &mut BufReader<TcpStream>,
    plan: &Connection,
    request: &Request,
    record: &mut ConnectionRecord,
    log: &WorkloadLog,
) -> io::Result<()> {
    let method = if request.upload_bytes > 0 {
        "POST"
    } else {
        "GET"
    };
    let pace = if request.paced { "paced" } else { "bulk" };
    let host = format!("h{}.test", request.content_type);
    let path = format!(
        "/{}/{}/{pace}/{}",
        request.download_bytes,
        request.content_type,
        plan.congestion_control.name()
    );
    record.bytes_requested += request.download_bytes;
    let asked = log.clock.now();
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: lab\r\n");
    if request.upload_bytes > 0 {
        head += &format!("Content-Length: {}\r\n", request.upload_bytes);
    }
    stream.write_all((head + "\r\n").as_bytes()).await?;
    post(stream, request.upload_bytes, record).await?;
    let first_byte = read_head(stream, log).await?;
    read_body(stream, request.download_bytes, plan.slow, record, log).await?;
    record.requests_done += 1;
    let row = format!(
        "{},{method},{host},{path},{},{},{},{first_byte},{}",
        record.tuple,
        CONTENT_TYPES[request.content_type].0,
        request.download_bytes,
        request.upload_bytes,
        log.clock.now().as_ns()
    );
    log.request(asked, &row);
    Ok(())
}

async fn post(
    stream: &mut BufReader<TcpStream>,
    bytes: u64,
    record: &mut ConnectionRecord,
) -> io::Result<()> {
    let blob = [b'u'; 16_384];
    let mut left = bytes;
    while left > 0 {
        let size = left.min(blob.len() as u64);
        stream.write_all(&blob[..size as usize]).await?;
        left -= size;
        record.bytes_posted += size;
    }
    Ok(())
}

/// Reads up to the empty line; returns when the first byte was there, in ns.
async fn read_head(stream: &mut BufReader<TcpStream>, log: &WorkloadLog) -> io::Result<i64> {
    stream.fill_buf().await?;
    let first_byte = log.clock.now();
    loop {
        let mut line = String::new();
        match stream.read_line(&mut line).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            _ if line == "\r\n" => return Ok(first_byte.as_ns()),
            _ => {}
        }
    }
}

async fn read_body(
    stream: &mut BufReader<TcpStream>,
    bytes: u64,
    slow: Option<(u32, f64)>,
    record: &mut ConnectionRecord,
    log: &WorkloadLog,
) -> io::Result<()> {
    let mut buffer = vec![0; if slow.is_some() { SIP } else { GULP }];
    let mut left = bytes;
    while left > 0 {
        let most = left.min(buffer.len() as u64) as usize;
        let got = stream.read(&mut buffer[..most]).await?;
        if got == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        left -= got as u64;
        record.bytes_got += got as u64;
        record.last_byte = Some(log.clock.now());
        if let Some((_, bytes_per_second)) = slow {
            sleep(Duration::from_secs_f64(got as f64 / bytes_per_second)).await;
        }
    }
    Ok(())
}
