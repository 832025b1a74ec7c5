//! What hosts can do. Needs root, and says so when it is skipped.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;
use unbloat_bed::{Bed, BedError, Host, Route, Tun, leftovers};

/// Says that a test is left out; the runner's log counts these lines.
fn is_root() -> bool {
    // SAFETY: geteuid has no conditions and cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    if !is_root {
        eprintln!("skipped 1 test: a bed makes namespaces and needs root");
    }
    is_root
}

fn joined(bed: &Bed) -> Result<[Host; 2], BedError> {
    let hosts = [bed.host("client")?, bed.host("server")?];
    hosts[0].veth("eth0", &hosts[1], "eth0")?;
    for (host, address) in hosts.iter().zip(["10.45.0.1/24", "10.45.0.2/24"]) {
        host.address("eth0", address.parse().expect("an address"))?;
    }
    Ok(hosts)
}

#[test]
fn hosts_joined_by_a_pair_of_devices_talk_tcp() {
    if !is_root() {
        return;
    }
    let bed = Bed::new().unwrap();
    let [client, server] = joined(&bed).unwrap();
    let listener = server.within(|| TcpListener::bind("10.45.0.2:7")).unwrap();
    let listener = listener.unwrap();
    let stream = client.within(|| TcpStream::connect("10.45.0.2:7")).unwrap();
    let (mut accepted, from) = listener.accept().unwrap();
    assert_eq!(from.ip().to_string(), "10.45.0.1");
    stream.unwrap().write_all(b"hello").unwrap();
    let mut text = String::new();
    accepted.read_to_string(&mut text).unwrap();
    assert_eq!(text, "hello");
    let counters = client.counters("eth0").unwrap();
    assert!(counters.sent_packets > 2 && counters.received_packets > 1);
}

#[test]
fn what_a_host_sends_through_a_tun_device_is_read_from_its_descriptor() {
    if !is_root() {
        return;
    }
    let bed = Bed::new().unwrap();
    let host = bed.host("client").unwrap();
    let tun = Tun {
        mtu: 1410,
        ..Tun::default()
    };
    let fd = host.tun("tun0", &tun).unwrap();
    host.address("tun0", "10.45.0.1/32".parse().unwrap())
        .unwrap();
    let net = "10.99.0.0/16".parse().unwrap();
    host.route(net, Route::Device("tun0")).unwrap();
    let socket = host
        .within(|| UdpSocket::bind("10.45.0.1:9"))
        .unwrap()
        .unwrap();
    socket.send_to(b"hello", "10.99.0.1:9").unwrap();
    let mut packet = [0; 2000];
    let length = nix::unistd::read(fd.as_fd(), &mut packet).unwrap();
    assert_eq!(&packet[length - 5..length], b"hello");
    assert_eq!(packet[0] >> 4, 4, "IP comes without a header in front");

    // And the answer: addresses and ports are turned round, so that the checksums stay right.
    let (source, destination) = (packet[12..16].to_vec(), packet[16..20].to_vec());
    packet[12..16].copy_from_slice(&destination);
    packet[16..20].copy_from_slice(&source);
    nix::unistd::write(&fd, &packet[..length]).unwrap();
    let wait = Some(Duration::from_secs(5));
    socket.set_read_timeout(wait).unwrap();
    let (_, from) = socket.recv_from(&mut packet).unwrap();
    assert_eq!(from, "10.99.0.1:9".parse().unwrap());
}

#[test]
fn a_host_is_known_to_the_system_while_it_is_there() {
    if !is_root() {
        return;
    }
    let bed = Bed::new().unwrap();
    let host = bed.host("only").unwrap();
    let name = host.name().to_owned();
    assert!(name.starts_with(bed.mark()) && name.ends_with("-only"));
    let is_left = |wanted: &String| leftovers(std::process::id()).contains(wanted);
    assert!(is_left(&name));
    drop(host);
    assert!(!is_left(&name));
}

#[test]
fn a_panic_leaves_no_host_behind() {
    if !is_root() {
        return;
    }
    let bed = Bed::new().unwrap();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let host = bed.host("panics").unwrap();
        host.within(|| panic!("on purpose")).unwrap_or(())
    }));
    assert!(panicked.is_err());
    let names = leftovers(std::process::id());
    assert!(!names.iter().any(|name| name.starts_with(bed.mark())));
}

#[test]
fn what_cannot_be_is_told_in_words() {
    if !is_root() {
        return;
    }
    let bed = Bed::new().unwrap();
    let host = bed.host("a").unwrap();
    let of = |error: BedError| error.to_string();
    let twice = of(bed.host("a").unwrap_err());
    assert!(twice.contains("a name of its own"), "{twice}");
    let net = "10.0.0.1/24".parse().unwrap();
    let missing = of(host.address("eth7", net).unwrap_err());
    assert_eq!(missing, "host a has no device \"eth7\"");
    let gateway = Route::Gateway("10.9.9.9".parse().unwrap());
    let route = of(host.route(net, gateway).unwrap_err());
    assert!(route.contains("could not add the route"), "{route}");
    let setting = of(host.set("net/ipv4/tcp_sack", "yes").unwrap_err());
    assert!(setting.contains("net/ipv4/tcp_sack"), "{setting}");
}

#[test]
fn settings_are_pinned_and_can_be_changed() {
    if !is_root() {
        return;
    }
    let bed = Bed::new().unwrap();
    let host = bed.host("a").unwrap();
    let of = |key: &str| {
        let all = host.settings().unwrap();
        all.into_iter().find(|(k, _)| k == key).map(|(_, v)| v)
    };
    assert_eq!(of("net/ipv4/tcp_rmem").unwrap(), "4096 131072 6291456");
    host.set("net/ipv4/tcp_ecn", "1").unwrap();
    assert_eq!(of("net/ipv4/tcp_ecn").unwrap(), "1");
}
