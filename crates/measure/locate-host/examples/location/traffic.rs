//! The load of a trial, and the traffic of others.

use crate::bed::{FAR_END, Fault, Path};
use crate::trial::Trial;
use fastrand::Rng;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use unbloat_locate::Phase;
use unbloat_locate_host::Load;
use unbloat_netns::Host;

const FLOWS: u16 = 8;
const DOWN: u16 = 5001;
const UP: u16 = 5002;
const SINK: u16 = 6000;

/// Bulk TCP between two hosts.
pub struct Bulk<'a> {
    near: &'a Host,
    far_end: Ipv4Addr,
    listeners: Vec<(u16, TcpListener)>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl<'a> Bulk<'a> {
    pub fn new(near: &'a Host, far: &Host, far_end: Ipv4Addr) -> Result<Bulk<'a>, Fault> {
        let listen = |port: u16| {
            let listener = far.within(|| TcpListener::bind((far_end, port)))??;
            Ok((port, listener))
        };
        Ok(Bulk {
            near,
            far_end,
            listeners: [DOWN, UP]
                .map(listen)
                .into_iter()
                .collect::<Result<_, Fault>>()?,
            stop: Arc::default(),
            threads: Vec::new(),
        })
    }

    fn begin(&mut self, direction: Phase) -> Result<(), Fault> {
        self.stop = Arc::default();
        for (port, listener) in &self.listeners {
            let is_wanted = match direction {
                Phase::Down => *port == DOWN,
                Phase::Up => *port == UP,
                _ => true,
            };
            for _ in 0..if is_wanted { FLOWS } else { 0 } {
                let to: SocketAddr = (self.far_end, *port).into();
                let near = self.near.within(|| TcpStream::connect(to))??;
                let (far, _) = listener.accept()?;
                let (sender, receiver) = match *port {
                    DOWN => (far, near),
                    _ => (near, far),
                };
                socket2::SockRef::from(&sender).set_tcp_congestion(b"cubic")?;
                let stop = self.stop.clone();
                self.threads
                    .push(thread::spawn(move || send(sender, &stop)));
                self.threads.push(thread::spawn(move || receive(receiver)));
            }
        }
        Ok(())
    }
}

impl Load for Bulk<'_> {
    fn start(&mut self, direction: Phase) -> Result<(), String> {
        self.begin(direction).map_err(|fault| fault.to_string())
    }

    fn stop(&mut self) -> Result<(), String> {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // It has nothing to tell.
            let _ = thread.join();
        }
        Ok(())
    }
}

fn send(mut stream: TcpStream, stop: &AtomicBool) {
    let data = vec![0; 16_384];
    let limit = stream.set_write_timeout(Some(Duration::from_millis(100)));
    while limit.is_ok() && !stop.load(Ordering::Relaxed) {
        match stream.write(&data) {
            Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => return,
            _ => {}
        }
    }
    // What is still in the socket is not waited for.
    let _ = socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO));
}

fn receive(mut stream: TcpStream) {
    let mut data = vec![0; 65_536];
    while stream.read(&mut data).is_ok_and(|length| length > 0) {}
}

/// Others, until it is dropped: bursts of some ms at half of the crowded link's rate, and a tenth
/// of the bottleneck's all along the path, both ways.
pub struct Others {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    _sinks: Vec<UdpSocket>,
}

impl Others {
    pub fn start(path: &Path, trial: &Trial) -> Result<Others, Fault> {
        let stop = Arc::new(AtomicBool::new(false));
        let (near, far) = path.ends(trial.crowded);
        let burst = |packets_per_second: u64, share: u64| Bursts {
            gap: Duration::from_nanos(1_000_000_000 / packets_per_second),
            on: Duration::from_millis(8),
            off: Duration::from_millis(8 * (100 - share) / share),
        };
        let bottleneck = trial.rate_mbps * 1_000_000 / 8 / 1228 / 2;
        let nodes = [
            (near, far, [10, 0, trial.crowded, 2].into(), burst(2400, 30)),
            (far, near, [10, 0, trial.crowded, 1].into(), burst(2400, 30)),
            (&path.nodes[1], path.last(), FAR_END, burst(bottleneck, 20)),
            (
                path.last(),
                &path.nodes[1],
                [10, 0, 1, 2].into(),
                burst(bottleneck, 20),
            ),
        ];
        let (mut threads, mut sinks) = (Vec::new(), Vec::new());
        for (number, (from, to, address, bursts)) in (0..).zip(nodes) {
            let at: SocketAddr = (IpAddr::V4(address), SINK + number).into();
            sinks.push(to.within(|| UdpSocket::bind(at))??);
            let socket = from.within(|| UdpSocket::bind("0.0.0.0:0"))??;
            let rng = Rng::with_seed(trial.number * 8 + u64::from(number));
            let stop = stop.clone();
            threads.push(thread::spawn(move || bursts.send(&socket, at, rng, &stop)));
        }
        Ok(Others {
            stop,
            threads,
            _sinks: sinks,
        })
    }
}

/// Packets of 1228 bytes in times on and off of exponential lengths.
#[derive(Clone, Copy)]
struct Bursts {
    gap: Duration,
    on: Duration,
    off: Duration,
}

impl Bursts {
    fn send(self, socket: &UdpSocket, to: SocketAddr, mut rng: Rng, stop: &AtomicBool) {
        let mut drawn = |mean: Duration| mean.mul_f64(-(1.0 - rng.f64()).ln());
        while !stop.load(Ordering::Relaxed) {
            let end = Instant::now() + drawn(self.on);
            while Instant::now() < end {
                // A full queue loses it.
                let _ = socket.send_to(&[0; 1200], to);
                thread::sleep(self.gap);
            }
            thread::sleep(drawn(self.off));
        }
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // It has nothing to tell.
            let _ = thread.join();
        }
    }
}
