//! The limit on this process's memory, enforced by the kernel: allocations beyond it fail.
//!
//! The engine's own limit does not include the items of one list, the text of one value, or the plan of a statement.
//!
//! The limit is for the engine, whose failed allocations are errors of a statement. Rust and the C library end a
//! process that has no memory. So what the server itself allocates may exceed the limit ([`OwnMemory`]); it is bounded
//! by each session's budget. So may the thread-local variables of a session's thread ([`allocate_thread_locals`]).

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::sync::{Mutex, PoisonError};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The present limit in bytes; `None` if there is no limit.
static LIMIT: Mutex<Option<u64>> = Mutex::new(None);

/// The memory of a session besides its stack: batches in transfer, messages, and values that the server keeps.
const SESSION_BUFFER_BYTES: u64 = 48 << 20;

/// The reserve for work that must not fail for lack of memory, such as the end of a transaction.
const RESERVE_BYTES: u64 = 32 << 20;
/// The session that uses the reserve holds this lock.
static RESERVE_LOCK: Mutex<()> = Mutex::new(());

/// Limits the memory of this process to this number of bytes, plus a share for each session. As for RLIMIT_DATA, memory
/// that is reserved and never touched counts.
pub fn limit_memory(bytes: u64) {
    *LIMIT.lock().unwrap_or_else(PoisonError::into_inner) = Some(bytes);
    change_limit(|limit| limit);
}

/// A session's share of the limit. Dropping it lowers the limit again.
pub(crate) struct MemoryShare(u64);

impl MemoryShare {
    /// The share of a session whose thread has a stack of this number of bytes.
    pub fn new(stack: usize) -> Self {
        let bytes = stack as u64 + SESSION_BUFFER_BYTES;
        change_limit(|limit| limit + bytes);
        Self(bytes)
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        change_limit(|limit| limit.saturating_sub(self.0));
    }
}

/// Does work with the reserve added to the limit, one session at a time. Other sessions may allocate from the reserve
/// at the same time, so the work may still fail.
pub(crate) fn with_reserve<T>(work: impl FnOnce() -> T) -> T {
    let _one = RESERVE_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    change_limit(|limit| limit + RESERVE_BYTES);
    let _room = MemoryShare(RESERVE_BYTES);
    work()
}

fn change_limit(to: impl FnOnce(u64) -> u64) {
    let mut limit = LIMIT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(limit) = &mut *limit {
        *limit = to(*limit);
        let maximum = getrlimit(Resource::Data).maximum;
        // It fails above the hard limit of the process. Then the present limit stays.
        let _ = setrlimit(Resource::Data, Rlimit { current: Some(*limit), maximum });
    }
}

/// The most bytes of one allocation beyond the limit: what a session may have besides its stack.
const MAX_BEYOND: usize = SESSION_BUFFER_BYTES as usize;

/// Allocates memory even if the limit is reached. Memory that the process has counts for later allocations only, so it
/// is enough that the limit is raised for this moment. `allocate` must not use the allocator of Rust.
fn beyond_limit<T>(allocate: impl FnOnce() -> T) -> T {
    let limit = LIMIT.lock().unwrap_or_else(PoisonError::into_inner);
    if limit.is_none() {
        // A limit that others have set is theirs.
        return allocate();
    }
    let Rlimit { current, maximum } = getrlimit(Resource::Data);
    let _ = setrlimit(Resource::Data, Rlimit { current: maximum, maximum });
    let allocated = allocate();
    let _ = setrlimit(Resource::Data, Rlimit { current, maximum });
    allocated
}

/// The allocator of the server's own code.
#[derive(Debug)]
pub struct OwnMemory;

#[allow(unsafe_code, reason = "an allocator has no safe interface")]
// SAFETY: all memory comes from `System` and returns to it.
unsafe impl GlobalAlloc for OwnMemory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that `System` needs.
        allocated(layout.size(), || unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        allocated(layout.size(), || unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above. Where it fails, the memory at `pointer` is unchanged.
        allocated(size, || unsafe { System.realloc(pointer, layout, size) })
    }
}

fn allocated(size: usize, allocate: impl Fn() -> *mut u8) -> *mut u8 {
    match allocate() {
        failed if failed.is_null() && size <= MAX_BEYOND => beyond_limit(allocate),
        result => result,
    }
}

/// Allocates the thread-local variables of all libraries for this thread. The C library does so at their first use
/// otherwise, and ends the process if that fails.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#[allow(unsafe_code, reason = "the C library's list of libraries")]
pub(crate) fn allocate_thread_locals() {
    /// A place in the thread-local variables of a library, as compilers name it to the C library (ELF Handling for
    /// Thread-Local Storage).
    #[repr(C)]
    struct TlsIndex {
        library: usize,
        offset: usize,
    }

    unsafe extern "C" {
        fn __tls_get_addr(index: *const TlsIndex) -> *mut c_void;
    }

    unsafe extern "C" fn note(library: *mut libc::dl_phdr_info, _: libc::size_t, found: *mut c_void) -> c_int {
        // SAFETY: the C library passes a library that is valid during the call, and the caller's vector.
        let (library, found) = unsafe { ((*library).dlpi_tls_modid, &mut *found.cast::<Vec<usize>>()) };
        found.extend((library != 0).then_some(library));
        0
    }

    let mut libraries: Vec<usize> = Vec::new();
    // SAFETY: the callback has the type that the C library calls, and does not unwind.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut libraries).cast()) };
    // Not within the callback, where the C library holds a lock that a thread which loads a library takes second.
    beyond_limit(|| {
        for library in libraries {
            // SAFETY: the library is still loaded, because this process unloads none, and it has thread-local
            // variables.
            black_box(unsafe { __tls_get_addr(&raw const *black_box(&TlsIndex { library, offset: 0 })) });
        }
    });
}

/// Other systems' C libraries allocate them in other ways.
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub(crate) fn allocate_thread_locals() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_raise_the_limit_until_they_end() {
        let current = || getrlimit(Resource::Data).current;
        let before = current();
        drop(MemoryShare::new(1));
        assert_eq!(current(), before);
        limit_memory(1 << 50);
        let share = MemoryShare::new(1 << 20);
        assert_eq!(current(), Some((1 << 50) + (1 << 20) + SESSION_BUFFER_BYTES));
        drop(share);
        assert_eq!(with_reserve(current), Some((1 << 50) + RESERVE_BYTES));
        assert_eq!(current(), Some(1 << 50));
    }

    #[test]
    #[allow(unsafe_code, reason = "an allocator has no safe interface")]
    fn memory_beyond_the_limit_stays() {
        // This test changes no limit, because other tests run concurrently.
        let layout = Layout::new::<[u64; 4096]>();
        // SAFETY: the layout has a size, and the memory is freed as it was allocated.
        unsafe {
            let bytes = beyond_limit(|| System.alloc(layout));
            bytes.write_bytes(7, layout.size());
            let larger = OwnMemory.realloc(bytes, layout, 2 * layout.size());
            assert!((0..layout.size()).all(|at| larger.add(at).read() == 7));
            OwnMemory.dealloc(larger, Layout::new::<[u64; 8192]>());
        }
    }

    #[test]
    fn thread_locals_can_be_allocated_again() {
        std::thread::spawn(allocate_thread_locals).join().unwrap();
        allocate_thread_locals();
    }
}
