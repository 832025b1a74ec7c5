//! Live capture in network namespaces of its own: packets sent are packets seen. Needs root.

#![cfg(target_os = "linux")]

mod support;

use std::fs::File;
use std::io::Write;
use std::net::UdpSocket;
use std::os::fd::{AsRawFd, FromRawFd};
use std::process::Command;
use std::thread;
use support::Packet;
use unbloat_capture::{CaptureError, LiveOptions, LiveSource, Source};
use unbloat_units::Bytes;
use unbloat_wire::LinkType;

const PORT: u16 = 40_000;

/// Runs a test on a thread that has a network namespace to itself; it vanishes with the thread.
fn in_namespace(test: impl FnOnce() + Send + 'static) {
    let alone = move || {
        // SAFETY: only this thread's view of the network changes.
        let failed = unsafe { libc::unshare(libc::CLONE_NEWNET) };
        assert_eq!(failed, 0, "{}", std::io::Error::last_os_error());
        ip("link set lo up");
        test();
    };
    thread::spawn(alone).join().unwrap();
}

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status();
    assert!(status.unwrap().success(), "ip {arguments}");
}

/// Two ends of a cable: the left has an address and believes a neighbour behind the right.
fn cable() {
    ip("link add name left type veth peer name right address 02:00:00:00:00:0b");
    for arguments in [
        "addr add 10.9.0.1/24 dev left",
        "link set left up",
        "link set right up",
        "neigh add 10.9.0.2 lladdr 02:00:00:00:00:0b dev left nud permanent",
    ] {
        ip(arguments);
    }
}

fn send(to: &str, count: usize, length: usize) {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    for _ in 0..count {
        socket.send_to(&vec![7; length], (to, PORT)).unwrap();
    }
}

/// Whether the bytes from the IPv4 header on are one of our packets, not the kernel's chatter.
fn is_ours(ip_header: &[u8]) -> bool {
    ip_header.len() > 24 && ip_header[9] == 17 && ip_header[22..24] == PORT.to_be_bytes()
}

/// Our packets, read until none has come for a while; `link_header` bytes precede IP.
fn seen(source: &mut LiveSource, link_header: usize) -> Vec<Packet> {
    let mut packets = Vec::new();
    while source
        .fill(50, &mut |record| packets.push(Packet::of(record)))
        .unwrap()
        > 0
    {}
    packets.retain(|p| p.data.get(link_header..).is_some_and(is_ours));
    packets
}

fn each_packet_on_loopback_is_seen_once() {
    in_namespace(|| {
        let mut source = LiveSource::open("lo", &LiveOptions::default()).unwrap();
        assert!(source.next().unwrap().is_none() && !source.ended());
        // With a receiver the kernel sends no complaints back.
        let _receiver = UdpSocket::bind(("127.0.0.1", PORT)).unwrap();
        send("127.0.0.1", 1_000, 100);
        let packets = seen(&mut source, 14);
        assert_eq!(packets.len(), 1_000);
        assert!(
            packets
                .iter()
                .all(|p| p.wire_len == 142 && p.data.len() == 142)
        );
        let notes = source.notes();
        assert_eq!((notes.packets, notes.kernel_drops), (1_000, Some(0)));
    });
}

fn packets_on_a_cable_are_cut_to_the_snap_length_and_stamped_with_the_time() {
    in_namespace(|| {
        cable();
        let options = LiveOptions {
            snap_len: 60,
            promiscuous: true,
            ..LiveOptions::default()
        };
        let mut source = LiveSource::open("right", &options).unwrap();
        let before = since_epoch_ns();
        send("10.9.0.2", 100, 1_000);
        let packets = seen(&mut source, 14);
        let after = since_epoch_ns();
        assert_eq!(packets.len(), 100);
        for packet in &packets {
            assert_eq!(packet.link, LinkType::Ethernet);
            assert_eq!((packet.wire_len, packet.data.len()), (1_042, 60));
            assert!((before..after).contains(&packet.time_ns));
        }
    });
}

fn since_epoch_ns() -> i64 {
    let now = std::time::UNIX_EPOCH.elapsed().unwrap();
    i64::try_from(now.as_nanos()).unwrap()
}

fn a_vlan_tag_that_the_kernel_took_off_is_put_back() {
    in_namespace(|| {
        cable();
        let mut source = LiveSource::open("right", &LiveOptions::default()).unwrap();
        let tagged: Vec<u8> = [
            &[
                2, 0, 0, 0, 0, 0x0b, 2, 0, 0, 0, 0, 0x0a, 0x81, 0x00, 0x20, 0x05, 0x08, 0x00,
            ][..],
            &datagram(),
        ]
        .concat();
        for _ in 0..10 {
            send_frame("left", &tagged);
        }
        let packets = seen(&mut source, 18);
        assert_eq!(packets.len(), 10);
        for packet in &packets {
            assert_eq!(packet.data, tagged);
            assert_eq!(packet.wire_len as usize, tagged.len());
        }
    });
}

fn an_interface_without_link_layer_gives_raw_ip() {
    in_namespace(|| {
        let mut tun = open_tun("tunnel");
        ip("link set tunnel up");
        let mut source = LiveSource::open("tunnel", &LiveOptions::default()).unwrap();
        for _ in 0..10 {
            tun.write_all(&datagram()).unwrap();
        }
        let packets = seen(&mut source, 0);
        assert_eq!(packets.len(), 10);
        for packet in &packets {
            assert_eq!((packet.link, &packet.data), (LinkType::RawIp, &datagram()));
        }
    });
}

/// An IPv4 packet with a UDP header to `PORT` and 32 bytes; nobody checks its checksums here.
fn datagram() -> Vec<u8> {
    let mut bytes = vec![
        0x45, 0, 0, 60, 0, 0, 0, 0, 64, 17, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2,
    ];
    bytes.extend(PORT.to_be_bytes());
    bytes.extend(PORT.to_be_bytes());
    bytes.extend([0, 40, 0, 0]);
    bytes.resize(60, 0x55);
    bytes
}

/// Sends a frame as it stands.
fn send_frame(interface: &str, frame: &[u8]) {
    let name = std::ffi::CString::new(interface).unwrap();
    // SAFETY: all pointers live through their calls and have the lengths given; an all-zero
    // `sockaddr_ll` is a valid one; the descriptor is new and nobody else's.
    unsafe {
        let raw = libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0);
        assert!(raw >= 0);
        let socket = std::os::fd::OwnedFd::from_raw_fd(raw);
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
        let sent = libc::sendto(
            socket.as_raw_fd(),
            frame.as_ptr().cast(),
            frame.len(),
            0,
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as u32,
        );
        assert_eq!(sent, frame.len() as isize);
    }
}

fn tun_device() -> std::io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).open("/dev/net/tun")
}

fn has_tun_device() -> Result<(), String> {
    tun_device()
        .map(drop)
        .map_err(|error| format!("/dev/net/tun: {error}"))
}

/// A TUN interface: what is written to it is received on it.
fn open_tun(name: &str) -> File {
    let tun = tun_device().unwrap();
    // SAFETY: TUNSETIFF reads one `ifreq`, for which all zeros are valid.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *place = byte as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as i16;
        let done = libc::ioctl(tun.as_raw_fd(), libc::TUNSETIFF, &raw mut request);
        assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
    }
    tun
}

fn packets_that_find_the_ring_full_are_counted() {
    in_namespace(|| {
        let options = LiveOptions {
            snap_len: 2_000,
            ring: Bytes::mib(2),
            ..LiveOptions::default()
        };
        let mut source = LiveSource::open("lo", &options).unwrap();
        send("127.0.0.1", 5_000, 1_000);
        let packets = seen(&mut source, 14);
        let dropped = source.notes().kernel_drops.unwrap();
        assert!(dropped > 0 && packets.len() < 5_000);
        // Each datagram is offered twice, and which of the two was dropped is not told.
        assert!(packets.len() as u64 + dropped >= 5_000);
    });
}

fn what_came_before_the_end_is_seen_and_what_comes_after_is_not() {
    in_namespace(|| {
        cable();
        let mut source = LiveSource::open("right", &LiveOptions::default()).unwrap();
        send("10.9.0.2", 100, 100);
        source.close();
        send("10.9.0.2", 10, 100);
        let packets = seen(&mut source, 14);
        assert_eq!(packets.len(), 100);
        assert!(source.ended() && source.next().unwrap().is_none());
    });
}

fn an_interface_that_goes_down_ends_the_capture_with_an_error() {
    in_namespace(|| {
        cable();
        let mut source = LiveSource::open("right", &LiveOptions::default()).unwrap();
        ip("link set right down");
        let error = loop {
            if let Err(error) = source.next() {
                break error.to_string();
            }
        };
        assert!(error.contains("capturing on right failed"), "{error}");
    });
}

fn an_interface_that_does_not_exist_is_named_in_the_error() {
    let error = LiveSource::open("nosuch0", &LiveOptions::default())
        .err()
        .unwrap();
    assert!(matches!(error, CaptureError::NoInterface { .. }), "{error}");
}

fn without_the_capability_the_error_says_which_and_how() {
    let helpless = || {
        // SAFETY: only this thread's capabilities change: user 65534 has none.
        let dropped = unsafe { libc::syscall(libc::SYS_setresuid, 65_534, 65_534, 65_534) };
        if dropped != 0 {
            eprintln!("not root: without the capability already");
        }
        LiveSource::open("lo", &LiveOptions::default())
            .err()
            .unwrap()
            .to_string()
    };
    let error = thread::spawn(helpless).join().unwrap();
    assert!(
        error.contains("CAP_NET_RAW") && error.contains("setcap"),
        "{error}"
    );
}

unbloat_testkit::main! {
    always() => [
        an_interface_that_does_not_exist_is_named_in_the_error,
        without_the_capability_the_error_says_which_and_how,
    ],
    root("a network namespace") => [
        each_packet_on_loopback_is_seen_once,
        packets_on_a_cable_are_cut_to_the_snap_length_and_stamped_with_the_time,
        a_vlan_tag_that_the_kernel_took_off_is_put_back,
        packets_that_find_the_ring_full_are_counted,
        what_came_before_the_end_is_seen_and_what_comes_after_is_not,
        an_interface_that_goes_down_ends_the_capture_with_an_error,
    ],
    root("a network namespace").and(check(has_tun_device)) => [
        an_interface_without_link_layer_gives_raw_ip,
    ],
}
