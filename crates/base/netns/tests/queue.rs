//! Queues of the kernel on a bed's devices. Needs root.

use std::net::UdpSocket;
use std::time::{Duration, Instant};
use unbloat_netns::tc::Framing;
use unbloat_netns::{Bed, Host, Tun};
use unbloat_units::Rate;

fn joined(bed: &Bed) -> [Host; 2] {
    let hosts = ["client", "server"].map(|role| bed.host(role).unwrap());
    hosts[0].veth("eth0", &hosts[1], "eth0").unwrap();
    for (host, address) in hosts.iter().zip(["10.45.0.1/24", "10.45.0.2/24"]) {
        host.address("eth0", address.parse().unwrap()).unwrap();
        host.offloads_off("eth0").unwrap();
    }
    hosts
}

/// Sends packets of 1000 bytes of IP; how long it took until the last one was there.
fn burst(from: &Host, to: &Host, packets: u32) -> Duration {
    let receiver = to
        .within(|| UdpSocket::bind("10.45.0.2:9"))
        .unwrap()
        .unwrap();
    let sender = from
        .within(|| UdpSocket::bind("10.45.0.1:9"))
        .unwrap()
        .unwrap();
    receiver
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    // The first one waits for the neighbour's address.
    sender.send_to(&[], "10.45.0.2:9").unwrap();
    receiver.recv(&mut [0; 2000]).unwrap();
    let begin = Instant::now();
    for _ in 0..packets {
        sender.send_to(&[0; 972], "10.45.0.2:9").unwrap();
    }
    for _ in 0..packets {
        receiver.recv(&mut [0; 2000]).unwrap();
    }
    begin.elapsed()
}

fn a_bottleneck_takes_the_time_of_its_rate_and_counts() {
    let bed = Bed::new().unwrap();
    let [client, server] = joined(&bed);
    let rate = Rate::mbps(8);
    client
        .bottleneck("eth0", "pfifo limit 100", rate, Framing(0))
        .unwrap();
    let took = burst(&client, &server, 51);
    // 50 packets of 1 ms each stand before the last one.
    assert!((50..80).contains(&took.as_millis()), "{took:?}");
    let counters = client.queue_counters("eth0").unwrap();
    assert_eq!((&counters.kind[..], counters.dropped), ("pfifo", 0));
    assert!(counters.sent_packets >= 52, "{counters:?}");
    assert_eq!(counters.backlog_packets, 0);
}

fn a_shaper_of_its_own_stands_by_itself() {
    let bed = Bed::new().unwrap();
    let [client, server] = joined(&bed);
    let words = "tbf rate 8mbit burst 1000 limit 200000";
    client
        .bottleneck("eth0", words, Rate::mbps(8), Framing(0))
        .unwrap();
    let took = burst(&client, &server, 51);
    assert!((48..80).contains(&took.as_millis()), "{took:?}");
    assert_eq!(client.queue_counters("eth0").unwrap().kind, "tbf");
    // Another one takes its place.
    client.queue("eth0", "pfifo limit 7").unwrap();
    assert_eq!(client.queue_counters("eth0").unwrap().kind, "pfifo");
}

fn a_tun_device_has_no_queue_until_it_is_given_one() {
    let bed = Bed::new().unwrap();
    let host = bed.host("client").unwrap();
    let _tun = host.tun("tun0", &Tun::default()).unwrap();
    assert_eq!(host.queue_counters("tun0").unwrap().kind, "noqueue");
    for (words, kind) in [
        ("pfifo limit 7", "pfifo"),
        ("pfifo", "pfifo"),
        ("noqueue", "noqueue"),
    ] {
        host.queue("tun0", words).unwrap();
        assert_eq!(host.queue_counters("tun0").unwrap().kind, kind);
    }
}

fn a_queue_that_the_kernel_has_not_is_told_with_those_that_it_has() {
    let bed = Bed::new().unwrap();
    let [client, _server] = joined(&bed);
    let lacks = ["cake", "fq_codel", "codel", "pie", "netem", "red"];
    let refused = lacks.iter().find_map(|kind| {
        let words = if *kind == "red" {
            "red limit 100000 avpkt 1000"
        } else {
            kind
        };
        client.queue("eth0", words).err()
    });
    // A kernel may have all of them.
    if let Some(error) = refused {
        let message = error.to_string();
        assert!(message.contains("this kernel has no queue"), "{message}");
        assert!(message.contains("(available: pfifo, bfifo"), "{message}");
        let (_, refused_kind) = message.split_once('"').unwrap();
        let (refused_kind, has) = refused_kind.split_once('"').unwrap();
        let (has, _) = has.split_once(");").unwrap();
        assert!(!has.contains(refused_kind), "{message}");
    }
    let wrong = client.queue("eth0", "pfifo depth 3").unwrap_err();
    assert!(wrong.to_string().contains("takes \"limit\""), "{wrong}");
    let missing = client.queue("eth7", "pfifo").unwrap_err();
    assert!(missing.to_string().contains("no device"), "{missing}");
}

fn a_gate_lets_one_packet_go_at_a_time() {
    let bed = Bed::new().unwrap();
    let host = bed.host("client").unwrap();
    let tun = host.tun("tun0", &Tun::default()).unwrap();
    host.address("tun0", "10.45.0.1/24".parse().unwrap())
        .unwrap();
    let gate = host.gate("tun0", "pfifo limit 3", Framing(14)).unwrap();
    let sender = host.within(|| UdpSocket::bind("10.45.0.1:9")).unwrap();
    let sender = sender.unwrap();
    let send = |len: usize| sender.send_to(&vec![0; len], "10.45.0.2:9");
    let came = || {
        let mut bytes = [0; 2000];
        let mut lengths = Vec::new();
        while let Ok(len) = rustix::io::read(&tun, &mut bytes) {
            lengths.push(len - 28);
        }
        lengths
    };
    // The first one finds it open, and of the others three fit.
    for len in [0, 1472, 1, 1472, 1472] {
        let _ = send(len);
    }
    assert_eq!(came(), [0]);
    for waited in [vec![1472], vec![1], vec![1472], vec![]] {
        gate.open().unwrap();
        assert_eq!(came(), waited);
    }
    // Now it stands open.
    send(7).unwrap();
    assert_eq!(came(), [7]);
    send(8).unwrap();
    assert!(came().is_empty());
    let counters = host.queue_counters("tun0").unwrap();
    assert_eq!((&counters.kind[..], counters.dropped), ("pfifo", 1));
    let unlimited = host.gate("tun0", "pfifo", Framing(14)).unwrap_err();
    assert!(unlimited.to_string().contains("\"limit\""), "{unlimited}");
}

fn a_gate_stands_on_ethernet_too() {
    let bed = Bed::new().unwrap();
    let [client, server] = joined(&bed);
    let gate = client.gate("eth0", "pfifo limit 9", Framing(0)).unwrap();
    let before = server.counters("eth0").unwrap().received_packets;
    // Somebody takes them, so that nobody complains.
    let _taker = server.within(|| UdpSocket::bind("10.45.0.2:9")).unwrap();
    let sender = client.within(|| UdpSocket::bind("10.45.0.1:9")).unwrap();
    // Its neighbour is known, so that no packet asks for it.
    let neighbour = ("10.45.0.2".parse().unwrap(), server.mac("eth0"));
    client.neighbour("eth0", neighbour.0, neighbour.1).unwrap();
    for _ in 0..4 {
        let _ = sender.as_ref().unwrap().send_to(&[0; 1472], "10.45.0.2:9");
    }
    let received = || server.counters("eth0").unwrap().received_packets - before;
    for expected in [1, 2, 3, 4, 4] {
        assert_eq!(received(), expected);
        gate.open().unwrap();
    }
}

unbloat_testkit::main! {
    root("a bed") => [
        a_gate_lets_one_packet_go_at_a_time,
        a_gate_stands_on_ethernet_too,
        a_bottleneck_takes_the_time_of_its_rate_and_counts,
        a_shaper_of_its_own_stands_by_itself,
        a_tun_device_has_no_queue_until_it_is_given_one,
        a_queue_that_the_kernel_has_not_is_told_with_those_that_it_has,
    ],
}
