//! Giving up root. Needs root.

use std::process::Command;
use unbloat_server::{Options, Server, become_user};

fn a_server_that_became_nobody_is_nobody_for_good_and_serves() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "nobody", "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{told}");
    let line = |name: &str| {
        let mut lines = told.lines();
        let found = lines.find_map(|line| line.strip_prefix(name));
        let words = found.unwrap_or_default().split_whitespace();
        words.map(str::to_owned).collect::<Vec<_>>()
    };
    let uids = line("Uid:");
    assert_eq!(uids.len(), 4, "{told}");
    assert!(uids.iter().all(|uid| uid != "0" && *uid == uids[0]));
    assert_eq!(line("Groups:").len(), 1);
    assert_eq!(line("CapEff:"), ["0000000000000000"]);
    assert_eq!(line("CapPrm:"), ["0000000000000000"]);
    assert_eq!(line("NoNewPrivs:"), ["1"]);
}

fn nobody() {
    let server = Server::bind(&Options::loopback()).unwrap();
    become_user("nobody").unwrap();
    assert!(become_user("root").is_err());
    println!(
        "\n{}",
        std::fs::read_to_string("/proc/thread-self/status").unwrap()
    );
    let at = server.addresses().plain.unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| server.run(&stop, || {}).unwrap());
        assert!(std::net::TcpStream::connect(at).is_ok());
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

unbloat_testkit::main! {
    root("becoming another user") => [
        a_server_that_became_nobody_is_nobody_for_good_and_serves,
    ],
    on_request() => [
        nobody,
    ],
}
