//! Windows of the kernel's own TCP in beds whose queues are known: needs root.
//!
//! Bounds are laws (a window that is held bounds what is under way, a queue that is bounded bounds delay), no measured times.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use unbloat_netns::{Bed, Host, Route};
use unbloat_rwnd::{Cgroup, Flow, Hold, Options, Router, Whose, lift, own_name, sweep};
use unbloat_tcp::receive_window::{Config, drwa, rledbat};
use unbloat_units::{Bytes, Delta};

const SENDER: &str = "10.71.0.1";
const RECEIVER: &str = "10.71.0.2";
const PORT: u16 = 5_201;
/// Tells this program that it is to receive, and from where.
const ROLE: &str = "UNBLOAT_WINDOW_RECEIVES_FROM";

/// One test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// In a process of its own, which can be put into a cgroup.
fn receives_what_it_is_told_to() {
    let Some(from) = std::env::var_os(ROLE) else {
        return;
    };
    let mut stream = TcpStream::connect(from.to_str().unwrap()).unwrap();
    let mut room = vec![0; 65_536];
    while stream.read(&mut room).is_ok_and(|bytes| bytes > 0) {}
}

/// A sender of CUBIC behind 8 Mbit/s with 500 kB of room, and a receiver in a cgroup.
struct Course {
    _bed: Bed,
    sender: Host,
    receiver: Host,
    group: Cgroup,
}

impl Course {
    fn new() -> Course {
        let bed = Bed::new().unwrap();
        let (sender, receiver) = (bed.host("sender").unwrap(), bed.host("receiver").unwrap());
        sender.veth("wan0", &receiver, "wan0").unwrap();
        sender
            .address("wan0", format!("{SENDER}/24").parse().unwrap())
            .unwrap();
        receiver
            .address("wan0", format!("{RECEIVER}/24").parse().unwrap())
            .unwrap();
        sender.offloads_off("wan0").unwrap();
        receiver.offloads_off("wan0").unwrap();
        sender
            .queue("wan0", "tbf rate 8mbit burst 5000 limit 500000")
            .unwrap();
        sweep();
        Course {
            _bed: bed,
            sender,
            receiver,
            group: Cgroup::make(&own_name()).unwrap(),
        }
    }

    fn download(&self) -> Download {
        let listener = self
            .sender
            .within(|| TcpListener::bind((SENDER, PORT)))
            .unwrap()
            .unwrap();
        let mut command = self
            .receiver
            .command(std::env::current_exe().unwrap())
            .unwrap();
        command
            .args(["--exact", "receives_what_it_is_told_to", "--ignored"])
            .env(ROLE, format!("{SENDER}:{PORT}"))
            .stdout(Stdio::null());
        self.group.admit(&mut command).unwrap();
        let child = command.spawn().unwrap();
        let (stream, _) = listener.accept().unwrap();
        Download::new(stream, child)
    }
}

impl Drop for Course {
    fn drop(&mut self) {
        self.receiver.end_processes();
        let _ = self.group.remove();
    }
}

struct Download {
    stream: TcpStream,
    child: Child,
}

impl Download {
    fn new(stream: TcpStream, child: Child) -> Download {
        use std::os::fd::AsRawFd;
        // SAFETY: the text lives, and has that size.
        let set = unsafe {
            let name = c"cubic";
            let (to, len) = (name.as_ptr().cast(), name.count_bytes() as u32);
            libc::setsockopt(
                stream.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_CONGESTION,
                to,
                len,
            )
        };
        assert_eq!(set, 0, "this kernel has no CUBIC");
        stream.set_nonblocking(true).unwrap();
        Download { stream, child }
    }

    /// Sends until it is offered more than that.
    fn send_until_offered(&mut self, more: u32) {
        self.send_until(|stream| offered(stream) > more);
    }

    fn send_until(&mut self, is_so: impl Fn(&TcpStream) -> bool) {
        let begun = Instant::now();
        while !is_so(&self.stream) {
            assert!(begun.elapsed() < LONGEST, "{}", offered(&self.stream));
            self.send(Duration::from_millis(50), |_| {});
        }
    }

    /// Sends for so long, looking now and then.
    fn send(&mut self, span: Duration, mut look: impl FnMut(&TcpStream)) {
        let end = Instant::now() + span;
        let data = [0; 16_384];
        while Instant::now() < end {
            while self.stream.write(&data).is_ok() {}
            look(&self.stream);
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the sender may send beyond what is acknowledged (`tcpi_snd_wnd`).
fn offered(stream: &TcpStream) -> u32 {
    use std::os::fd::AsRawFd;
    const SND_WND: usize = 228;
    let mut info = [0u8; 256];
    let mut len = info.len() as u32;
    // SAFETY: the room has that size.
    let got = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut len,
        )
    };
    assert!(
        got == 0 && len as usize >= SND_WND + 4,
        "this kernel tells of no windows"
    );
    u32::from_ne_bytes(info[SND_WND..SND_WND + 4].try_into().unwrap())
}

fn options(max: u64) -> Options {
    Options {
        law: Config::Drwa(drwa::Params {
            max: Bytes::new(max),
            ..drwa::Params::default()
        }),
        ports: vec![PORT],
        whose: Whose::Theirs,
        interface: None,
    }
}

const WHILE: Duration = Duration::from_millis(700);
const LONGEST: Duration = Duration::from_secs(20);

fn a_window_is_held_and_let_go() {
    let _guard = alone();
    let course = Course::new();
    let mut hold = Hold::begin(&course.group, &options(40_000)).unwrap();
    let mut download = course.download();
    let mut most = 0;
    download.send(WHILE, |stream| most = most.max(offered(stream)));
    // A unit of the window more, and what was offered in the handshake.
    assert!(most <= 65_535 + 128, "{most}");
    assert!(offered(&download.stream) <= 40_000 + 128);
    let flows = hold.flows().unwrap();
    let [flow]: &[Flow] = &flows else {
        panic!("{flows:?}")
    };
    assert_eq!(flow.remote, format!("{SENDER}:{PORT}").parse().unwrap());
    assert!(
        flow.has_timestamps && flow.received > Bytes::new(100_000),
        "{flow:?}"
    );
    assert!(flow.least_rtt.unwrap() <= flow.rtt.unwrap(), "{flow:?}");
    assert!(
        flow.rtt.unwrap() > Delta::ZERO && flow.window <= Bytes::new(40_000),
        "{flow:?}"
    );
    hold.release().unwrap();
    download.send_until_offered(65_535 + 128);
    assert_eq!(hold.cookies().map(|left| left.len()), Some(0));
}

fn the_kernel_takes_the_program_of_the_other_policy_too() {
    let _guard = alone();
    let course = Course::new();
    let rledbat = Options {
        law: Config::RLedbat(rledbat::Params {
            max: Bytes::new(40_000),
            ..rledbat::Params::default()
        }),
        ..options(40_000)
    };
    let hold = Hold::begin(&course.group, &rledbat).unwrap();
    let mut download = course.download();
    download.send(WHILE, |_| {});
    assert!(offered(&download.stream) <= 40_000 + 128);
    let flows = hold.flows().unwrap();
    assert!(flows[0].window <= Bytes::new(40_000), "{flows:?}");
}

fn other_ports_are_left_alone() {
    let _guard = alone();
    let course = Course::new();
    let other = Options {
        ports: vec![PORT + 1],
        ..options(20_000)
    };
    let hold = Hold::begin(&course.group, &other).unwrap();
    let mut download = course.download();
    download.send_until_offered(20_000 + 128);
    assert_eq!(hold.flows().unwrap(), []);
}

fn the_window_of_a_connection_without_timestamps_follows_its_rounds() {
    let _guard = alone();
    let course = Course::new();
    course.receiver.set("net/ipv4/tcp_timestamps", "0").unwrap();
    let hold = Hold::begin(&course.group, &options(1_000_000)).unwrap();
    let mut download = course.download();
    download.send_until(|_| {
        let flows = hold.flows().unwrap();
        flows.iter().any(|flow| flow.cwnd_estimate.is_some())
    });
    let flows = hold.flows().unwrap();
    assert!(
        !flows[0].has_timestamps && flows[0].rtt.is_some(),
        "{flows:?}"
    );
}

/// Without the program the clamp would stay in the socket for good.
fn what_a_dead_owner_left_is_lifted_by_descriptors() {
    let _guard = alone();
    let course = Course::new();
    let hold = Hold::begin(&course.group, &options(10_000)).unwrap();
    let mut download = course.download();
    download.send(WHILE, |_| {});
    drop(hold);
    download.send(WHILE / 2, |_| {});
    assert!(offered(&download.stream) <= 10_000 + 128);
    assert_eq!(lift(&course.group, None), 1);
    download.send_until_offered(10_000 + 128);
}

fn a_group_has_one_owner_who_is_named() {
    let _guard = alone();
    let course = Course::new();
    course.group.claim().unwrap();
    let again = Cgroup::open(course.group.name()).unwrap();
    let told = again.claim().unwrap_err().to_string();
    assert!(told.contains(&std::process::id().to_string()), "{told}");
}

fn groups_of_dead_owners_are_removed_and_those_of_living_ones_are_not() {
    let _guard = alone();
    let course = Course::new();
    let mut gone = Command::new("true").spawn().unwrap();
    let name = format!("unbloat-drwa-{}-1", gone.id());
    gone.wait().unwrap();
    let left = Cgroup::make(&name).unwrap();
    assert_eq!(sweep(), std::slice::from_ref(&name));
    assert!(!left.path().exists() && course.group.path().exists());
}

/// A sender behind 8 Mbit/s, a router, and a host that it forwards to.
struct Routed {
    _bed: Bed,
    sender: Host,
    router: Host,
    host: Host,
}

impl Routed {
    fn new() -> Routed {
        let bed = Bed::new().unwrap();
        let [sender, router, host] =
            ["sender", "router", "host"].map(|role| bed.host(role).unwrap());
        sender.veth("wan0", &router, "wan0").unwrap();
        router.veth("lan0", &host, "lan0").unwrap();
        for (on, device, address) in [
            (&sender, "wan0", "10.71.0.1/24"),
            (&router, "wan0", "10.71.0.254/24"),
            (&router, "lan0", "10.72.0.254/24"),
            (&host, "lan0", "10.72.0.2/24"),
        ] {
            // Checksums are in the packets, and are looked at.
            on.offloads_off(device).unwrap();
            on.address(device, address.parse().unwrap()).unwrap();
        }
        router.forward().unwrap();
        let [wan, lan] =
            ["10.71.0.254", "10.72.0.254"].map(|ip| Route::Gateway(ip.parse().unwrap()));
        sender.route("10.72.0.0/24".parse().unwrap(), wan).unwrap();
        host.route("10.71.0.0/24".parse().unwrap(), lan).unwrap();
        sender
            .queue("wan0", "tbf rate 8mbit burst 5000 limit 500000")
            .unwrap();
        Routed {
            _bed: bed,
            sender,
            router,
            host,
        }
    }

    fn route(&self, max: u64) -> Router {
        let law = options(max).law;
        self.router
            .within(|| Router::begin("lan0", &law, &[PORT]))
            .unwrap()
            .unwrap()
    }

    fn download(&self) -> Download {
        let listener = self
            .sender
            .within(|| TcpListener::bind((SENDER, PORT)))
            .unwrap()
            .unwrap();
        let mut command = self.host.command(std::env::current_exe().unwrap()).unwrap();
        command
            .args(["--exact", "receives_what_it_is_told_to", "--ignored"])
            .env(ROLE, format!("{SENDER}:{PORT}"))
            .stdout(Stdio::null());
        let child = command.spawn().unwrap();
        let (stream, _) = listener.accept().unwrap();
        Download::new(stream, child)
    }

    /// Segments that the sender threw away for their checksums.
    fn bad_checksums(&self) -> u64 {
        let text = self
            .sender
            .within(|| std::fs::read_to_string("/proc/thread-self/net/snmp"));
        let text = text.unwrap().unwrap();
        let mut rows = text.lines().filter_map(|line| line.strip_prefix("Tcp: "));
        let (names, values) = (rows.next().unwrap(), rows.next().unwrap());
        let mut pairs = names.split(' ').zip(values.split(' '));
        pairs
            .find(|(name, _)| *name == "InCsumErrors")
            .unwrap()
            .1
            .parse()
            .unwrap()
    }
}

fn a_router_lowers_windows_with_right_checksums_and_lets_go_at_once() {
    let _guard = alone();
    let course = Routed::new();
    let router = course.route(30_000);
    let mut download = course.download();
    download.send(WHILE, |_| {});
    assert!(offered(&download.stream) <= 30_000 + 128);
    let flows = router.flows().unwrap();
    let [flow]: &[Flow] = &flows else {
        panic!("{flows:?}")
    };
    assert_eq!(flow.remote, format!("{SENDER}:{PORT}").parse().unwrap());
    assert_eq!(flow.local.ip().to_string(), "10.72.0.2");
    assert!(
        flow.rtt.is_some() && flow.received > Bytes::new(100_000),
        "{flow:?}"
    );
    drop(router);
    download.send_until_offered(65_535 + 128);
    assert_eq!(course.bad_checksums(), 0);
}

fn a_router_leaves_connections_alone_whose_handshake_it_missed() {
    let _guard = alone();
    let course = Routed::new();
    let mut download = course.download();
    let router = course.route(10_000);
    download.send(WHILE, |_| {});
    assert_eq!(router.flows().unwrap(), []);
    assert!(offered(&download.stream) > 10_000 + 128);
}

/// The kernel calls both for each segment, because one has asked for it.
fn a_program_that_goes_leaves_the_connections_of_another_alone() {
    let _guard = alone();
    let course = Course::new();
    let _hold = Hold::begin(&course.group, &options(10_000)).unwrap();
    let other = Options {
        ports: vec![PORT + 1],
        ..options(20_000)
    };
    let mut other = Hold::begin(&course.group, &other).unwrap();
    let mut download = course.download();
    download.send(WHILE / 2, |_| {});
    other.release().unwrap();
    download.send(WHILE / 2, |_| {});
    drop(other);
    download.send(WHILE / 2, |_| {});
    assert!(offered(&download.stream) <= 10_000 + 128);
}

unbloat_testkit::main! {
    root("holding windows") => [
        a_window_is_held_and_let_go,
        the_kernel_takes_the_program_of_the_other_policy_too,
        other_ports_are_left_alone,
        the_window_of_a_connection_without_timestamps_follows_its_rounds,
        what_a_dead_owner_left_is_lifted_by_descriptors,
        a_group_has_one_owner_who_is_named,
        groups_of_dead_owners_are_removed_and_those_of_living_ones_are_not,
        a_router_lowers_windows_with_right_checksums_and_lets_go_at_once,
        a_router_leaves_connections_alone_whose_handshake_it_missed,
        a_program_that_goes_leaves_the_connections_of_another_alone,
    ],
    on_request() => [
        receives_what_it_is_told_to,
    ],
}
