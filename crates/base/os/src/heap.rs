//! How much of the heap is in use, counted by the allocator. The resident size says something else: an allocator keeps what was freed.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// An allocator that counts from [`count`] on. Until then it costs a look at a flag.
pub struct Counted<A>(pub A);

static IS_COUNTING: AtomicBool = AtomicBool::new(false);

/// One for each of several threads, lest they wait for each other.
#[repr(align(128))]
struct Shard(AtomicI64);

static HELD: [Shard; 16] = [const { Shard(AtomicI64::new(0)) }; 16];

static GIVE_BACK: OnceLock<fn()> = OnceLock::new();

/// Counts from now on, for good. What was allocated before is not in it. `give_back` has the allocator return to the kernel what is free on the
/// calling thread.
pub fn count(give_back: fn()) {
    let _ = GIVE_BACK.set(give_back);
    IS_COUNTING.store(true, Ordering::Relaxed);
}

/// Returns to the kernel what the calling thread has allocated and nobody uses any more: an allocator keeps it for the thread.
pub fn give_back() {
    if let Some(give_back) = GIVE_BACK.get() {
        give_back();
    }
}

/// Bytes that are in use of those allocated since [`count`]; `None` if nobody counts them.
pub fn held() -> Option<u64> {
    let is_counting = IS_COUNTING.load(Ordering::Relaxed);
    let held = HELD.iter().map(|shard| shard.0.load(Ordering::Relaxed));
    // What was allocated before may have been freed since.
    let held = u64::try_from(held.sum::<i64>()).unwrap_or(0);
    (is_counting && held > 0).then_some(held)
}

fn add(bytes: i64) {
    if IS_COUNTING.load(Ordering::Relaxed) {
        // Stacks of threads lie megabytes apart.
        let shard = (&raw const bytes).addr() >> 21 & (HELD.len() - 1);
        HELD[shard].0.fetch_add(bytes, Ordering::Relaxed);
    }
}

// SAFETY: it hands everything to the other allocator as it is.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Counted<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as i64);
        // SAFETY: as the caller promises.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        add(-(layout.size() as i64));
        // SAFETY: as the caller promises.
        unsafe { self.0.dealloc(place, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as i64);
        // SAFETY: as the caller promises.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(size as i64 - layout.size() as i64);
        // SAFETY: as the caller promises.
        unsafe { self.0.realloc(place, layout, size) }
    }
}
