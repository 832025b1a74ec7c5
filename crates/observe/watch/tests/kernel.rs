//! Layers of beds whose queues are known: needs root.
//!
//! Bounds are laws of the queues (nothing leaves a bucket before its time) or relations between two measurements of the same
//! packets, so that they hold on a loaded machine.

use ipnet::IpNet;
use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use unbloat_netns::{Bed, Host, Tun};
use unbloat_units::{Bytes, Delta, Rate};
use unbloat_watch::{Flow, FlowLayers, Layer, Layers, Options, Wait, Watch};

const RATE: Rate = Rate::mbps(8);
const BURST: u64 = 5_000;
/// Of UDP and Ethernet, over IPv4 and over IPv6.
const HEADERS: [u64; 2] = [42, 62];

/// One test at a time: while others come to a tracepoint and go, the kernel does not tell all of it.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Other programs of this machine may come and go at tracepoints, and kernels of hosts say a word of their own. Of packets or bytes.
fn is_nearly(counted: u64, sent: u64) -> bool {
    counted <= sent + (sent / 100).max(10) && counted * 10 >= sent * 9
}

/// Two hosts; what the first sends to the second waits in a bucket.
struct Joined {
    _bed: Bed,
    here: Host,
    there: Host,
}

const HERE: [&str; 2] = ["10.70.0.1/24", "fd70::1/64"];
const THERE: [&str; 2] = ["10.70.0.2/24", "fd70::2/64"];

impl Joined {
    fn new() -> Joined {
        let bed = Bed::new().unwrap();
        let (here, there) = (bed.host("here").unwrap(), bed.host("there").unwrap());
        here.veth("wan0", &there, "wan0").unwrap();
        for (host, other, nets, others) in
            [(&here, &there, HERE, THERE), (&there, &here, THERE, HERE)]
        {
            host.set("net/ipv6/conf/wan0/disable_ipv6", "0").unwrap();
            // Nobody else has the address: there is no need to wait for objections.
            host.set("net/ipv6/conf/wan0/accept_dad", "0").unwrap();
            for (net, other_net) in nets.iter().zip(others) {
                host.address("wan0", net.parse().unwrap()).unwrap();
                let address = other_net.parse::<IpNet>().unwrap().addr();
                host.neighbour("wan0", address, other.mac("wan0")).unwrap();
            }
        }
        here.queue("wan0", "tbf rate 8mbit burst 5000 limit 200000")
            .unwrap();
        Joined {
            _bed: bed,
            here,
            there,
        }
    }

    fn watch(&self, without_bpf: bool) -> Watch {
        watch(&self.here, without_bpf)
    }
}

fn watch(host: &Host, without_bpf: bool) -> Watch {
    let options = Options {
        without_bpf,
        ..Options::default()
    };
    let watch = host.within(move || Watch::open(&options)).unwrap().unwrap();
    if let (Some(why), false) = (watch.blind(), without_bpf) {
        panic!("the kernel is not measured: {why}");
    }
    watch
}

fn address(net: &str) -> IpAddr {
    net.parse::<IpNet>().unwrap().addr()
}

fn udp(host: &Host, net: &str) -> UdpSocket {
    let local = SocketAddr::new(address(net), 0);
    host.within(move || UdpSocket::bind(local))
        .unwrap()
        .unwrap()
}

/// Sends packets of so many bytes as fast as it can, and says how long it took.
fn burst(socket: &UdpSocket, to: SocketAddr, packets: u64, bytes: u64) -> Delta {
    let begin = Instant::now();
    for _ in 0..packets {
        socket.send_to(&vec![7; bytes as usize], to).unwrap();
    }
    Delta::ns(begin.elapsed().as_nanos() as i64)
}

/// Looks until the queue is empty; all of these looks' flows together.
fn drained(watch: &mut Watch) -> Vec<Layers> {
    let mut looks = Vec::new();
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        std::thread::sleep(Duration::from_millis(400));
        looks.push(watch.look().unwrap());
        let last = looks.last().unwrap();
        let wan = last
            .interfaces
            .iter()
            .find(|interface| interface.name == "wan0");
        let backlog = wan.unwrap().queue.as_ref().unwrap().packets;
        if backlog == 0 && last.flows.is_empty() || Instant::now() > end {
            return looks;
        }
    }
}

/// Packets that were timed, their mean wait, and the bytes that left, of one flow over all looks.
fn summed(looks: &[Layers], is_it: impl Fn(&Flow) -> bool) -> (u64, Delta, u64) {
    let (mut count, mut sum, mut bytes) = (0, 0.0, 0.0);
    for look in looks {
        for flow in look.flows.iter().filter(|seen| is_it(&seen.flow)) {
            let spread = flow.qdisc.and_then(|wait| wait.spread().copied());
            count += spread.map_or(0, |spread| spread.count);
            sum += spread.map_or(0.0, |spread| spread.mean.as_secs() * spread.count as f64);
            bytes += flow.rates.left.unwrap_or(Rate::ZERO).as_bps_f64() * look.span.as_secs() / 8.0;
        }
    }
    (
        count,
        Delta::from_secs_f64(sum / count.max(1) as f64),
        bytes.round() as u64,
    )
}

fn udp_waits_in_the_bucket_as_long_as_the_bucket_says() {
    let _alone = alone();
    for (version, headers) in HEADERS.into_iter().enumerate() {
        let bed = Joined::new();
        let mut watch = bed.watch(false);
        let (packets, bytes) = (100, 1_200);
        let socket = udp(&bed.here, HERE[version]);
        let receiver = udp(&bed.there, THERE[version]);
        let (from, to) = (socket.local_addr().unwrap(), receiver.local_addr().unwrap());
        let begin = Instant::now();
        let sending = burst(&socket, to, packets, bytes);
        let looks = drained(&mut watch);
        let whole = Delta::ns(begin.elapsed().as_nanos() as i64);
        let (count, mean, left) = summed(&looks, |flow| (flow.from, flow.to) == (from, to));
        assert!(is_nearly(count, packets), "{count} {looks:?}");
        let size = bytes + headers;
        assert!(
            is_nearly(left, packets * size),
            "{left} of {}",
            packets * size
        );
        // Packet k leaves when all before it have: not sooner after it came than their time, less what sending took.
        let times = (1..=packets).map(|k| {
            let waits = Bytes::new((k * size).saturating_sub(BURST)).as_u64() as f64 * 8.0;
            Delta::from_secs_f64(waits / RATE.as_bps_f64()) - sending
        });
        let least =
            times.fold(Delta::ZERO, |sum, time| sum + time.max(Delta::ZERO)) / packets as i64;
        assert!(
            mean >= least - Delta::ms(1) && mean < whole,
            "{mean}, at least {least}, at most {whole}"
        );
        let last = looks
            .iter()
            .flat_map(|look| &look.flows)
            .find(|seen| seen.flow.from == from)
            .unwrap();
        assert_eq!(last.process.as_ref().unwrap().pid, std::process::id());
        assert_eq!(last.worst().unwrap().0, Layer::Qdisc);
        assert_eq!(last.interface.as_deref(), Some("wan0"));
    }
}

fn two_flows_are_kept_apart_and_agree_with_tc() {
    let _alone = alone();
    let bed = Joined::new();
    let sent = || {
        let tc = bed
            .here
            .command("tc")
            .unwrap()
            .args(["-s", "qdisc", "show", "dev", "wan0"])
            .output()
            .unwrap();
        let text = String::from_utf8(tc.stdout).unwrap();
        let after = text
            .split("Sent ")
            .nth(1)
            .unwrap_or_else(|| panic!("{text}"));
        after.split(' ').next().unwrap().parse::<u64>().unwrap()
    };
    let mut watch = bed.watch(false);
    let before = sent();
    let sockets = [udp(&bed.here, HERE[0]), udp(&bed.here, HERE[0])];
    let receiver = udp(&bed.there, THERE[0]);
    let to = receiver.local_addr().unwrap();
    for (socket, (packets, bytes)) in sockets.iter().zip([(30, 1_000), (60, 300)]) {
        burst(socket, to, packets, bytes);
    }
    let looks = drained(&mut watch);
    let by_tc = sent() - before;
    for (socket, (packets, bytes)) in sockets.iter().zip([(30, 1_000), (60, 300)]) {
        let from = socket.local_addr().unwrap();
        let (count, _, left) = summed(&looks, |flow| flow.from == from);
        assert!(is_nearly(count, packets), "{count}");
        assert!(is_nearly(left, packets * (bytes + HEADERS[0])), "{left}");
    }
    let (_, _, all) = summed(&looks, |_| true);
    // What is not IP is in no flow.
    assert!(is_nearly(all, by_tc), "{all} {by_tc}");
}

/// A connection over the bed whose writer never stops.
fn bulk(bed: &Joined, version: usize) -> (SocketAddr, TcpStream) {
    let local = SocketAddr::new(address(THERE[version]), 0);
    let listener = bed
        .there
        .within(move || TcpListener::bind(local))
        .unwrap()
        .unwrap();
    let to = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut receiver, _) = listener.accept().unwrap();
        let mut buffer = vec![0; 65_536];
        while receiver.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {}
    });
    let sender = bed
        .here
        .within(move || TcpStream::connect(to))
        .unwrap()
        .unwrap();
    cubic(&sender);
    let mut writer = sender.try_clone().unwrap();
    std::thread::spawn(move || while writer.write_all(&[7; 16_384]).is_ok() {});
    (sender.local_addr().unwrap(), sender)
}

/// It fills queues, whatever is the default.
fn cubic(socket: &TcpStream) {
    rustix::net::sockopt::set_tcp_congestion(socket, "cubic").unwrap();
}

fn look_of(
    watch: &mut Watch,
    from: SocketAddr,
    is_there: impl Fn(&FlowLayers) -> bool,
) -> FlowLayers {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        std::thread::sleep(Duration::from_millis(500));
        let look = watch.look().unwrap();
        let found = look.flows.iter().find(|seen| seen.flow.from == from);
        match found {
            Some(flow) if is_there(flow) => return flow.clone(),
            _ => assert!(Instant::now() < end, "{look:?}"),
        }
    }
}

fn of_tcp_the_round_trip_is_longer_above_the_queue_by_the_wait_in_it() {
    let _alone = alone();
    for version in [0, 1] {
        let bed = Joined::new();
        let mut watch = bed.watch(false);
        let (from, connection) = bulk(&bed, version);
        let flow = look_of(&mut watch, from, |flow| {
            flow.delay(Layer::Qdisc)
                .is_some_and(|wait| wait > Delta::ms(50))
                && flow.round_trip.rtt_q.is_some()
        });
        let (rtt_q, rtt_f) = (
            flow.round_trip.rtt_q.unwrap(),
            flow.round_trip.rtt_f.unwrap(),
        );
        let difference = rtt_q.mean() - rtt_f.mean();
        assert!(difference > Delta::ZERO, "{flow:?}");
        // Some segments were timed, and all of their wait is in the queue's: no more than it can hold, were its timers exact.
        let t_q = flow.qdisc.unwrap().spread().copied().unwrap();
        assert!(
            difference < t_q.p99 * 2 && difference * 4 > t_q.p50,
            "{flow:?}"
        );
        assert!(flow.socket.unwrap().unsent > Bytes::new(0), "{flow:?}");
        assert!(
            flow.round_trip.rtt_b.is_none(),
            "nobody knows of a veth's driver: {flow:?}"
        );
        connection.shutdown(std::net::Shutdown::Both).unwrap();
    }
}

fn without_programs_waits_are_estimated_and_said_to_be() {
    let _alone = alone();
    let bed = Joined::new();
    let mut watch = bed.watch(true);
    assert_eq!(watch.blind().unwrap().to_string(), "as requested");
    let (from, connection) = bulk(&bed, 0);
    let flow = look_of(&mut watch, from, |flow| {
        flow.delay(Layer::Qdisc)
            .is_some_and(|wait| wait > Delta::ms(20))
    });
    assert!(matches!(flow.qdisc, Some(Wait::Estimated(_))), "{flow:?}");
    assert!(
        matches!(flow.round_trip.rtt_q, Some(Wait::Estimated(_))),
        "{flow:?}"
    );
    assert_eq!(flow.interface.as_deref(), Some("wan0"));
    connection.shutdown(std::net::Shutdown::Both).unwrap();
}

/// Reads so many packets, each at least so long after the one before: a driver whose device is slow.
fn slow_driver(mut tun: fs::File, packets: u64, each: Duration) {
    let mut packet = [0; 2_048];
    for _ in 0..packets {
        std::thread::sleep(each);
        if tun.read(&mut packet).is_err() {
            return;
        }
    }
}

fn what_waits_in_the_driver_is_not_said_to_wait_in_the_queue() {
    let _alone = alone();
    let bed = Bed::new().unwrap();
    let host = bed.host("phone").unwrap();
    let tun: OwnedFd = host.tun("modem0", &Tun::default()).unwrap();
    host.address("modem0", "10.71.0.1/24".parse().unwrap())
        .unwrap();
    let mut watch = watch(&host, false);
    let (packets, each) = (40, Duration::from_millis(4));
    // What the system itself sends is read like all else.
    let reader = tun.as_fd().try_clone_to_owned().unwrap();
    let socket = udp(&host, "10.71.0.1/24");
    let sending = burst(&socket, "10.71.0.2:9".parse().unwrap(), packets, 500);
    std::thread::spawn(move || slow_driver(reader.into(), packets + 20, each));
    let from = socket.local_addr().unwrap();
    let (mut done, mut sum) = (0, Delta::ZERO);
    let end = Instant::now() + Duration::from_secs(30);
    let mut t_q = Delta::ZERO;
    while !is_nearly(done, packets) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(200));
        for flow in watch
            .look()
            .unwrap()
            .flows
            .iter()
            .filter(|seen| seen.flow.from == from)
        {
            t_q = t_q.max(flow.delay(Layer::Qdisc).unwrap_or(Delta::ZERO));
            if let Some(Wait::Measured(spread)) = flow.driver {
                done += spread.count;
                sum += spread.mean * spread.count as i64;
                assert_eq!(flow.worst().unwrap().0, Layer::Driver, "{flow:?}");
            }
        }
    }
    assert!(is_nearly(done, packets), "{done}");
    let (mean, counted) = (sum / done as i64, done as i64);
    // Packet k is read after so many pauses, less what sending took.
    let times = (1..=counted).map(|k| (Delta::ms(4) * k - sending).max(Delta::ZERO));
    let least = times.fold(Delta::ZERO, |all, time| all + time) / counted;
    assert!(mean >= least, "{mean} {least}");
    assert!(t_q < mean, "{t_q} {mean}");
}

fn more_flows_than_there_is_room_for_are_forgotten_not_kept() {
    let _alone = alone();
    let bed = Bed::new().unwrap();
    let host = bed.host("busy").unwrap();
    host.up("lo").unwrap();
    let mut watch = watch(&host, false);
    let socket = udp(&host, "127.0.0.1/8");
    for port in 1_000..9_000 {
        // Nobody listens, and some sends are told so.
        let _ = socket.send_to(&[7], ("127.0.0.1", port));
    }
    let look = watch.look().unwrap();
    assert_eq!(look.flows.len(), 1_000);
    assert!(
        look.more_flows > 0 && look.more_flows <= 4_096,
        "{}",
        look.more_flows
    );
}

const CHILD: &str = "UNBLOAT_WATCH_CHILD";

fn nothing_is_left_in_the_kernel_when_the_watcher_is_killed() {
    if std::env::var_os(CHILD).is_some() {
        let _watch = Watch::open(&Options::default()).unwrap();
        println!("watching");
        std::thread::sleep(Duration::from_secs(120));
        return;
    }
    let _alone = alone();
    let test = "nothing_is_left_in_the_kernel_when_the_watcher_is_killed";
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("watching") {
        assert!(
            std::io::BufRead::read_line(&mut out, &mut line).unwrap() > 0,
            "{line}"
        );
    }
    let programs = programs(child.id());
    assert!(programs.len() >= 4, "{programs:?}");
    assert!(programs.iter().all(|id| is_loaded(id)));
    child.kill().unwrap();
    child.wait().unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    while programs.iter().any(|id| is_loaded(id)) {
        assert!(Instant::now() < end, "{programs:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The numbers of the programs that a process holds.
fn programs(pid: u32) -> Vec<String> {
    let mut found = Vec::new();
    for descriptor in fs::read_dir(format!("/proc/{pid}/fdinfo"))
        .unwrap()
        .flatten()
    {
        let text = fs::read_to_string(descriptor.path()).unwrap_or_default();
        let ids = text
            .lines()
            .filter_map(|line| line.strip_prefix("prog_id:"));
        found.extend(ids.map(|id| id.trim().to_owned()));
    }
    found.sort();
    found.dedup();
    found
}

fn is_loaded(program: &str) -> bool {
    let show = Command::new("bpftool")
        .args(["prog", "show", "id", program])
        .output();
    show.expect("bpftool is installed (tools/install test)")
        .status
        .success()
}

unbloat_testkit::main! {
    root("measuring within the kernel") => [
        udp_waits_in_the_bucket_as_long_as_the_bucket_says,
        two_flows_are_kept_apart_and_agree_with_tc,
        of_tcp_the_round_trip_is_longer_above_the_queue_by_the_wait_in_it,
        without_programs_waits_are_estimated_and_said_to_be,
        what_waits_in_the_driver_is_not_said_to_wait_in_the_queue,
        more_flows_than_there_is_room_for_are_forgotten_not_kept,
        nothing_is_left_in_the_kernel_when_the_watcher_is_killed,
    ],
}
