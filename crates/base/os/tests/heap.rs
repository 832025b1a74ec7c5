//! Alone in its process, because it counts what the process allocates.

use std::alloc::System;
use unbloat_os::heap::{Counted, count, held};

#[global_allocator]
static ALLOCATOR: Counted<System> = Counted(System);

#[test]
fn what_is_in_use_is_counted_from_when_it_is_asked_for() {
    const MANY: usize = 16 << 20;
    let before = vec![1_u8; MANY];
    assert_eq!(held(), None, "nobody has asked");
    count(|| ());
    let mut all: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| vec![1; MANY])).collect();
        threads.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let of = |parts: u64| {
        let held = held().expect("it is counted");
        let expected = parts * MANY as u64;
        assert!(held.abs_diff(expected) < 1 << 20, "{held} of {expected}");
    };
    of(4);
    all[0].reserve_exact(2 * MANY);
    of(6);
    // By another thread than the one that made them.
    all.truncate(1);
    of(3);
    drop(all);
    drop(before);
    assert_eq!(held(), None, "more was freed than allocated");
}
