//! Every kind of probe over two routers, IPv4 and IPv6: who answers at which hop. Needs root.

use std::net::{IpAddr, TcpListener};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use unbloat_locate::Phase;
use unbloat_locate_host::{Kind, Load, LocateError, Located, Options, run};
use unbloat_netns::{Bed, Host, Route};

/// This host, two routers, the far end; link k between nodes k-1 and k, with ends .1 and .2.
struct Path {
    nodes: Vec<Host>,
    _bed: Bed,
}

const FAMILIES: [&str; 2] = ["10.7.", "fd00:7:"];

fn address(family: &str, link: usize, last: u8) -> String {
    match family {
        "10.7." => format!("10.7.{link}.{last}"),
        _ => format!("fd00:7:{link}::{last}"),
    }
}

impl Path {
    fn build() -> Path {
        let bed = Bed::new().expect("a bed");
        let host = |n| bed.host(&format!("n{n}")).expect("a host");
        let nodes: Vec<Host> = (0..4).map(host).collect();
        for node in &nodes {
            node.set("net/ipv4/icmp_ratelimit", "0").unwrap();
            node.set("net/ipv6/icmp/ratelimit", "0").unwrap();
            for conf in ["all", "default"] {
                // Addresses are nobody else's here.
                node.set(&format!("net/ipv6/conf/{conf}/accept_dad"), "0")
                    .unwrap();
                node.set(&format!("net/ipv6/conf/{conf}/disable_ipv6"), "0")
                    .unwrap();
            }
            node.forward().unwrap();
            node.set("net/ipv6/conf/all/forwarding", "1").unwrap();
        }
        for (link, pair) in (1..).zip(nodes.windows(2)) {
            pair[0].veth("right", &pair[1], "left").unwrap();
            for family in FAMILIES {
                let net = |last| {
                    let length = if family == "10.7." { 24 } else { 64 };
                    format!("{}/{length}", address(family, link, last))
                        .parse()
                        .unwrap()
                };
                pair[0].address("right", net(1)).unwrap();
                pair[1].address("left", net(2)).unwrap();
            }
        }
        for (number, node) in nodes.iter().enumerate() {
            for (link, family) in (1..4).flat_map(|link| FAMILIES.map(|family| (link, family))) {
                let via = match link {
                    link if link > number + 1 => address(family, number + 1, 2),
                    link if link < number => address(family, number, 1),
                    _ => continue,
                };
                let to = match family {
                    "10.7." => format!("10.7.{link}.0/24"),
                    _ => format!("fd00:7:{link}::/64"),
                };
                let gateway: IpAddr = via.parse().unwrap();
                node.route(to.parse().unwrap(), Route::Gateway(gateway))
                    .unwrap();
            }
        }
        Path { nodes, _bed: bed }
    }

    fn run(&self, change: impl FnOnce(&mut Options), family: &str) -> Result<Located, LocateError> {
        self.run_under(&mut Nobody, change, family)
    }

    fn run_under(
        &self,
        load: &mut (impl Load + Send),
        change: impl FnOnce(&mut Options),
        family: &str,
    ) -> Result<Located, LocateError> {
        let mut options = Options::new(address(family, 3, 2).parse().unwrap());
        options.loads = Vec::new();
        options.idle = Duration::from_millis(500);
        change(&mut options);
        let mut told = 0;
        let job = || run(&options, load, &mut |_| told += 1, &AtomicBool::new(false));
        self.nodes[0].within(job).unwrap()
    }
}

struct Nobody;

impl Load for Nobody {
    fn start(&mut self, _: Phase) -> Result<(), String> {
        Err("nobody asked for load".to_owned())
    }

    fn stop(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// Ends by itself when it is to go up.
#[derive(Default)]
struct Failing {
    direction: Option<Phase>,
}

impl Load for Failing {
    fn start(&mut self, direction: Phase) -> Result<(), String> {
        self.direction = Some(direction);
        Ok(())
    }

    fn stop(&mut self) -> Result<(), String> {
        match self.direction.take() {
            Some(Phase::Up) => Err("it ended too early".to_owned()),
            _ => Ok(()),
        }
    }
}

/// Who answered for each hop while it was measured; empty for silence.
fn answers(located: &Located) -> Vec<(u8, String)> {
    let measured = located
        .records
        .iter()
        .filter(|record| record.phase.is_some());
    let mut all: Vec<(u8, String)> = measured
        .map(|record| {
            let from = record.answer.map(|(from, _)| from.to_string());
            (record.hop, from.unwrap_or_default())
        })
        .collect();
    all.sort();
    all.dedup();
    all
}

fn expected(family: &str) -> Vec<(u8, String)> {
    (1..=3)
        .map(|hop| (hop, address(family, hop.into(), 2)))
        .collect()
}

fn all_kinds_of_probes_find_all_hops_by_both_versions_of_ip() {
    let path = Path::build();
    let far_end = &path.nodes[3];
    for family in FAMILIES {
        let at = (address(family, 3, 2).parse::<IpAddr>().unwrap(), 4043);
        let listener = far_end.within(|| TcpListener::bind(at)).unwrap().unwrap();
        for kind in [Kind::Udp, Kind::Icmp, Kind::Tcp] {
            let located = path.run(
                |options| {
                    options.kind = kind;
                    if kind == Kind::Tcp {
                        options.port = 4043;
                    }
                },
                family,
            );
            let located = located.unwrap();
            assert_eq!(answers(&located), expected(family), "{kind} {family}");
            assert_eq!(located.far_end, Some(3), "{kind} {family}");
            let counts = located.counts;
            assert_eq!(
                (counts.foreign, counts.malformed),
                (0, 0),
                "{kind} {counts:?}"
            );
            let stamped = located
                .records
                .iter()
                .filter(|record| record.in_qdisc().is_some());
            assert!(
                stamped.count() * 2 > located.records.len(),
                "{kind} {family}"
            );
        }
        drop(listener);
    }
    // A closed port answers as well.
    let closed = path.run(
        |options| (options.kind, options.port) = (Kind::Tcp, 9),
        FAMILIES[0],
    );
    assert_eq!(closed.unwrap().far_end, Some(3));
}

fn root_asks_by_echo_requests_where_no_group_may() {
    let path = Path::build();
    path.nodes[0]
        .set("net/ipv4/ping_group_range", "1 0")
        .unwrap();
    for family in FAMILIES {
        let peer: IpAddr = address(family, 1, 2).parse().unwrap();
        let located = path.run(
            |options| (options.kind, options.peer) = (Kind::Icmp, Some(peer)),
            family,
        );
        let located = located.unwrap();
        let mut with_peer = vec![(0, peer.to_string())];
        with_peer.extend(expected(family));
        assert_eq!(answers(&located), with_peer, "{family}");
        assert_eq!(located.far_end, Some(3), "{family}");
        let counts = located.counts;
        assert_eq!((counts.malformed, counts.ambiguous), (0, 0), "{counts:?}");
    }
}

fn a_load_that_fails_has_no_verdict_and_takes_none_away() {
    let path = Path::build();
    let run = |loads: &[Phase]| {
        let change = |options: &mut Options| {
            options.loads = loads.to_vec();
            (options.fill, options.drain) = (Duration::ZERO, Duration::ZERO);
            options.loaded = options.idle;
        };
        path.run_under(&mut Failing::default(), change, FAMILIES[0])
    };
    let located = run(&[Phase::Down, Phase::Up, Phase::Both]).unwrap();
    let judged: Vec<Phase> = located.verdicts.iter().map(|one| one.load).collect();
    assert_eq!(judged, [Phase::Down]);
    assert!(!located.is_cut);
    let failed = located.failed.unwrap();
    assert_eq!(failed, "the up load failed: it ended too early");
    assert!(matches!(
        run(&[Phase::Up]),
        Err(LocateError::Load {
            direction: Phase::Up,
            ..
        })
    ));
}

fn a_peer_is_asked_beside_the_path_and_silence_is_an_error() {
    let path = Path::build();
    let peer: IpAddr = address(FAMILIES[0], 1, 2).parse().unwrap();
    let located = path
        .run(|options| options.peer = Some(peer), FAMILIES[0])
        .unwrap();
    let mut with_peer = vec![(0, peer.to_string())];
    with_peer.extend(expected(FAMILIES[0]));
    assert_eq!(answers(&located), with_peer);
    let nobody = path.run(
        |options| {
            options.target = "10.7.1.99".parse().unwrap();
            options.most_hops = 2;
        },
        FAMILIES[0],
    );
    assert!(
        matches!(nobody, Err(LocateError::NoAnswer { .. })),
        "{nobody:?}"
    );
}

unbloat_testkit::main! {
    root("a path of namespaces") => [
        all_kinds_of_probes_find_all_hops_by_both_versions_of_ip,
        root_asks_by_echo_requests_where_no_group_may,
        a_load_that_fails_has_no_verdict_and_takes_none_away,
        a_peer_is_asked_beside_the_path_and_silence_is_an_error,
    ],
}
