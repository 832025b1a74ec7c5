//! Which device the kernel uses for an address. To lay routes needs root.

#[path = "../src/route.rs"]
mod route;

use route::{RouteError, device_to, outward};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use unbloat_netns::{Bed, Route};

fn loopback_is_found_by_both_versions_of_ip() {
    for address in [
        IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::LOCALHOST),
    ] {
        match device_to(address) {
            Ok(device) => assert_eq!(device.as_str(), "lo"),
            // A host without that version.
            Err(RouteError::NoRoute { .. }) => assert!(address.is_ipv6()),
            Err(other) => panic!("{other}"),
        }
    }
}

fn policy_routing_and_ipv6_are_followed_and_no_route_is_told() {
    let bed = Bed::new().unwrap();
    let [host, near, far] = ["host", "near", "far"].map(|role| bed.host(role).unwrap());
    host.veth("near0", &near, "eth0").unwrap();
    host.veth("far0", &far, "eth0").unwrap();
    host.address("near0", "10.9.1.1/24".parse().unwrap())
        .unwrap();
    host.address("far0", "10.9.2.1/24".parse().unwrap())
        .unwrap();
    let to = |address: &str| {
        let address = address.parse().unwrap();
        host.within(|| device_to(address).map(|device| device.to_string()))
            .unwrap()
    };
    assert!(matches!(
        host.within(outward).unwrap(),
        Err(RouteError::NoDefault)
    ));
    host.route(
        "0.0.0.0/0".parse().unwrap(),
        Route::Gateway([10, 9, 1, 2].into()),
    )
    .unwrap();
    assert_eq!(to("203.0.113.1").unwrap(), "near0");
    assert_eq!(host.within(outward).unwrap().unwrap().as_str(), "near0");
    // Hosts of a bed have no IPv6 unless they are asked for it.
    let on = "echo 0 > /proc/sys/net/ipv6/conf/far0/disable_ipv6";
    let asked = host.command("sh").unwrap().args(["-c", on]).status();
    assert!(asked.unwrap().success(), "{on}");
    for words in [
        "rule add to 203.0.113.0/24 table 77",
        "route add default via 10.9.2.2 table 77",
        "-6 addr add fd00:9::1/64 dev far0 nodad",
        "-6 route add 2001:db8::/32 via fd00:9::2",
    ] {
        let done = host.command("ip").unwrap().args(words.split(' ')).status();
        assert!(done.unwrap().success(), "{words}");
    }
    assert_eq!(to("203.0.113.1").unwrap(), "far0");
    assert_eq!(to("198.51.100.1").unwrap(), "near0");
    assert_eq!(to("2001:db8::7").unwrap(), "far0");
    let none = to("2001:beef::1").unwrap_err().to_string();
    assert!(none.contains("no route to 2001:beef::1"), "{none}");
}

unbloat_testkit::main! {
    always() => [
        loopback_is_found_by_both_versions_of_ip,
    ],
    root("a bed") => [
        policy_routing_and_ipv6_are_followed_and_no_route_is_told,
    ],
}
