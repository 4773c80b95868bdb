//! Memory that the kernel refuses ends one call with [`Status::OutOfMemory`], and nothing else.
//!
//! By default Rust ends the process when an allocation fails, and PostgreSQL ends all sessions when a backend dies. The
//! contract of `handle_alloc_error` lets it unwind instead, which every collection of the standard library and every crate that
//! uses them has to bear; a hook makes it do so, and [`guard`](crate::error::guard) catches it. No allocation is left out,
//! since all of them report to that function, and none has to be foreseen. The hook is the one unstable feature that is used here.
//!
//! [`Status::OutOfMemory`]: crate::Status::OutOfMemory

use std::alloc::{GlobalAlloc, Layout, System, set_alloc_error_hook};
use std::cell::{Cell, UnsafeCell};
use std::mem::MaybeUninit;
use std::panic::resume_unwind;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// What a refused allocation unwinds with.
pub(crate) struct Refused;

/// Bytes of the allocation that was refused; 0 while none is.
static REFUSED: AtomicUsize = AtomicUsize::new(0);

/// Bytes for unwinding, which boxes an exception of less than 100 bytes.
const RESERVE: usize = 4096;

#[repr(align(64))]
struct Reserve {
    bytes: UnsafeCell<[MaybeUninit<u8>; RESERVE]>,
    used: AtomicUsize,
}

// SAFETY: each byte is given out once until `settle`, by an atomic count.
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

/// The C library's allocator, and a reserve for what happens after it has refused.
struct Allocator;

// SAFETY: memory comes from `System` or from the reserve, whose bytes are given out once; none goes back to the other.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as promised by the caller.
        let pointer = unsafe { System.alloc(layout) };
        if pointer.is_null() && REFUSED.load(Relaxed) > 0 { RESERVED.allocate(layout) } else { pointer }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as promised by the caller. The reserve is not asked: unwinding does not come here.
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

/// What unwinding counts by; a variable of the thread, as this one is.
const THREAD_LOCAL: Layout = Layout::new::<[u64; 512]>();

thread_local! {
    static TOUCHED: Cell<bool> = const { Cell::new(false) };
}

/// Makes refused memory unwind; `false` if there is no memory even for that.
pub(crate) fn prepare() -> bool {
    // The C library allocates a library's thread-local variables when the first is used, and ends the process if it cannot. So it
    // is asked for more than they take, and given it back, just before.
    // SAFETY: the size is not zero, and what was allocated is deallocated as it was.
    unsafe {
        let probe = System.alloc(THREAD_LOCAL);
        if probe.is_null() {
            return false;
        }
        // Else the optimizer may leave out an allocation that nobody looks at.
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

/// Bytes that were refused. To be called when unwinding has ended and what was unwound with is gone.
pub(crate) fn settle() -> usize {
    RESERVED.used.store(0, Relaxed);
    REFUSED.swap(0, Relaxed)
}
