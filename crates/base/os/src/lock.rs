//! Mutexes whose values are whole at every moment, so that a panic of another thread does no harm to them.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, also after a thread that held the lock panicked.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_leaves_the_value() {
        let mutex = Mutex::new(1);
        let panicked = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                *lock(&mutex) = 2;
                let _held = lock(&mutex);
                panic!("on purpose");
            });
            thread.join()
        });
        assert!(panicked.is_err() && mutex.is_poisoned());
        assert_eq!(*lock(&mutex), 2);
    }
}
