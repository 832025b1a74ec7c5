//! `unbloat drwa` killed at any moment: nothing of it stays, nobody's traffic ends. Needs root.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use unbloat_testkit::until;

/// Killed so often, or as often as `UNBLOAT_KILLS` says.
const KILLS: u64 = 20;

fn unbloat() -> Command {
    Command::new(env!("CARGO_BIN_EXE_unbloat"))
}

/// Groups that commands made for themselves.
fn groups() -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let mounts = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ');
        let path = fields.nth(1)?;
        (fields.next()? == "cgroup2").then(|| PathBuf::from(path))
    });
    let entries = mounts.flat_map(|root| fs::read_dir(root).unwrap().flatten());
    let named = entries.filter(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().starts_with("unbloat-drwa-")
    });
    named.map(|entry| entry.path()).collect()
}

fn of(pid: u32) -> Vec<PathBuf> {
    let mark = format!("unbloat-drwa-{pid}-");
    let mut all = groups();
    all.retain(|path| {
        path.file_name()
            .unwrap()
            .to_string_lossy()
            .starts_with(&mark)
    });
    all
}

fn programs() -> usize {
    let listed = Command::new("bpftool").args(["prog", "list"]).output();
    listed.map_or(0, |listed| {
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        text.matches("sock_ops  name hold").count()
    })
}

/// A command that is fed from a socket, held in its group: it says what it has read at the end.
fn held(port: u16) -> Child {
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port}; wc -c <&3");
    let mut command = unbloat();
    command.args(["drwa", "--max-window", "20 kB", "--", "bash", "-c", &script]);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().unwrap()
}

fn a_kill_at_any_moment_leaves_nothing_and_cuts_nothing() {
    let before = programs();
    let kills = std::env::var("UNBLOAT_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let mut killed = Vec::new();
    for kill in 0..kills {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let mut child = held(listener.local_addr().unwrap().port());
        killed.push(child.id());
        // From before the group is made until long after the command is connected, in an order without order.
        std::thread::sleep(Duration::from_millis(kill * 97 % 300));
        child.kill().unwrap();
        child.wait().unwrap();
        if let Ok((stream, _)) = listener.accept() {
            stream.set_nonblocking(false).unwrap();
            let out = child.stdout.take().unwrap();
            assert_eq!(counted(stream, out), 500_000, "kill {kill}");
        }
    }
    // What was killed between making the group and its guard is removed by the next start.
    let next = unbloat().args(["drwa", "--", "true"]).output().unwrap();
    assert!(next.status.success(), "{next:?}");
    until("groups stay", || {
        killed.iter().all(|pid| of(*pid).is_empty())
    });
    until("programs stay", || programs() <= before);
}

/// What the command reads of half a million bytes.
fn counted(mut stream: TcpStream, mut out: impl Read) -> u64 {
    stream.write_all(&vec![0; 500_000]).unwrap();
    drop(stream);
    let mut text = String::new();
    out.read_to_string(&mut text).unwrap();
    text.trim().parse().unwrap()
}

/// What the sender may have under way (`tcpi_snd_wnd`).
fn offered(stream: &TcpStream) -> u32 {
    const SND_WND: usize = 228;
    let mut info = [0u8; 256];
    let mut len = info.len() as u32;
    // SAFETY: the room has that size.
    let got = unsafe {
        let to = info.as_mut_ptr().cast();
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            to,
            &raw mut len,
        )
    };
    assert!(
        got == 0 && len as usize >= SND_WND + 4,
        "this kernel tells of no windows"
    );
    u32::from_ne_bytes(info[SND_WND..SND_WND + 4].try_into().unwrap())
}

/// The clamp is the socket's, and would stay.
fn a_killed_owner_leaves_no_window_small() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut child = held(listener.local_addr().unwrap().port());
    let (stream, _) = listener.accept().unwrap();
    stream.set_nonblocking(true).unwrap();
    until("the window is not held", || {
        while (&stream).write(&[0; 4_096]).is_ok() {}
        // Whole units of a window scale that may be large here.
        (1..=32_768).contains(&offered(&stream))
    });
    child.kill().unwrap();
    child.wait().unwrap();
    until("the window stays small", || {
        while (&stream).write(&[0; 4_096]).is_ok() {}
        offered(&stream) > 65_535
    });
}

fn the_command_ends_as_what_it_ran_and_a_second_owner_of_a_group_is_refused() {
    let ended = unbloat()
        .args(["drwa", "--", "sh", "-c", "exit 7"])
        .output()
        .unwrap();
    assert_eq!(ended.status.code(), Some(7), "{ended:?}");
    let mut first = unbloat();
    first.args([
        "drwa",
        "--json",
        "--interval",
        "100 ms",
        "--",
        "sleep",
        "90",
    ]);
    let mut first = first.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = [0; 12];
    // It ends when nobody reads it.
    let mut out = first.stdout.take().unwrap();
    out.read_exact(&mut line).unwrap();
    assert_eq!(&line, b"{\"flows\":[]}");
    let group = of(first.id()).pop().unwrap();
    let name = group.file_name().unwrap().to_str().unwrap().to_owned();
    let second = unbloat()
        .args(["drwa", "--cgroup", &name])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(1), "{told}");
    assert!(
        told.contains("already controls the receive windows"),
        "{told}"
    );
    first.kill().unwrap();
    first.wait().unwrap();
    until("the group stays", || !group.exists());
}

unbloat_testkit::main! {
    root("holding windows") => [
        a_kill_at_any_moment_leaves_nothing_and_cuts_nothing,
        a_killed_owner_leaves_no_window_small,
        the_command_ends_as_what_it_ran_and_a_second_owner_of_a_group_is_refused,
    ],
}
