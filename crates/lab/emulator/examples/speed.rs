//! How fast and how exact the emulator is here: bulk TCP through rate-limited links, and round trips over pure delays.
//! `bench/lab/run` runs it. Needs root.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use unbloat_emulator::{Emulated, Emulator, Port, Report, Setup, Side, Timing};
use unbloat_link::element::delay;
use unbloat_link::service::{self, constant};
use unbloat_link::{BottleneckParams, Config};
use unbloat_netns::{Bed, Host, Route, Tun};
use unbloat_qdisc::discipline::droptail;
use unbloat_units::{Bytes, Delta, Framing, Rate};

const CLIENT: &str = "10.45.0.1";
const SERVER: &str = "10.99.0.1";

struct Lab {
    client: Host,
    server: Host,
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<Emulated>,
}

fn end(bed: &Bed, role: &str, own: &str, other: &str) -> (Host, OwnedFd) {
    let host = bed.host(role).expect("a host");
    let tun = Tun {
        offload: true,
        ..Tun::default()
    };
    let fd = host.tun("tun0", &tun).expect("a TUN device");
    // Windows that fill the fastest of the links.
    for key in ["net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem"] {
        host.set(key, "4096 1048576 67108864").expect("a setting");
    }
    let [own, other] = [own, other].map(|text| format!("{text}/32").parse().expect("an address"));
    host.address("tun0", own).expect("an address");
    host.route(other, Route::Device("tun0")).expect("a route");
    (host, fd)
}

impl Lab {
    fn start(down: Vec<Config>, up: Vec<Config>) -> Lab {
        let bed = Bed::new().expect("a bed: run this as root");
        let (client, client_fd) = end(&bed, "client", CLIENT, SERVER);
        let (server, server_fd) = end(&bed, "server", SERVER, CLIENT);
        let port = |fd, side, address: &str| Port {
            fd,
            side,
            addresses: vec![format!("{address}/32").parse().expect("an address")],
        };
        let ports = vec![
            port(client_fd, Side::Client, CLIENT),
            port(server_fd, Side::Server, SERVER),
        ];
        let setup = Setup::new(vec![down.into()], vec![up.into()], ports, Timing::Spin);
        let emulator = Emulator::new(setup).expect("an emulator");
        let stop = Arc::new(AtomicBool::new(false));
        let seen = stop.clone();
        let thread = std::thread::spawn(move || emulator.run(&seen).expect("a run"));
        Lab {
            client,
            server,
            stop,
            thread,
        }
    }

    fn finish(self) -> Emulated {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("no panic")
    }
}

fn delayed(us: i64) -> Vec<Config> {
    vec![Config::Delay(delay::Params {
        delay: Delta::us(us),
    })]
}

fn limited(rate: Rate, us: i64) -> Vec<Config> {
    let queue = droptail::Params {
        limit_packets: None,
        limit_bytes: Some((rate * Delta::ms(10)).max(Bytes::new(300_000))),
    };
    let bottleneck = Config::Bottleneck(BottleneckParams {
        queue: unbloat_qdisc::Config::DropTail(queue),
        service: service::Config::Constant(constant::Params { rate }),
        framing: Framing::default(),
    });
    [bottleneck].into_iter().chain(delayed(us)).collect()
}

fn set_cubic(stream: &TcpStream) {
    let name = b"cubic";
    // SAFETY: the descriptor is open and `name` is as long as said.
    unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_ptr().cast(),
            name.len() as libc::socklen_t,
        );
    }
}

/// Goodput of one CUBIC flow from server to client.
fn bulk(lab: &Lab, span: Duration) -> Rate {
    let listener = lab.server.within(|| TcpListener::bind((SERVER, 5001)));
    let listener = listener.expect("a namespace").expect("a listener");
    let stop = Arc::new(AtomicBool::new(false));
    let seen = stop.clone();
    let sender = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        set_cubic(&stream);
        let data = vec![0; 256 << 10];
        while !seen.load(Ordering::Relaxed) && stream.write_all(&data).is_ok() {}
    });
    let stream = lab.client.within(|| TcpStream::connect((SERVER, 5001)));
    let mut stream = stream.expect("a namespace").expect("a connection");
    let mut buffer = vec![0; 1 << 20];
    let warm = span / 5;
    let begin = Instant::now();
    let (mut bytes, mut since) = (0, begin);
    while begin.elapsed() < warm + span {
        let read = stream.read(&mut buffer).expect("data");
        if begin.elapsed() < warm {
            since = Instant::now();
        } else {
            bytes += read as u64;
        }
    }
    let rate = Rate::from_bps_f64(bytes as f64 * 8.0 / since.elapsed().as_secs_f64());
    stop.store(true, Ordering::Relaxed);
    drop(stream);
    sender.join().expect("no panic");
    rate
}

/// Smallest, mean and largest round-trip time of 500 echo requests, 100 per second, and their mean deviation, in ms.
///
/// The server's kernel answers, and the client's kernel says when the answer came, so no process has to wake up in time.
fn pings(lab: &Lab) -> [f64; 4] {
    let ping = || {
        Command::new("ping")
            .args(["-n", "-q", "-i", "0.01", "-c", "500", "-W", "1", SERVER])
            .output()
    };
    let output = lab.client.within(ping).expect("a namespace");
    let output = output.expect("ping, of iputils-ping");
    let text = String::from_utf8_lossy(&output.stdout);
    let times = text
        .lines()
        .find_map(|line| line.strip_prefix("rtt min/avg/max/mdev = "));
    let times: Vec<f64> = times
        .and_then(|times| times.split(' ').next())
        .unwrap_or_default()
        .split('/')
        .filter_map(|time| time.parse().ok())
        .collect();
    times
        .try_into()
        .unwrap_or_else(|_| panic!("no round-trip times: {text}"))
}

fn line(report: &Report) -> String {
    let [p50, p99, most] = report
        .lateness_us
        .quantiles([0.5, 0.99, 1.0])
        .unwrap_or([0.0; 3]);
    let doubts: Vec<String> = report.doubts().iter().map(ToString::to_string).collect();
    let verdict = match doubts.is_empty() {
        true => "trustworthy".to_owned(),
        false => format!("NOT TRUSTWORTHY: {}", doubts.join("; ")),
    };
    format!(
        "{:>5.2} us CPU a packet, {:>4.1} packets a write, busy {:>3.0} %, late p50 {p50:.1} p99 {p99:.1} max {most:.0} us, {verdict}",
        report.cpu_per_packet().unwrap_or(Delta::ZERO).as_ns() as f64 / 1e3,
        report.counts.handed as f64 / report.counts.writes.max(1) as f64,
        report.load() * 100.0,
    )
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|word| word == name);
    if is_wanted("bulk") {
        for (mbps, us) in [
            (100, 10_000),
            (500, 10_000),
            (1_000, 10_000),
            (2_000, 10_000),
            (4_000, 5_000),
            (6_000, 1_000),
            (10_000, 1_000),
        ] {
            if wanted.len() > 1 && !wanted.contains(&mbps.to_string()) {
                continue;
            }
            let rate = Rate::mbps(mbps);
            let lab = Lab::start(limited(rate, us), delayed(us));
            let goodput = bulk(&lab, Duration::from_secs(3));
            let emulated = lab.finish();
            let dropped = emulated.paths.down.dropped_packets;
            println!(
                "bulk {mbps:>6} Mbit/s, {:>4.1} ms: goodput {:>7.0} Mbit/s, {dropped:>5} dropped, {}",
                us as f64 / 500.0,
                goodput.as_bps_f64() / 1e6,
                line(&emulated.report)
            );
        }
    }
    if is_wanted("ping") {
        for rtt_ms in [0, 2, 10, 20, 40] {
            if wanted.len() > 1 && !wanted.contains(&rtt_ms.to_string()) {
                continue;
            }
            let lab = Lab::start(delayed(rtt_ms * 500), delayed(rtt_ms * 500));
            let [least, mean, most, mdev] = pings(&lab);
            let emulated = lab.finish();
            let [least, mean, most] = [least, mean, most].map(|rtt| rtt - rtt_ms as f64);
            println!(
                "ping {rtt_ms:>3} ms: error min {least:.3} mean {mean:.3} max {most:.3} mdev {mdev:.3} ms; {}",
                line(&emulated.report)
            );
        }
    }
}
