//! One bulk transfer over the referee's path: 10 Mbit/s of IP packets behind a FIFO, ACKs take 40 ms.

use crate::Fault;
use socket2::{Domain, Socket, Type};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use unbloat_emulator::{Emulated, Emulator, Port, Setup, Side, Timing};
use unbloat_link::element::delay;
use unbloat_link::service::{self, constant};
use unbloat_link::{BottleneckParams, Config, Place};
use unbloat_netns::{Bed, Host, Route, Tun};
use unbloat_qdisc::discipline::droptail;
use unbloat_units::{Both, Delta, Framing, Rate};

const SERVER: &str = "10.99.0.1";
const CLIENT: &str = "10.45.0.1";
/// How often a waiting thread looks whether time is up.
const PATIENCE: Duration = Duration::from_millis(20);

pub struct Run {
    pub goodput_mbps: f64,
    pub mean_ms: f64,
    pub p95_ms: f64,
    pub dropped: f64,
    /// How late the emulator was.
    pub late_p99_us: f64,
}

pub fn transfer(control: &str, limit: u32, seconds: u64) -> Result<Run, Fault> {
    let bed = Bed::new()?;
    let (server, server_port) = end(&bed, "server", Side::Server, [SERVER, CLIENT])?;
    let (client, client_port) = end(&bed, "client", Side::Client, [CLIENT, SERVER])?;
    let Both { down, up } = path(limit);
    let ports = vec![server_port, client_port];
    let emulator = Emulator::new(Setup::new(
        vec![down.into()],
        vec![up.into()],
        ports,
        Timing::Spin,
    ))?;
    let over = AtomicBool::new(false);
    let (bytes, emulated) = std::thread::scope(|scope| {
        let path = scope.spawn(|| emulator.run(&over));
        let bytes = carry(&server, &client, control, Duration::from_secs(seconds));
        over.store(true, Ordering::Relaxed);
        let emulated = path.join().map_err(|_| "the emulator panicked")??;
        Ok::<_, Fault>((bytes?, emulated))
    })?;
    summary(bytes as f64 * 8.0 / seconds as f64 / 1e6, &emulated)
}

fn end(bed: &Bed, role: &str, side: Side, [own, other]: [&str; 2]) -> Result<(Host, Port), Fault> {
    let host = bed.host(role)?;
    let fd: OwnedFd = host.tun("tun0", &Tun::default())?;
    host.address("tun0", format!("{own}/32").parse()?)?;
    host.route(format!("{other}/32").parse()?, Route::Device("tun0"))?;
    let addresses = vec![format!("{own}/32").parse()?];
    let port = Port {
        fd,
        side,
        addresses,
    };
    Ok((host, port))
}

fn path(limit: u32) -> Both<Vec<Config>> {
    let bottleneck = BottleneckParams {
        queue: unbloat_qdisc::Config::DropTail(droptail::Params {
            limit_packets: Some(limit),
            limit_bytes: None,
        }),
        service: service::Config::Constant(constant::Params {
            rate: Rate::mbps(10),
        }),
        framing: Framing::default(),
    };
    let delay = delay::Params {
        delay: Delta::ms(40),
    };
    Both::new(
        vec![Config::Bottleneck(bottleneck)],
        vec![Config::Delay(delay)],
    )
}

/// Bytes that reached the client in that time.
fn carry(server: &Host, client: &Host, control: &str, length: Duration) -> Result<u64, Fault> {
    let listener = client.within(|| std::net::TcpListener::bind((CLIENT, 0)))??;
    let address = listener.local_addr()?;
    let end = Instant::now() + length;
    let sender = server.within(|| connect(control, address))??;
    let (receiver, _) = listener.accept()?;
    std::thread::scope(|scope| {
        scope.spawn(|| send(sender, end));
        receive(receiver, end)
    })
}

fn connect(control: &str, to: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_tcp_congestion(control.as_bytes())?;
    socket.connect(&to.into())?;
    socket.set_write_timeout(Some(PATIENCE))?;
    Ok(socket.into())
}

/// Writes until the end, or until the other side has gone.
fn send(mut socket: TcpStream, end: Instant) {
    let payload = vec![0; 64 << 10];
    while Instant::now() < end {
        match socket.write(&payload) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => return,
            _ => {}
        }
    }
}

fn receive(mut socket: TcpStream, end: Instant) -> Result<u64, Fault> {
    socket.set_read_timeout(Some(PATIENCE))?;
    let mut room = vec![0; 64 << 10];
    let mut bytes = 0;
    while Instant::now() < end {
        match socket.read(&mut room) {
            Ok(count) => bytes += count as u64,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(bytes)
}

fn summary(goodput_mbps: f64, emulated: &Emulated) -> Result<Run, Fault> {
    let waits = emulated.paths.down.waits(Place::Queue);
    let waits = waits.ok_or("no packet waited")?;
    let late = &emulated.report.lateness_us;
    Ok(Run {
        goodput_mbps,
        mean_ms: waits.mean_ms().unwrap_or(0.0),
        p95_ms: waits.ms.quantile(0.95).unwrap_or(0.0),
        dropped: emulated.paths.down.dropped_packets as f64,
        late_p99_us: late.quantile(0.99).unwrap_or(0.0),
    })
}
