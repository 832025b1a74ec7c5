//! Laws of a guest over the host's files. This executable is the guest's first process as well as the host's
//! test, so it has a `main` of its own.

use std::fs;
use std::process::{Command, ExitCode};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use unbloat_uml::{Finished, Folders, Guest, GuestError, Kernel, over_host};

fn main() -> ExitCode {
    over_host(inside);
    unbloat_testkit::run! {
        kernel() => [
            commands_of_the_host_run,
            the_hosts_files_cannot_be_changed,
            a_quiet_day_is_soon_over,
            the_same_seed_gives_the_same_random_numbers,
            what_hangs_is_killed_at_its_limit,
            what_is_stopped_ends,
        ],
    }
}

/// What the guest is to do, from the input.
fn inside(folders: &Folders) -> Result<(), String> {
    let job = fs::read_to_string(folders.input.join("job")).map_err(|e| e.to_string())?;
    let (what, rest) = job.split_once(' ').unwrap_or((&job, ""));
    match what {
        "sh" => {
            folders.empty_temporary()?;
            let output = Command::new("/bin/sh")
                .args(["-c", rest])
                .env("OUT", &folders.output)
                .output();
            let output = output.map_err(|e| e.to_string())?;
            let text = [output.stdout, output.stderr].concat();
            fs::write(folders.output.join("said"), text).map_err(|e| e.to_string())
        }
        "spin" => loop {
            std::hint::spin_loop();
        },
        "sleep" => {
            std::thread::sleep(Duration::from_secs(rest.parse().map_err(|_| "no number")?));
            Ok(())
        }
        "fail" => Err(rest.to_owned()),
        "panic" => {
            let thread = std::thread::spawn(|| panic!("out of sheep"));
            thread.join().map_err(|_| "a thread panicked".to_owned())
        }
        _ => Err(format!("no such job: {what}")),
    }
}

fn run(guest: Guest, job: &str) -> Result<Finished, GuestError> {
    let own = std::env::current_exe().unwrap();
    guest.run_over_host(
        &own,
        &[("job", job.as_bytes())],
        &AtomicBool::new(false),
        &|_| {},
    )
}

fn guest() -> Guest {
    Guest::new(Kernel::ensure().unwrap()).limit(Duration::from_secs(60))
}

/// What a shell in the guest prints.
fn said(guest: Guest, script: &str) -> String {
    let finished = run(guest, &format!("sh {script}")).unwrap();
    fs::read_to_string(finished.output().join("said")).unwrap()
}

fn commands_of_the_host_run() {
    let script = "cat /proc/sys/kernel/ostype; ls /dev/net/tun; touch /tmp/a /run/b && ls /tmp";
    assert_eq!(said(guest(), script), "Linux\n/dev/net/tun\na\n");
    let error = run(guest(), "fail no luck").unwrap_err();
    assert!(
        matches!(&error, GuestError::Inside { message } if message == "no luck"),
        "{error}"
    );
    let panicked = run(guest(), "panic").unwrap_err().to_string();
    let is_told = |words| panicked.contains(words);
    assert!(
        is_told("out of sheep") && is_told("tests/over_host.rs:"),
        "{panicked}"
    );
}

fn the_hosts_files_cannot_be_changed() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let victim = folder.path().join("victim");
    fs::write(&victim, "whole").unwrap();
    // Root of the guest may mount anew what was mounted read-only.
    let script = format!(
        "mount -o remount,rw / && echo remounted; echo broken > {0}; rm {0}; touch {0}2; mkdir {0}3; mv {0} {0}4; echo fine > $OUT/fine",
        victim.display()
    );
    let finished = run(guest(), &format!("sh {script}")).unwrap();
    let text = fs::read_to_string(finished.output().join("said")).unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "whole", "{text}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{text}");
    assert_eq!(
        fs::read_to_string(finished.output().join("fine")).unwrap(),
        "fine\n",
        "{text}"
    );
}

fn a_quiet_day_is_soon_over() {
    let begin = Instant::now();
    run(guest(), "sleep 86400").unwrap();
    assert!(
        begin.elapsed() < Duration::from_secs(20),
        "{:?}",
        begin.elapsed()
    );
}

fn the_same_seed_gives_the_same_random_numbers() {
    let draw = |seed| said(guest().seed(seed), "od -An -tx8 -N32 /dev/urandom");
    let first = draw(1);
    assert_eq!(first, draw(1));
    assert_ne!(first, draw(2));
}

fn what_hangs_is_killed_at_its_limit() {
    let begin = Instant::now();
    let error = run(guest().limit(Duration::from_millis(800)), "spin").unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("did not exit within 800ms") && message.contains("busy-waiting"),
        "{message}"
    );
    assert!(begin.elapsed() < Duration::from_secs(5));
}

fn what_is_stopped_ends() {
    let own = std::env::current_exe().unwrap();
    let stop = AtomicBool::new(true);
    let error = guest()
        .run_over_host(&own, &[("job", b"spin")], &stop, &|_| {})
        .unwrap_err();
    assert!(matches!(error, GuestError::Stopped), "{error}");
}
