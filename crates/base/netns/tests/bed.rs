//! What hosts can do. Needs root.

use rustix::net::sockopt;
use rustix::thread::{
    CapabilitySet, LinkNameSpaceType, capabilities, move_into_link_name_space, set_capabilities,
};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;
use unbloat_netns::{Bed, BedError, Host, Route, Tun, leftovers};

fn joined(bed: &Bed) -> Result<[Host; 2], BedError> {
    let hosts = [bed.host("client")?, bed.host("server")?];
    hosts[0].veth("eth0", &hosts[1], "eth0")?;
    for (host, address) in hosts.iter().zip(["10.45.0.1/24", "10.45.0.2/24"]) {
        host.address("eth0", address.parse().expect("an address"))?;
    }
    Ok(hosts)
}

fn hosts_joined_by_a_pair_of_devices_talk_tcp() {
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

fn what_a_host_sends_through_a_tun_device_is_read_from_its_descriptor() {
    let bed = Bed::new().unwrap();
    let host = bed.host("client").unwrap();
    let tun = Tun {
        mtu: 1410,
        ..Tun::default()
    };
    let tun_file = File::from(host.tun("tun0", &tun).unwrap());
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
    let length = (&tun_file).read(&mut packet).unwrap();
    assert_eq!(&packet[length - 5..length], b"hello");
    assert_eq!(packet[0] >> 4, 4, "IP comes without a header in front");

    // And the answer: addresses and ports are turned round, so that the checksums stay right.
    let (source, destination) = (packet[12..16].to_vec(), packet[16..20].to_vec());
    packet[12..16].copy_from_slice(&destination);
    packet[16..20].copy_from_slice(&source);
    (&tun_file).write_all(&packet[..length]).unwrap();
    let wait = Some(Duration::from_secs(5));
    socket.set_read_timeout(wait).unwrap();
    let (_, from) = socket.recv_from(&mut packet).unwrap();
    assert_eq!(from, "10.99.0.1:9".parse().unwrap());
}

fn a_host_is_known_to_the_system_while_it_is_there() {
    let bed = Bed::new().unwrap();
    let host = bed.host("only").unwrap();
    let name = host.name().to_owned();
    assert!(name.starts_with(bed.mark()) && name.ends_with("-only"));
    let is_left = |wanted: &String| {
        let left = leftovers(std::process::id());
        left.iter().any(|path| path.ends_with(wanted))
    };
    assert!(is_left(&name));
    drop(host);
    assert!(!is_left(&name));
}

fn connections_that_nobody_owns_do_not_keep_a_host_that_goes() {
    let bed = Bed::new().unwrap();
    let host = bed.host("client").unwrap();
    let held = host.namespace().try_clone_to_owned().unwrap();
    drop(host);
    let retries = std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            let network = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(held.as_fd(), network).unwrap();
            std::fs::read_to_string("/proc/sys/net/ipv4/tcp_orphan_retries").unwrap()
        });
        inside.join().unwrap()
    });
    assert_eq!(retries.trim(), "1");
}

fn a_panic_leaves_no_host_behind() {
    let bed = Bed::new().unwrap();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let host = bed.host("panics").unwrap();
        host.within(|| panic!("on purpose")).unwrap_or(())
    }));
    assert!(panicked.is_err());
    let names = leftovers(std::process::id());
    let is_of_bed = |path: &PathBuf| path.to_string_lossy().contains(bed.mark());
    assert!(!names.iter().any(is_of_bed));
}

fn what_cannot_be_is_told_in_words() {
    let bed = Bed::new().unwrap();
    let host = bed.host("a").unwrap();
    let of = |error: BedError| error.to_string();
    let twice = of(bed.host("a").unwrap_err());
    assert!(twice.contains("a unique name"), "{twice}");
    let net = "10.0.0.1/24".parse().unwrap();
    let missing = of(host.address("eth7", net).unwrap_err());
    assert_eq!(missing, "host a has no device \"eth7\"");
    let gateway = Route::Gateway("10.9.9.9".parse().unwrap());
    let route = of(host.route(net, gateway).unwrap_err());
    assert!(route.contains("cannot add the route"), "{route}");
    let setting = of(host.set("net/ipv4/tcp_sack", "yes").unwrap_err());
    assert!(setting.contains("net/ipv4/tcp_sack"), "{setting}");
}

fn a_socket_of_a_host_may_use_any_congestion_control() {
    let bed = Bed::new().unwrap();
    let host = bed.host("a").unwrap();
    let available = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let available = std::fs::read_to_string(available).unwrap();
    host.within(|| {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        for control in available.split_whitespace() {
            sockopt::set_tcp_congestion(&socket, control).unwrap();
            assert_eq!(sockopt::tcp_congestion(&socket).unwrap(), control);
        }
    })
    .unwrap();
}

fn who_may_not_make_namespaces_is_told_to_run_it_as_root() {
    let refused = std::thread::spawn(|| {
        // Capabilities are a thread's own.
        let mut sets = capabilities(None).unwrap();
        sets.effective = CapabilitySet::empty();
        set_capabilities(None, sets).unwrap();
        Bed::new().unwrap().host("a").unwrap_err().to_string()
    });
    let message = refused.join().unwrap();
    assert!(message.contains("run as root"), "{message}");
}

fn settings_are_pinned_and_can_be_changed() {
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

fn a_command_sees_the_network_and_the_names_of_its_host() {
    let bed = Bed::new().unwrap();
    let [client, _server] = joined(&bed).unwrap();
    let script = "hostname; getent hosts server.lab; getent hosts client; cat /proc/net/dev; cat /etc/resolv.conf";
    let output = client.command("sh").unwrap().args(["-c", script]).output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.starts_with("client\n10.45.0.2"), "{output:?}");
    assert!(said.contains("10.45.0.1"), "{said}");
    assert!(
        said.contains("eth0:") && said.contains("has no name server"),
        "{said}"
    );
    let outside = std::fs::read_to_string("/etc/hosts").unwrap();
    assert!(!outside.contains("client.lab"));
}

fn commands_end_with_their_host_whatever_they_did_to_escape() {
    let bed = Bed::new().unwrap();
    let host = bed.host("a").unwrap();
    let mut children = [
        "sleep 93",
        "trap '' TERM HUP INT; while true; do sleep 93; done",
        "setsid setsid sleep 93 & exec unshare --net sleep 93",
        "exec env -i setsid sleep 93",
    ]
    .map(|script| {
        let mut command = host.command("sh").unwrap();
        command.args(["-c", script]).spawn().unwrap()
    });
    std::thread::sleep(Duration::from_millis(100));
    for child in &mut children {
        assert!(child.try_wait().unwrap().is_none());
    }
    let marker = host.name().to_owned();
    drop(host);
    for mut child in children {
        assert!(!child.wait().unwrap().success());
    }
    assert_eq!(processes_of(&marker), 0);
}

/// Processes whose environment has this text.
fn processes_of(marker: &str) -> usize {
    let folders = std::fs::read_dir("/proc").unwrap().flatten();
    let environments = folders.filter_map(|f| std::fs::read(f.path().join("environ")).ok());
    let has = |e: &Vec<u8>| String::from_utf8_lossy(e).contains(marker);
    environments.filter(has).count()
}

fn a_host_that_forwards_joins_two_others() {
    let bed = Bed::new().unwrap();
    let [client, router, server] = ["client", "router", "server"].map(|r| bed.host(r).unwrap());
    client.veth("eth0", &router, "lan").unwrap();
    router.veth("wan", &server, "eth0").unwrap();
    for (host, device, address) in [
        (&client, "eth0", "10.45.0.2/24"),
        (&router, "lan", "10.45.0.1/24"),
        (&router, "wan", "10.99.0.2/24"),
        (&server, "eth0", "10.99.0.1/24"),
    ] {
        host.address(device, address.parse().unwrap()).unwrap();
        host.offloads_off(device).unwrap();
    }
    let everywhere = "0.0.0.0/0".parse().unwrap();
    for (host, gateway) in [(&client, "10.45.0.1"), (&server, "10.99.0.2")] {
        let gateway = Route::Gateway(gateway.parse().unwrap());
        host.route(everywhere, gateway).unwrap();
    }
    router.forward().unwrap();
    let receiver = server.within(|| UdpSocket::bind("10.99.0.1:9")).unwrap();
    let sender = client.within(|| UdpSocket::bind("10.45.0.2:9")).unwrap();
    sender.unwrap().send_to(b"hello", "10.99.0.1:9").unwrap();
    let receiver = receiver.unwrap();
    let wait = Some(Duration::from_secs(5));
    receiver.set_read_timeout(wait).unwrap();
    let (length, from) = receiver.recv_from(&mut [0; 9]).unwrap();
    assert_eq!((length, from), (5, "10.45.0.2:9".parse().unwrap()));
}

unbloat_testkit::main! {
    root("a bed") => [
        hosts_joined_by_a_pair_of_devices_talk_tcp,
        what_a_host_sends_through_a_tun_device_is_read_from_its_descriptor,
        a_host_is_known_to_the_system_while_it_is_there,
        connections_that_nobody_owns_do_not_keep_a_host_that_goes,
        a_panic_leaves_no_host_behind,
        what_cannot_be_is_told_in_words,
        a_socket_of_a_host_may_use_any_congestion_control,
        who_may_not_make_namespaces_is_told_to_run_it_as_root,
        settings_are_pinned_and_can_be_changed,
        a_command_sees_the_network_and_the_names_of_its_host,
        commands_end_with_their_host_whatever_they_did_to_escape,
        a_host_that_forwards_joins_two_others,
    ],
}
