//! Shells between networks of this kernel. Needs root.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};
use unbloat_experiment::scenario::BothWays;
use unbloat_lab::Shell;
use unbloat_link::Config;
use unbloat_link::element::delay;
use unbloat_units::{Both, Delta};

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

unbloat_testkit::main! {
    root("an emulated path") => [
        the_outermost_network_is_reached_through_every_shell_and_all_their_delays,
        commands_run_inside_and_know_where_the_caller_is,
    ],
}
