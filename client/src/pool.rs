//! Reusable buffers for whole messages.
//!
//! Writing to fresh memory costs a page fault every 4 KiB, which takes longer than copying the 4 KiB from the socket.
//! A buffer returns to the pool when the last [`Bytes`] over it is dropped. For an encoded chunk, this is right after
//! decoding. For a plain chunk it is much later, because its buffer is the memory of the columns.
//!
//! The memory is the system allocator's (`docs/decisions/0016-system-allocator.md`).

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

/// Alignment of a buffer: a message's body starts 64 bytes into it, and Arrow recommends 64 (FORMAT §3).
pub const ALIGNMENT: usize = 64;

/// Capacities are multiples of this, so that chunks of nearly the same size can share buffers.
const GRAIN: usize = 4096;
/// The bytes that one pool keeps for reuse.
const IDLE_BYTES: usize = 32 << 20;

/// Recycled buffers of one connection.
#[derive(Clone, Debug, Default)]
pub struct Pool(Arc<Mutex<Idle>>);

#[derive(Debug, Default)]
struct Idle {
    memory: Vec<Memory>,
    bytes: usize,
}

impl Pool {
    /// A buffer for `len` bytes, or `None` if the system has no memory left.
    pub fn take(&self, len: usize) -> Option<Buffer> {
        let memory = self.idle(|idle| idle.take(len)).or_else(|| Memory::allocate(len))?;
        Some(Buffer { memory: Some(memory), len, filled: 0, pool: self.clone() })
    }

    /// Bytes that wait to be used again.
    pub fn idle_bytes(&self) -> usize {
        self.idle(|idle| idle.bytes)
    }

    fn idle<T>(&self, work: impl FnOnce(&mut Idle) -> T) -> T {
        // No panic in the critical sections leaves the list inconsistent.
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Idle {
    /// The smallest buffer for `len` bytes that wastes less than an eighth, because a plain chunk keeps it.
    fn take(&mut self, len: usize) -> Option<Memory> {
        let fits = |memory: &Memory| memory.capacity() >= len && memory.capacity() <= (len + len / 8).max(GRAIN);
        let (index, _) = self.memory.iter().enumerate().filter(|(_, m)| fits(m)).min_by_key(|(_, m)| m.capacity())?;
        let memory = self.memory.swap_remove(index);
        self.bytes -= memory.capacity();
        Some(memory)
    }

    fn put(&mut self, memory: Memory) {
        if memory.capacity() > IDLE_BYTES {
            return;
        }
        self.bytes += memory.capacity();
        self.memory.push(memory);
        while self.bytes > IDLE_BYTES {
            // The oldest buffer has the least likely size.
            self.bytes -= self.memory.remove(0).capacity();
        }
    }
}

/// A buffer that is being filled.
#[derive(Debug)]
pub struct Buffer {
    memory: Option<Memory>,
    len: usize,
    filled: usize,
    pool: Pool,
}

impl Buffer {
    /// The address for the next bytes, and how many may be written there.
    pub(crate) fn unfilled(&mut self) -> (*mut u8, usize) {
        let start = self.memory.as_ref().map_or(std::ptr::null_mut(), Memory::start);
        // SAFETY: filled <= len <= capacity, so the result is inside the allocation or at its end.
        (unsafe { start.add(self.filled) }, self.len - self.filled)
    }

    /// Counts bytes as written.
    ///
    /// # Safety
    /// The first `count` bytes at the address of [`Buffer::unfilled`] have been written, and no more than it allowed.
    pub(crate) unsafe fn fill(&mut self, count: usize) {
        debug_assert!(count <= self.len - self.filled);
        self.filled += count;
    }

    /// Copies as many of `bytes` as there is room for; returns how many.
    pub fn extend(&mut self, bytes: &[u8]) -> usize {
        let (to, room) = self.unfilled();
        let count = bytes.len().min(room);
        // SAFETY: `to` has room for `room` bytes, and a fresh buffer cannot overlap `bytes`.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, count);
            self.fill(count);
        }
        count
    }

    /// Bytes still to come.
    pub fn missing(&self) -> usize {
        self.len - self.filled
    }

    /// The filled part, as reference-counted bytes. The buffer returns to its pool with the last reference.
    pub fn freeze(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        match &self.memory {
            // SAFETY: the first `filled` bytes are initialised, and nobody writes to them any more.
            Some(memory) => unsafe { std::slice::from_raw_parts(memory.start(), self.filled) },
            None => &[],
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            self.pool.idle(|idle| idle.put(memory));
        }
    }
}

/// One aligned allocation, not initialised.
#[derive(Debug)]
struct Memory {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it owns its allocation as a Vec does.
unsafe impl Send for Memory {}
// SAFETY: shared access only reads.
unsafe impl Sync for Memory {}

impl Memory {
    fn allocate(len: usize) -> Option<Self> {
        let capacity = len.max(1).checked_next_multiple_of(GRAIN)?;
        let layout = Layout::from_size_align(capacity, ALIGNMENT).ok()?;
        // SAFETY: the layout's size is not zero.
        let start = NonNull::new(unsafe { alloc(layout) })?;
        Some(Self { start, layout })
    }

    fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    fn capacity(&self) -> usize {
        self.layout.size()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated in `allocate` with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn filled(pool: &Pool, len: usize, byte: u8) -> Bytes {
        let mut buffer = pool.take(len).unwrap();
        assert_eq!(buffer.extend(&vec![byte; len + 1]), len);
        buffer.freeze()
    }

    #[test]
    fn a_buffer_returns_with_its_last_reference() {
        let pool = Pool::default();
        let whole = filled(&pool, 100_000, 7);
        let address = whole.as_ptr();
        assert_eq!(address as usize % ALIGNMENT, 0);
        let part = whole.slice(10..20);
        drop(whole);
        assert_eq!(pool.idle_bytes(), 0);
        assert_eq!(&part[..], [7; 10]);
        drop(part);
        assert!(pool.idle_bytes() >= 100_000);
        assert_eq!(filled(&pool, 99_000, 8).as_ptr(), address);
    }

    #[test]
    fn a_much_larger_buffer_is_not_spent_on_a_small_message() {
        let pool = Pool::default();
        drop(filled(&pool, 1 << 20, 0));
        let before = pool.idle_bytes();
        let _small = filled(&pool, 1 << 16, 0);
        assert_eq!(pool.idle_bytes(), before);
    }

    #[test]
    fn idle_memory_is_bounded() {
        let pool = Pool::default();
        let many: Vec<_> = (0..20).map(|i| filled(&pool, (2 << 20) + i * 300_000, 1)).collect();
        drop(many);
        assert!(pool.idle_bytes() <= IDLE_BYTES);
        drop(pool.take(IDLE_BYTES + 1).unwrap());
        assert!(pool.idle_bytes() <= IDLE_BYTES);
    }

    #[test]
    fn a_size_no_machine_has_is_refused() {
        assert!(Pool::default().take(usize::MAX - 10).is_none());
    }

    proptest! {
        #[test]
        fn live_buffers_never_share_memory(lens in prop::collection::vec(1usize..20_000, 1..20)) {
            let pool = Pool::default();
            let mut live: Vec<(u8, Bytes)> = Vec::new();
            for (i, len) in lens.into_iter().enumerate() {
                live.push((i as u8, filled(&pool, len, i as u8)));
                if len % 3 == 0 {
                    live.swap_remove(len % live.len());
                }
                for (byte, bytes) in &live {
                    prop_assert!(bytes.iter().all(|b| b == byte));
                }
            }
        }
    }
}
