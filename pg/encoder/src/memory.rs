//! A failed allocation ends one call with [`Status::OutOfMemory`], and has no other effect.
//!
//! By default Rust ends the process when an allocation fails, and PostgreSQL ends all sessions when a backend dies. The
//! contract of `handle_alloc_error` also allows unwinding, so every collection of the standard library, and every crate
//! that uses them, must support it. A hook makes it unwind, and [`guard`](crate::error::guard) catches it. This covers
//! every allocation, because all of them report to that function, and no size has to be estimated beforehand. The hook
//! is the only unstable feature that is used here.
//!
//! [`Status::OutOfMemory`]: crate::Status::OutOfMemory

use std::alloc::{GlobalAlloc, Layout, System, set_alloc_error_hook};
use std::cell::{Cell, UnsafeCell};
use std::mem::MaybeUninit;
use std::panic::resume_unwind;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The payload with which a failed allocation unwinds.
pub(crate) struct Refused;

/// Bytes of the failed allocation; 0 if there is none.
static REFUSED: AtomicUsize = AtomicUsize::new(0);

/// Bytes for unwinding, which allocates an exception of less than 100 bytes.
const RESERVE: usize = 4096;

#[repr(align(64))]
struct Reserve {
    bytes: UnsafeCell<[MaybeUninit<u8>; RESERVE]>,
    used: AtomicUsize,
}

// SAFETY: an atomic counter ensures that each byte is returned only once until `take_refused`.
unsafe impl Sync for Reserve {}

static RESERVED: Reserve =
    Reserve { bytes: UnsafeCell::new([MaybeUninit::uninit(); RESERVE]), used: AtomicUsize::new(0) };

impl Reserve {
    fn allocate(&self, layout: Layout) -> *mut u8 {
        let size = layout.size().next_multiple_of(64);
        if layout.align() > 64 || size > RESERVE {
            return null_mut();
        }
        let start = self.used.fetch_add(size, Relaxed);
        if start > RESERVE - size {
            return null_mut();
        }
        self.bytes.get().cast::<u8>().wrapping_add(start)
    }

    fn contains(&self, pointer: *mut u8) -> bool {
        (pointer as usize).wrapping_sub(self.bytes.get() as usize) < RESERVE
    }
}

/// The C library's allocator, with a reserve for allocations after a failure.
struct Allocator;

// SAFETY: memory comes from `System` or from the reserve, whose bytes are returned only once. Memory of one is never
// freed to the other.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as promised by the caller.
        let pointer = unsafe { System.alloc(layout) };
        if pointer.is_null() && REFUSED.load(Relaxed) > 0 { RESERVED.allocate(layout) } else { pointer }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as promised by the caller. The reserve is not used, because unwinding does not call this function.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if !RESERVED.contains(pointer) {
            // SAFETY: it comes from `System`.
            unsafe { System.dealloc(pointer, layout) }
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if RESERVED.contains(pointer) {
            return null_mut();
        }
        // SAFETY: it comes from `System`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// More than the size of the thread-local variables that unwinding uses.
const THREAD_LOCAL: Layout = Layout::new::<[u64; 512]>();

thread_local! {
    static TOUCHED: Cell<bool> = const { Cell::new(false) };
}

/// Makes failed allocations unwind. `false` if there is no memory even for that.
pub(crate) fn prepare() -> bool {
    // The C library allocates a library's thread-local variables at their first use, and ends the process if that
    // fails. So more than their size is allocated and freed directly before. SAFETY: the size is not zero, and the
    // memory is deallocated as it was allocated.
    unsafe {
        let probe = System.alloc(THREAD_LOCAL);
        if probe.is_null() {
            return false;
        }
        // Otherwise the optimizer may remove an allocation that is not used.
        System.dealloc(std::hint::black_box(probe), THREAD_LOCAL);
    }
    TOUCHED.set(true);
    set_alloc_error_hook(refused);
    true
}

fn refused(layout: Layout) {
    REFUSED.store(layout.size().max(1), Relaxed);
    // Not `panic!`, which would write to the server's log, and allocate.
    resume_unwind(Box::new(Refused));
}

/// Bytes of the failed allocation. Must be called after unwinding, when its payload is dropped.
pub(crate) fn take_refused() -> usize {
    RESERVED.used.store(0, Relaxed);
    REFUSED.swap(0, Relaxed)
}
