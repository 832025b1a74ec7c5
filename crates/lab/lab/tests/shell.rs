//! Shells between networks of this kernel. Needs root.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};
use unbloat_experiment::scenario::BothWays;
use unbloat_lab::{Shell, ShellOptions};
use unbloat_link::Config;
use unbloat_link::element::delay;
use unbloat_netns::{Bed, Host, Route};
use unbloat_units::{Both, Delta};

const PATIENCE: Duration = Duration::from_secs(5);

fn delayed(ms: i64) -> BothWays {
    let delay = || {
        vec![Config::Delay(delay::Params {
            delay: Delta::ms(ms),
        })]
    };
    BothWays {
        hops: Both::of(|_| vec![delay().into()]),
        shares_radio: false,
    }
}

fn the_outermost_network_is_reached_through_every_shell_and_all_their_delays() {
    let outer = Shell::open(delayed(10), 1).unwrap();
    let inner = outer
        .within(|| Shell::open(delayed(15), 1))
        .unwrap()
        .unwrap();
    assert_ne!(outer.outside(), inner.outside());
    let server = TcpListener::bind((outer.outside(), 0)).unwrap();
    let address = server.local_addr().unwrap();
    let echo = std::thread::spawn(move || {
        let (mut stream, _) = server.accept().unwrap();
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        stream.write_all(&byte).unwrap();
    });
    let begin = Instant::now();
    let mut stream = inner
        .within(|| TcpStream::connect(address))
        .unwrap()
        .unwrap();
    assert!(begin.elapsed() >= Duration::from_millis(50), "never early");
    stream.write_all(&[7]).unwrap();
    stream.read_exact(&mut [0]).unwrap();
    assert!(begin.elapsed() >= Duration::from_millis(100), "never early");
    drop(stream);
    echo.join().unwrap();
    for (shell, rtt) in [(inner, 30), (outer, 20)] {
        let emulated = shell.close().unwrap().emulated;
        assert_eq!(emulated.report.base_rtt, Delta::ms(rtt));
        assert!(
            emulated
                .paths
                .iter()
                .all(|path| path.delivered_packets >= 3)
        );
        assert_eq!(emulated.report.device_drops, 0);
    }
}

fn commands_run_inside_and_know_where_the_caller_is() {
    let shell = Shell::open(delayed(1), 1).unwrap();
    let mut command = shell.command("sh").unwrap();
    command.args(["-c", "echo $UNBLOAT_BASE; cat /proc/net/route; exit 7"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with(&shell.outside().to_string()), "{text}");
    assert!(
        text.contains("path\t00000000") && !text.contains("ub-shell"),
        "{text}"
    );
}

/// Says each byte back, once.
fn echo(server: TcpListener) -> std::thread::JoinHandle<SocketAddr> {
    std::thread::spawn(move || {
        let (mut stream, from) = server.accept().unwrap();
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        stream.write_all(&byte).unwrap();
        from
    })
}

fn said_back(mut stream: TcpStream) {
    stream.write_all(&[7]).unwrap();
    stream.read_exact(&mut [0]).unwrap();
}

/// A host of a bed, which has no IPv6 until it is told to speak it.
fn outside(bed: &Bed, has_ipv6: bool) -> Host {
    let host = bed.host("outside").unwrap();
    if has_ipv6 {
        host.speak_ipv6().unwrap();
    }
    host
}

fn the_outermost_network_is_reached_over_ipv6() {
    let bed = Bed::new().unwrap();
    let host = outside(&bed, true);
    let outer = host.within(|| Shell::open(delayed(10), 1));
    let outer = outer.unwrap().unwrap();
    let inner = outer.within(|| Shell::open(delayed(15), 1));
    let inner = inner.unwrap().unwrap();
    let base = outer.outside6().unwrap();
    assert!(inner.outside6().is_some_and(|address| address != base));
    let server = host.within(|| TcpListener::bind((base, 0)));
    let server = server.unwrap().unwrap();
    let address = server.local_addr().unwrap();
    let served = echo(server);
    let begin = Instant::now();
    let stream = inner.within(|| TcpStream::connect(address));
    said_back(stream.unwrap().unwrap());
    assert!(begin.elapsed() >= Duration::from_millis(100), "never early");
    assert!(served.join().unwrap().is_ipv6());
    let mut command = inner.command("sh").unwrap();
    let output = command.args(["-c", "echo $UNBLOAT_BASE6"]).output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    assert_eq!(text.trim(), inner.outside6().unwrap().to_string());
}

fn without_ipv6_a_shell_has_none_either() {
    let bed = Bed::new().unwrap();
    let host = outside(&bed, false);
    let shell = host.within(|| Shell::open(delayed(1), 1));
    assert_eq!(shell.unwrap().unwrap().outside6(), None);
}

fn what_is_beyond_is_reached_under_the_callers_address_if_that_is_asked_for() {
    let bed = Bed::new().unwrap();
    let host = outside(&bed, false);
    let beyond = bed.host("beyond").unwrap();
    host.veth("wan", &beyond, "lan").unwrap();
    for (end, device, address) in [
        (&host, "wan", "192.0.2.1/24"),
        (&beyond, "lan", "192.0.2.2/24"),
    ] {
        end.address(device, address.parse().unwrap()).unwrap();
    }
    let neighbour = bed.host("neighbour").unwrap();
    host.veth("near", &neighbour, "up").unwrap();
    for (end, device, address) in [
        (&host, "near", "198.51.100.1/24"),
        (&neighbour, "up", "198.51.100.2/24"),
    ] {
        end.address(device, address.parse().unwrap()).unwrap();
    }
    for (end, to, gateway) in [
        (&neighbour, "192.0.2.0/24", "198.51.100.1"),
        (&beyond, "198.51.100.0/24", "192.0.2.1"),
    ] {
        let gateway = Route::Gateway(gateway.parse().unwrap());
        end.route(to.parse().unwrap(), gateway).unwrap();
    }
    host.forward().unwrap();
    let options = ShellOptions {
        seed: 1,
        reaches_out: true,
        forwards_alone: true,
        ..ShellOptions::default()
    };
    let server = beyond.within(|| TcpListener::bind("192.0.2.2:0"));
    let server = server.unwrap().unwrap();
    let address = server.local_addr().unwrap();
    let is_forwarded = |patience| {
        let stream = neighbour.within(|| TcpStream::connect_timeout(&address, patience));
        stream.unwrap().is_ok()
    };
    assert!(is_forwarded(PATIENCE), "it is on the way");
    let outer = host.within(|| Shell::make(delayed(5), &options));
    let outer = outer.unwrap().unwrap();
    let inner = outer.within(|| Shell::open(delayed(5), 1));
    let inner = inner.unwrap().unwrap();
    for shell in [&outer, &inner] {
        let echoing = beyond.within(|| TcpListener::bind("192.0.2.2:0"));
        let echoing = echoing.unwrap().unwrap();
        let at = echoing.local_addr().unwrap();
        let served = echo(echoing);
        let stream = shell.within(|| TcpStream::connect_timeout(&at, PATIENCE));
        said_back(stream.unwrap().unwrap());
        assert_eq!(served.join().unwrap().ip().to_string(), "192.0.2.1");
    }
    // Nobody else has this host for a router because of a shell.
    assert!(!is_forwarded(Duration::from_millis(500)));
    // The name of the table is free again as soon as the shell is gone.
    drop((inner, outer));
    assert!(is_forwarded(PATIENCE), "as before");
    let again = host.within(|| Shell::make(delayed(5), &options));
    again.unwrap().unwrap();
}

unbloat_testkit::main! {
    root("an emulated path") => [
        the_outermost_network_is_reached_over_ipv6,
        without_ipv6_a_shell_has_none_either,
        what_is_beyond_is_reached_under_the_callers_address_if_that_is_asked_for,
        the_outermost_network_is_reached_through_every_shell_and_all_their_delays,
        commands_run_inside_and_know_where_the_caller_is,
    ],
}
