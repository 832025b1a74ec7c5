//! How much of the heap a check takes at most, for laws that bound it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's heap, counted by thread.
struct Counted;

#[global_allocator]
static HEAP: Counted = Counted;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

/// A thread that ends may free when its counters are gone.
fn count(bytes: isize) {
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = MOST.try_with(|most| most.set(most.get().max(held.get())));
    });
}

// SAFETY: all is done by the system's heap, and counting allocates nothing.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(place, layout, size) }
    }
}

/// What comes of `work`, which must not hold more than `most` bytes at once on this thread.
pub(crate) fn within<T>(most: usize, work: impl FnOnce() -> T) -> T {
    let before = HELD.get();
    MOST.set(before);
    let done = work();
    let taken = MOST.get() - before;
    assert!(
        taken <= most as isize,
        "{taken} bytes of heap, {most} are allowed"
    );
    done
}
