//! What loaded controls do to a queue of the kernel's own: 8 Mbit/s behind a token bucket with 60 ms of
//! buffer, and no other delay. Needs root and `tc`.

use socket2::{Domain, Socket, Type};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};
use unbloat_netns::{Bed, Host, Route};
use unbloat_tcp_bpf::provide;

const LENGTH: Duration = Duration::from_secs(8);
const SAMPLE_EVERY: Duration = Duration::from_millis(20);
const SENDER: &str = "10.45.0.1";
const RECEIVER: &str = "10.99.0.1";
const ROUTER: &str = "10.45.255.1";
const INFINITE: u32 = 0x7fff_ffff;

/// What the kernel says of the sender.
#[derive(Clone, Copy, Debug)]
struct Sample {
    rtt_ms: f64,
    cwnd: u32,
    ssthresh: u32,
}

fn each_control_keeps_the_queue_that_it_is_known_for() {
    let names = ["reno", "vegas", "bic", "htcp", "highspeed", "westwood"];
    let threads = names.map(|name| std::thread::spawn(move || drive(name)));
    let [reno, vegas, bic, htcp, highspeed, westwood] =
        threads.map(|thread| thread.join().expect("no panic"));

    for (name, samples) in names
        .iter()
        .zip([&reno, &vegas, &bic, &htcp, &highspeed, &westwood])
    {
        let rtts = || samples.iter().map(|s| s.rtt_ms);
        let (typical, longest) = (median(rtts()), rtts().fold(0.0, f64::max));
        println!("{name}: {typical:.0} ms, at most {longest:.0} ms");
    }
    let typical = median(vegas.iter().map(|sample| sample.rtt_ms));
    assert!(typical < 20.0, "vegas keeps a queue of {typical} ms");
    for (name, samples) in [("bic", &bic), ("htcp", &htcp), ("highspeed", &highspeed)] {
        let longest = samples.iter().map(|s| s.rtt_ms).fold(0.0, f64::max);
        assert!(
            longest > 45.0,
            "{name} does not fill the queue: {longest} ms"
        );
    }
    // Set by the rate and the least round trip, which is next to nothing here; Reno halves once or twice.
    let (reno, westwood) = (lowest_threshold(&reno), lowest_threshold(&westwood));
    println!("thresholds: reno {reno:.2}, westwood {westwood:.2}");
    assert!(reno > 0.2, "reno keeps {reno} of its window");
    assert!(westwood < 0.1, "westwood keeps {westwood} of its window");
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The lowest threshold, as share of the largest window before it.
fn lowest_threshold(samples: &[Sample]) -> f64 {
    let lowest = samples.iter().map(|s| s.ssthresh).min().unwrap_or(INFINITE);
    assert!(lowest < INFINITE, "the buffer overflows");
    let before = samples.iter().take_while(|s| s.ssthresh > lowest);
    f64::from(lowest) / f64::from(before.map(|s| s.cwnd).max().unwrap_or(1))
}

fn drive(name: &str) -> Vec<Sample> {
    let control = provide(name).unwrap_or_else(|error| panic!("{error}"));
    let bed = Bed::new().expect("root may make namespaces");
    let [sender, router, receiver] =
        ["sender", "router", "receiver"].map(|role| bed.host(role).expect("a host"));
    join(&sender, "eth0", [SENDER, RECEIVER], &router, "eth0");
    join(&receiver, "eth0", [RECEIVER, SENDER], &router, "eth1");
    router.forward().expect("it is a setting");
    shape(&router);
    let listener = receiver.within(|| TcpListener::bind((RECEIVER, 0)));
    let listener = listener.expect("a thread").expect("a port");
    let address = listener.local_addr().expect("it is bound");
    let socket = sender
        .within(|| connect(control.name(), address))
        .expect("a thread");
    let (receiving, _) = listener.accept().expect("somebody connects");
    std::thread::scope(|scope| {
        scope.spawn(|| read_all(receiving));
        send(socket)
    })
}

/// An end of the path, with its own and the other end's address, and the router.
fn join(end: &Host, device: &str, [own, other]: [&str; 2], router: &Host, router_device: &str) {
    let prefix = |address: &str| format!("{address}/32").parse().expect("an address");
    end.veth(device, router, router_device).expect("a pair");
    end.address(device, prefix(own)).expect("it is free");
    end.route(prefix(other), Route::Device(device))
        .expect("it is up");
    router
        .address(router_device, prefix(ROUTER))
        .expect("it is free");
    router
        .route(prefix(own), Route::Device(router_device))
        .expect("it is up");
    // Nobody answers for the address behind a router.
    let (to, mac) = (
        other.parse().expect("an address"),
        router.mac(router_device),
    );
    end.neighbour(device, to, mac).expect("it is new");
    end.offloads_off(device).expect("veth can");
    router.offloads_off(router_device).expect("veth can");
}

fn shape(host: &Host) {
    let mut tc = host.command("tc").expect("a command");
    tc.args([
        "qdisc", "add", "dev", "eth1", "root", "tbf", "rate", "8mbit", "burst", "3000",
    ]);
    let status = tc.args(["limit", "60000"]).status();
    assert!(
        status
            .expect("tc is installed (tools/install test)")
            .success()
    );
}

fn connect(control: &str, to: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket
        .set_tcp_congestion(control.as_bytes())
        .expect("it is provided");
    socket.connect(&to.into()).expect("there is a listener");
    socket.set_nonblocking(true).expect("it is open");
    socket.into()
}

fn send(mut socket: TcpStream) -> Vec<Sample> {
    let payload = vec![0; 1 << 20];
    let end = Instant::now() + LENGTH;
    let mut samples = Vec::new();
    while Instant::now() < end {
        match socket.write(&payload) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => panic!("{error}"),
            _ => samples.push(sample(&socket)),
        }
        std::thread::sleep(SAMPLE_EVERY);
    }
    samples
}

fn sample(socket: &TcpStream) -> Sample {
    // SAFETY: it consists of integers.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: `info` and `length` are live and of the sizes said.
    let failed = unsafe {
        let to = (&raw mut info).cast();
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            to,
            &raw mut length,
        )
    };
    assert_eq!(failed, 0);
    Sample {
        rtt_ms: f64::from(info.tcpi_rtt) / 1e3,
        cwnd: info.tcpi_snd_cwnd,
        ssthresh: info.tcpi_snd_ssthresh,
    }
}

fn read_all(mut socket: TcpStream) {
    let mut room = vec![0; 64 << 10];
    while socket.read(&mut room).is_ok_and(|count| count > 0) {}
}

unbloat_testkit::main! {
    root("loading congestion controls") => [
        each_control_keeps_the_queue_that_it_is_known_for,
    ],
}
