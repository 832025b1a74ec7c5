//! Congestion controls in the running kernel: needs root.

use socket2::{Domain, Socket, Type};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use unbloat_netns::Bed;
use unbloat_tcp_bpf::{Control, ControlError, Loaded, Provided, available, provide};

/// One test at a time: names that one gives up another would take.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn load(name: &str) -> Loaded {
    let control = Control::named(name).expect("it is ours");
    control.load().unwrap_or_else(|error| panic!("{error}"))
}

fn is_listed(name: &str) -> bool {
    let list = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    let list = list.expect("the kernel has TCP");
    list.split_whitespace().any(|listed| listed == name)
}

/// Whether the kernel still has the structure of that name, listed or not.
fn is_kept(name: &str) -> bool {
    let output = Command::new("bpftool").args(["map", "list"]).output();
    let output = output.expect("bpftool is installed (tools/install test)");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_whitespace().any(|word| word == name)
}

fn becomes(condition: impl Fn() -> bool) -> bool {
    let end = Instant::now() + Duration::from_secs(60);
    while !condition() {
        if Instant::now() > end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

fn socket() -> Socket {
    Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket can be opened")
}

fn control_of(socket: &Socket) -> String {
    let name = socket.tcp_congestion().expect("it is TCP");
    String::from_utf8_lossy(&name)
        .trim_end_matches('\0')
        .to_owned()
}

/// Both ends of a connection over loopback; the first sends by the control.
fn connection(control: &str) -> (TcpStream, TcpStream) {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address: SocketAddr = listener.local_addr().expect("it is bound");
    let sender = socket();
    sender
        .set_tcp_congestion(control.as_bytes())
        .expect("it is loaded");
    sender
        .connect(&address.into())
        .expect("there is a listener");
    assert_eq!(control_of(&sender), control);
    let (receiver, _) = listener.accept().expect("somebody connects");
    (sender.into(), receiver)
}

fn transfer((mut sender, mut receiver): (TcpStream, TcpStream)) {
    const BYTES: usize = 8_000_000;
    let sending = std::thread::spawn(move || sender.write_all(&vec![7; BYTES]));
    let mut received = Vec::new();
    receiver.read_to_end(&mut received).expect("it arrives");
    sending.join().expect("no panic").expect("it is sent");
    assert_eq!(received.len(), BYTES);
}

fn every_control_is_listed_carries_data_and_goes_when_dropped() {
    let _alone = alone();
    for control in Control::NAMES {
        let loaded = load(control);
        assert!(loaded.name().starts_with(&format!("ub_{control}")));
        assert!(is_listed(loaded.name()));
        transfer(connection(loaded.name()));
        let name = loaded.name().to_owned();
        drop(loaded);
        assert!(!is_listed(&name), "{name}");
    }
}

fn a_control_may_be_loaded_many_times_at_once() {
    let _alone = alone();
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(|| load("bic"))).collect();
    let loaded: Vec<Loaded> = threads.into_iter().map(|t| t.join().unwrap()).collect();
    let mut names: Vec<&str> = loaded.iter().map(Loaded::name).collect();
    assert!(names.iter().all(|name| is_listed(name)));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 4);
}

fn sockets_of_any_namespace_choose_it_and_a_namespace_may_default_to_it() {
    let _alone = alone();
    let loaded = load("highspeed");
    let name = loaded.name().to_owned();
    let bed = Bed::new().expect("root may make namespaces");
    let host = bed.host("sender").expect("a namespace can be made");
    host.within(|| {
        transfer(connection(&name));
        std::fs::write("/proc/sys/net/ipv4/tcp_congestion_control", &name)
            .expect("the control may be a namespace's default");
        assert_eq!(control_of(&socket()), name);
    })
    .expect("a thread can be there");
    assert_ne!(control_of(&socket()), name);
    // A default holds it, unlisted, for as long as the namespace lives.
    drop(loaded);
    assert!(!is_listed(&name) && is_kept(&name));
    host.within(|| assert_eq!(control_of(&socket()), name))
        .expect("a thread can be there");
    drop((host, bed));
    assert!(becomes(|| !is_kept(&name)));
}

fn a_socket_keeps_its_control_after_it_was_dropped() {
    let _alone = alone();
    let loaded = load("htcp");
    let name = loaded.name().to_owned();
    let ends = connection(&name);
    drop(loaded);
    assert!(!is_listed(&name) && is_kept(&name));
    transfer(ends);
    assert!(becomes(|| !is_kept(&name)));
}

/// Drops the privileges of one thread only, which the C library's calls would not do.
fn as_nobody<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::spawn(move || {
        const NOBODY: libc::c_long = 65_534;
        // SAFETY: the call takes three numbers.
        let failed = unsafe { libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) };
        assert_eq!(failed, 0);
        run()
    });
    thread.join().expect("no panic")
}

fn an_ordinary_user_may_choose_but_not_load() {
    let _alone = alone();
    let loaded = load("vegas");
    let name = loaded.name().to_owned();
    let error = as_nobody(move || {
        transfer(connection(&name));
        Control::named("vegas")
            .expect("it is ours")
            .load()
            .unwrap_err()
    });
    assert!(matches!(error, ControlError::Privilege), "{error}");
    assert!(error.to_string().contains("needs root"), "{error}");
}

fn what_the_kernel_has_is_not_loaded() {
    let _alone = alone();
    for name in available().expect("the kernel has TCP") {
        let provided = provide(&name).unwrap_or_else(|error| panic!("{error}"));
        let chosen = socket();
        chosen
            .set_tcp_congestion(provided.name().as_bytes())
            .expect("it is provided");
        let is_own = !provided.name().starts_with("ub_");
        assert_eq!(matches!(provided, Provided::Own(_)), is_own);
    }
}

const HOLD: &str = "UNBLOAT_TEST_HOLD";

fn nothing_is_left_of_a_process_that_was_killed() {
    let _alone = alone();
    for _ in 0..5 {
        let mut child = Command::new(std::env::current_exe().expect("it runs"))
            .args([
                "--exact",
                "holds_a_control_until_killed",
                "--ignored",
                "--nocapture",
            ])
            .env(HOLD, "westwood")
            .stdout(Stdio::piped())
            .spawn()
            .expect("it can run twice");
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let mut said = lines.map_while(Result::ok);
        let name = said.find_map(|line| line.strip_prefix("holding ").map(str::to_owned));
        let name = name.expect("the child loads it");
        assert!(is_listed(&name) && is_kept(&name));
        child.kill().expect("it is ours");
        child.wait().expect("it is ours");
        assert!(becomes(|| !is_listed(&name) && !is_kept(&name)));
    }
}

fn holds_a_control_until_killed() {
    let Ok(control) = std::env::var(HOLD) else {
        return;
    };
    let loaded = load(&control);
    let _ends = connection(loaded.name());
    println!("\nholding {}", loaded.name());
    std::thread::sleep(Duration::from_secs(60));
}

unbloat_testkit::main! {
    root("loading congestion controls") => [
        every_control_is_listed_carries_data_and_goes_when_dropped,
        a_control_may_be_loaded_many_times_at_once,
        sockets_of_any_namespace_choose_it_and_a_namespace_may_default_to_it,
        a_socket_keeps_its_control_after_it_was_dropped,
        an_ordinary_user_may_choose_but_not_load,
        what_the_kernel_has_is_not_loaded,
        nothing_is_left_of_a_process_that_was_killed,
    ],
    on_request() => [
        holds_a_control_until_killed,
    ],
}
