//! The emulator between hosts of this kernel. Needs root.

use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use unbloat_bed::{Bed, Host, Route, Tun};
use unbloat_emulator::{Emulated, Emulator, Port, Setup, Side, Timing};
use unbloat_link::Config;
use unbloat_link::element::delay;
use unbloat_units::Delta;

const CLIENT: &str = "10.45.0.1";
const SERVER: &str = "10.99.0.1";

/// A client and a server with a path between them.
struct Lab {
    client: Host,
    server: Host,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Emulated>,
}

fn end(bed: &Bed, role: &str, own: &str, other: &str, offload: bool) -> (Host, OwnedFd) {
    let host = bed.host(role).unwrap();
    let tun = Tun {
        offload,
        ..Tun::default()
    };
    let fd = host.tun("tun0", &tun).unwrap();
    host.address("tun0", format!("{own}/32").parse().unwrap())
        .unwrap();
    host.route(
        format!("{other}/32").parse().unwrap(),
        Route::Device("tun0"),
    )
    .unwrap();
    (host, fd)
}

impl Lab {
    fn start(paths: [Vec<Config>; 2], offload: bool) -> Lab {
        let bed = Bed::new().unwrap();
        let (client, client_fd) = end(&bed, "client", CLIENT, SERVER, offload);
        let (server, server_fd) = end(&bed, "server", SERVER, CLIENT, offload);
        let port = |fd, side, address: &str| Port {
            fd,
            side,
            addresses: vec![format!("{address}/32").parse().unwrap()],
        };
        let ports = vec![
            port(client_fd, Side::Client, CLIENT),
            port(server_fd, Side::Server, SERVER),
        ];
        let [down, up] = paths;
        let setup = Setup {
            sample_every: Some(Delta::ms(10)),
            ..Setup::new(vec![down], vec![up], ports, Timing::Spin)
        };
        let emulator = Emulator::new(setup).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let seen = stop.clone();
        let thread = std::thread::spawn(move || emulator.run(&seen).unwrap());
        Lab {
            client,
            server,
            stop,
            thread,
        }
    }

    fn finish(self) -> Emulated {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

fn delay_ms(ms: i64) -> Vec<Config> {
    vec![Config::Delay(delay::Params {
        delay: Delta::ms(ms),
    })]
}

#[test]
fn a_datagram_and_its_answer_take_the_delays_of_both_directions() {
    let lab = Lab::start([delay_ms(30), delay_ms(20)], true);
    let client = lab
        .client
        .within(|| UdpSocket::bind((CLIENT, 0)))
        .unwrap()
        .unwrap();
    let server = lab
        .server
        .within(|| UdpSocket::bind((SERVER, 7)))
        .unwrap()
        .unwrap();
    for socket in [&client, &server] {
        socket
            .set_read_timeout(Some(Duration::from_secs(5)))
            .unwrap();
    }
    let begin = Instant::now();
    client.send_to(b"there", (SERVER, 7)).unwrap();
    let mut buffer = [0; 100];
    let (len, from) = server.recv_from(&mut buffer).unwrap();
    server.send_to(&buffer[..len], from).unwrap();
    client.recv(&mut buffer).unwrap();
    assert!(begin.elapsed() >= Duration::from_millis(50), "never early");
    let emulated = lab.finish();
    let counts = emulated
        .paths
        .map(|path| (path.offered_packets, path.delivered_packets));
    assert_eq!(counts, [(1, 1), (1, 1)]);
    assert_eq!(emulated.report.counts.refused, 0);
    assert_eq!(emulated.report.base_rtt, Delta::ms(50));
    eprintln!("{:?}", emulated.report);
}
