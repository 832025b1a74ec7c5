//! Tasks on several threads.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Does the tasks 0 to `count` - 1, begun in this order, until `stop`. Returns what they gave, by number; a task may give nothing if it was
/// stopped.
///
/// # Errors
/// The error of the first task that fails, which ends all.
pub fn all_of<T: Send, E: Send>(
    count: usize,
    threads: usize,
    stop: &AtomicBool,
    task: impl Fn(usize) -> Result<Option<T>, E> + Sync,
) -> Result<BTreeMap<usize, T>, E> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(BTreeMap::new());
    let failed = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(count) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count || stop.load(Ordering::Relaxed) {
                        return;
                    }
                    match task(number) {
                        Ok(Some(gave)) => drop(lock(&done).insert(number, gave)),
                        Ok(None) => {}
                        Err(error) => {
                            lock(&failed).get_or_insert(error);
                            next.store(count, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    match failed.into_inner().expect("all tasks have ended") {
        Some(error) => Err(error),
        None => Ok(done.into_inner().expect("all tasks have ended")),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().expect("no task panics with the lock held")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_give_by_number_and_a_failure_ends_all() {
        let stop = AtomicBool::new(false);
        let squares = all_of(5, 2, &stop, |n| Ok::<_, ()>((n != 3).then_some(n * n)));
        assert_eq!(
            squares,
            Ok(BTreeMap::from([(0, 0), (1, 1), (2, 4), (4, 16)]))
        );
        let begun = AtomicUsize::new(0);
        let failed = all_of(100, 1, &stop, |n| {
            begun.fetch_add(1, Ordering::Relaxed);
            match n {
                3 => Err("three"),
                _ => Ok(Some(n)),
            }
        });
        assert_eq!(failed, Err("three"));
        assert_eq!(begun.into_inner(), 4);
        let stopped = all_of(9, 2, &AtomicBool::new(true), |n| Ok::<_, ()>(Some(n)));
        assert_eq!(stopped, Ok(BTreeMap::new()));
    }
}
