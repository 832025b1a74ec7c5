//! A bound of memory. Alone in its process, because it counts what the process allocates.

mod common;

use common::Running;
use std::alloc::System;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use unbloat_os::heap::{Counted, count};
use unbloat_os::lock::lock;
use unbloat_server::{Limits, Options};
use unbloat_units::Bytes;

#[global_allocator]
static ALLOCATOR: Counted<System> = Counted(System);

const LIMIT: Bytes = Bytes::mib(64);

static GAVE_BACK: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

fn give_back() {
    let name = format!("{:?}", std::thread::current().id());
    lock(&GAVE_BACK).insert(name);
}

/// How long until the server answers so, asked over and over.
fn until_it_says(server: &Running, status: u16) -> Duration {
    let begun = Instant::now();
    while server.ask("GET", "/small").status != status {
        assert!(begun.elapsed() < Duration::from_secs(20), "never {status}");
        std::thread::sleep(Duration::from_millis(20));
    }
    begun.elapsed()
}

#[test]
fn who_comes_after_memory_was_full_is_served() {
    let size = 2 * usize::try_from(LIMIT.as_u64()).expect("64 MiB");
    // As an allocator keeps what connections had: resident, and nobody's.
    let kept = vec![1_u8; size];
    count(give_back);
    let threads = 2;
    let server = Running::new(&Options {
        threads,
        limits: Limits {
            memory: LIMIT,
            ..Limits::default()
        },
        ..Options::loopback()
    });
    // The server looks once a second.
    std::thread::sleep(Duration::from_millis(1_500));
    assert_eq!(server.ask("GET", "/small").status, 200);
    let used = vec![1_u8; size];
    until_it_says(&server, 503);
    drop(used);
    let emptied = until_it_says(&server, 200);
    assert!(emptied < Duration::from_secs(5), "{emptied:?}");
    drop(kept);
    // Once nobody is here any more, every thread that had guests gives back what they had; on a busy machine one of them may be late for once.
    for _ in 0..20 {
        assert_eq!(server.ask("GET", "/small").status, 200);
        std::thread::sleep(Duration::from_millis(1_500));
        if lock(&GAVE_BACK).len() > threads {
            return;
        }
    }
    panic!("they keep it");
}
