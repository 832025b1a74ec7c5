//! Shaping between two hosts. Needs root.

use std::io::{self, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use unbloat_cake_nfqueue::{Options, ShapeError, Shaper};
use unbloat_netns::{Bed, Host};
use unbloat_qdisc::discipline::cake::Params;
use unbloat_units::{Both, Delta, Rate};

struct Pair {
    _bed: Bed,
    client: Host,
    server: Host,
    sender: UdpSocket,
    receiver: UdpSocket,
}

fn pair() -> Pair {
    let bed = Bed::new().unwrap();
    let (client, server) = (bed.host("client").unwrap(), bed.host("server").unwrap());
    client.veth("eth0", &server, "eth0").unwrap();
    client
        .address("eth0", "10.45.0.1/24".parse().unwrap())
        .unwrap();
    server
        .address("eth0", "10.45.0.2/24".parse().unwrap())
        .unwrap();
    let bound =
        |host: &Host, address: &str| host.within(|| UdpSocket::bind(address)).unwrap().unwrap();
    let (sender, receiver) = (bound(&client, "10.45.0.1:0"), bound(&server, "10.45.0.2:9"));
    sender.connect("10.45.0.2:9").unwrap();
    receiver
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    Pair {
        _bed: bed,
        client,
        server,
        sender,
        receiver,
    }
}

fn options(rate: Rate) -> Options {
    // A law that drops nothing within a test, however late this machine is.
    let up = Params {
        rate: Some(rate),
        target: Delta::secs(10),
        rtt: Delta::secs(100),
        ..Params::default()
    };
    Options {
        interface: "eth0".to_owned(),
        cakes: Both::new(None, Some(up)),
        policy: None,
        every: Delta::secs(1),
    }
}

impl Pair {
    fn shaper(&self, rate: Rate) -> Result<Shaper, ShapeError> {
        self.client
            .within(|| Shaper::start(&options(rate)))
            .unwrap()
    }

    /// Sends numbered packets of 972 bytes and gives the numbers that arrive, and how long it took.
    fn send(&self, count: u32) -> (Vec<u32>, Duration) {
        let began = Instant::now();
        for number in 0..count {
            let mut bytes = [0; 944];
            bytes[..4].copy_from_slice(&number.to_ne_bytes());
            self.sender.send(&bytes).unwrap();
        }
        let mut bytes = [0; 2_000];
        let numbers = (0..count).map_while(|_| {
            self.receiver
                .recv(&mut bytes)
                .ok()
                .map(|_| u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        });
        (numbers.collect(), began.elapsed())
    }
}

/// Lets the shaper run while something is done.
fn while_shaping<T>(shaper: &mut Shaper, act: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let running = scope.spawn(|| shaper.run(&stop, &mut |_| {}));
        let value = act();
        stop.store(true, Ordering::Relaxed);
        running.join().unwrap().unwrap();
        value
    })
}

fn packets_leave_in_order_and_not_before_the_rate_lets_them() {
    let pair = pair();
    let mut shaper = pair.shaper(Rate::mbps(8)).unwrap();
    let (numbers, took) = while_shaping(&mut shaper, || pair.send(40));
    assert_eq!(numbers, (0..40).collect::<Vec<_>>());
    // 972 bytes and 14 of the frame take 0.986 ms each; the first leaves at once.
    assert!(took >= Duration::from_micros(39 * 986), "{took:?}");
    let counts = shaper.counts().up.unwrap();
    assert!(
        counts.packets >= 40 && counts.bytes >= 40 * 972,
        "{counts:?}"
    );
}

/// Of the receiver's IP, since its start: packets with "congestion experienced", and with a wrong checksum.
fn counted(host: &Host) -> (u64, u64) {
    let read = || std::fs::read_to_string("/proc/thread-self/net/netstat");
    let text = host.within(read).unwrap().unwrap();
    let mut lines = text.lines().filter(|line| line.starts_with("IpExt:"));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let value = |wanted: &str| {
        let mut both = names.split(' ').zip(values.split(' '));
        let (_, value) = both.find(|(name, _)| *name == wanted).unwrap();
        value.parse().unwrap()
    };
    (value("InCEPkts"), value("InCsumErrors"))
}

fn what_can_be_told_of_congestion_is_marked_and_not_dropped() {
    let pair = pair();
    let mut params = options(Rate::mbps(8));
    if let Some(up) = &mut params.cakes.up {
        (up.target, up.rtt) = (Delta::us(100), Delta::ms(1));
    }
    const ECT: u8 = 2;
    rustix::net::sockopt::set_ip_tos(&pair.sender, ECT).unwrap();
    let start = || Shaper::start(&params);
    let mut shaper = pair.client.within(start).unwrap().unwrap();
    let (numbers, _) = while_shaping(&mut shaper, || pair.send(60));
    assert_eq!(numbers.len(), 60);
    let counts = shaper.counts().up.unwrap();
    let (congested, wrong) = counted(&pair.server);
    assert!(congested > 0, "{counts:?}");
    assert_eq!((congested, wrong), (counts.marked, 0));
}

fn large_packets_that_stay_whole_count_as_what_the_line_carries() {
    const BYTES: u64 = 4_000_000;
    let pair = pair();
    let listen = || TcpListener::bind("10.45.0.2:0");
    let listener = pair.server.within(listen).unwrap().unwrap();
    let address = listener.local_addr().unwrap();
    let mut shaper = pair.shaper(Rate::mbps(1_000)).unwrap();
    while_shaping(&mut shaper, || {
        let connect = || TcpStream::connect(address);
        let mut sender = pair.client.within(connect).unwrap().unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        thread::scope(|scope| {
            scope.spawn(move || sender.write_all(&[0; BYTES as usize]).unwrap());
            let received = io::copy(&mut receiver, &mut io::sink()).unwrap();
            assert_eq!(received, BYTES);
        });
    });
    let counts = shaper.counts().up.unwrap();
    // 1,460 bytes of data at most in each packet, with headers of 40 at least.
    let packets = BYTES.div_ceil(1_460);
    assert!(
        counts.packets >= packets && counts.bytes >= BYTES + packets * 40,
        "{counts:?}"
    );
}

fn a_second_one_on_the_same_interface_is_refused_and_a_later_one_is_not() {
    let pair = pair();
    let first = pair.shaper(Rate::mbps(8)).unwrap();
    let refused = pair.shaper(Rate::mbps(8)).err();
    assert!(
        matches!(refused, Some(ShapeError::Taken { .. })),
        "{refused:?}"
    );
    drop(first);
    let began = Instant::now();
    while pair.shaper(Rate::mbps(8)).is_err() {
        assert!(
            began.elapsed() < Duration::from_secs(5),
            "its tables are still there"
        );
        thread::sleep(Duration::from_millis(10));
    }
}

fn what_dies_leaves_no_rule_and_cuts_nothing() {
    let pair = pair();
    let shaper = pair.shaper(Rate::kbps(8)).unwrap();
    // Nobody gives verdicts: this one is held, and lost when the queue goes.
    pair.sender.send(&[255; 944]).unwrap();
    drop(shaper);
    let (numbers, _) = pair.send(20);
    let last = numbers.last().copied();
    assert!(last == Some(19) || numbers.len() == 20, "{numbers:?}");
}

unbloat_testkit::main! {
    root("a bed") => [
        packets_leave_in_order_and_not_before_the_rate_lets_them,
        what_can_be_told_of_congestion_is_marked_and_not_dropped,
        large_packets_that_stay_whole_count_as_what_the_line_carries,
        a_second_one_on_the_same_interface_is_refused_and_a_later_one_is_not,
        what_dies_leaves_no_rule_and_cuts_nothing,
    ],
}
