//! Memory that the server shares with one function process.
//!
//! The process may write anything there at any time. So the server never makes a reference to the memory: it copies
//! bytes out, and checks the copies. The file's size is sealed against shrinking, so that no access in the server meets
//! a missing page.

use std::ffi::c_void;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::layout::{
    ANSWER_HEAD, ANSWER_NUMBER, ANSWER_SEMAPHORE, AnswerHead, DATA, HEAD_WORDS, REQUEST_HEAD, REQUEST_NUMBER,
    REQUEST_SEMAPHORE, RequestHead,
};
use crate::semaphore::Semaphore;

/// The first size of a ring. Pages that nobody touches take no memory.
const FIRST_SIZE: usize = 4 << 20;

/// A file in memory, mapped up to the largest size that it may get.
#[derive(Debug)]
pub(crate) struct Ring {
    file: OwnedFd,
    memory: *mut u8,
    /// The bytes of the mapping: the largest size of the file.
    limit: usize,
    /// The present size of the file. It only grows.
    size: AtomicUsize,
}

// SAFETY: the mapping belongs to this value and lives as long. Its bytes are shared with another process anyway: all
// accesses copy, or are atomic.
unsafe impl Send for Ring {}
// SAFETY: as above.
unsafe impl Sync for Ring {}

impl Ring {
    /// A ring that can grow to `limit` bytes.
    pub fn new(limit: usize) -> io::Result<Self> {
        let limit = limit.max(FIRST_SIZE).checked_next_multiple_of(DATA).ok_or(io::ErrorKind::InvalidInput)?;
        let file = memfd_create("colonnade-ring", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, FIRST_SIZE as u64)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::SEAL)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at a place that the kernel chooses.
        let memory =
            unsafe { mmap(ptr::null_mut(), limit, protection, MapFlags::SHARED | MapFlags::NORESERVE, &file, 0)? };
        let own = Self { file, memory: memory.cast(), limit, size: AtomicUsize::new(FIRST_SIZE) };
        own.semaphore(REQUEST_SEMAPHORE).begin()?;
        own.semaphore(ANSWER_SEMAPHORE).begin()?;
        Ok(own)
    }

    /// Whether it is as large as a ring that was made with this limit may become.
    pub fn has_limit(&self, limit: usize) -> bool {
        limit.max(FIRST_SIZE).checked_next_multiple_of(DATA) == Some(self.limit)
    }

    /// Whether it has not grown.
    pub fn is_small(&self) -> bool {
        self.size() == FIRST_SIZE
    }

    /// The largest size.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The present size.
    pub fn size(&self) -> usize {
        self.size.load(Ordering::Relaxed)
    }

    /// The size that it gets if it has to become this long: at least twice the present one, so that it rarely grows.
    pub fn grown(&self, size: usize) -> usize {
        if size <= self.size() { self.size() } else { size.max(self.size() * 2).min(self.limit) }
    }

    /// Makes the file at least this long. `false` if that is beyond the limit, or the system has no memory.
    pub fn grow(&self, size: usize) -> bool {
        if size <= self.size() {
            return true;
        }
        if size > self.limit {
            return false;
        }
        let size = self.grown(size);
        if ftruncate(&self.file, size as u64).is_err() {
            return false;
        }
        self.size.store(size, Ordering::Relaxed);
        true
    }

    /// A part of the ring; `None` if it is not within the file.
    pub fn slice(&self, at: usize, length: usize) -> Option<RingSlice<'_>> {
        let end = at.checked_add(length)?;
        // SAFETY: the place is within the mapping.
        (end <= self.size()).then(|| RingSlice { start: unsafe { self.memory.add(at) }, length, ring: PhantomData })
    }

    fn number(&self, at: usize) -> &AtomicU32 {
        // SAFETY: the place is within the first page of the mapping and aligned. The other process may change it at any
        // time, which an atomic allows.
        unsafe { AtomicU32::from_ptr(self.memory.add(at).cast()) }
    }

    fn semaphore(&self, at: usize) -> Semaphore<'_> {
        // SAFETY: the place is aligned, within the first page of the mapping, and used for nothing else by this
        // process.
        unsafe { Semaphore::new(self.memory.add(at).cast()) }
    }

    /// Writes the head of a request, and wakes the function process. Gives the number that its answer will have.
    pub fn send(&self, head: &RequestHead) -> u32 {
        let next = self.write_request(head);
        self.semaphore(REQUEST_SEMAPHORE).post();
        next
    }

    /// As `send`, for a function process that does not wait, because it is in this process.
    pub fn write_request(&self, head: &RequestHead) -> u32 {
        if let Some(place) = self.slice(REQUEST_HEAD, HEAD_WORDS * 8) {
            place.write_words(&head.words());
        }
        let number = self.number(REQUEST_NUMBER);
        let next = number.load(Ordering::Relaxed).wrapping_add(1);
        number.store(next, Ordering::SeqCst);
        next
    }

    /// Whether the answer with this number is there.
    pub fn has_answer(&self, number: u32) -> bool {
        self.number(ANSWER_NUMBER).load(Ordering::SeqCst) == number
    }

    /// Waits until something wakes this thread, or the time is over. Gives whether the answer with this number is
    /// there.
    pub fn wait(&self, number: u32, timeout: Duration) -> bool {
        self.semaphore(ANSWER_SEMAPHORE).wait(timeout);
        self.has_answer(number)
    }

    /// Wakes the thread that waits for an answer.
    pub fn wake_waiting(&self) {
        self.semaphore(ANSWER_SEMAPHORE).post();
    }

    /// A copy of the head of the answer.
    pub fn answer_head(&self) -> AnswerHead {
        let mut words = [0; HEAD_WORDS];
        if let Some(place) = self.slice(ANSWER_HEAD, HEAD_WORDS * 8) {
            place.read_words(&mut words);
        }
        AnswerHead::from_words(words)
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`, which nothing refers to: slices borrow the ring.
        let _ = unsafe { munmap(self.memory.cast::<c_void>(), self.limit) };
    }
}

/// A part of a ring. Both processes may write there at any time, so this gives no reference to its bytes: it copies.
#[derive(Clone, Copy, Debug)]
pub struct RingSlice<'r> {
    start: *mut u8,
    length: usize,
    ring: PhantomData<&'r Ring>,
}

// SAFETY: a slice can do no more than the ring, from which each thread may take slices: all accesses copy.
unsafe impl Send for RingSlice<'_> {}
// SAFETY: as above.
unsafe impl Sync for RingSlice<'_> {}

impl RingSlice<'_> {
    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The first byte, aligned to 64 bytes if the slice is a whole buffer. Only this process's own writes may be
    /// assumed to be there.
    pub fn as_mut_ptr(&self) -> *mut u8 {
        self.start
    }

    /// Copies bytes to a place of the slice.
    ///
    /// # Panics
    /// If they do not fit.
    #[inline]
    pub fn write(&self, at: usize, bytes: &[u8]) {
        assert!(at <= self.length && bytes.len() <= self.length - at, "a write beyond the buffer");
        // SAFETY: the place is within the mapping, and no reference to the ring's bytes exists.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.add(at), bytes.len()) }
    }

    /// Sets all bytes.
    pub fn fill(&self, byte: u8) {
        // SAFETY: as in `write`.
        unsafe { ptr::write_bytes(self.start, byte, self.length) }
    }

    /// Copies bytes out of the slice.
    ///
    /// # Panics
    /// If there are not as many.
    pub fn read(&self, at: usize, into: &mut [u8]) {
        assert!(at <= self.length && into.len() <= self.length - at, "a read beyond the buffer");
        // SAFETY: as in `write`. If the other process writes at the same time, the copy has any bytes, and it is
        // checked afterwards.
        unsafe { ptr::copy_nonoverlapping(self.start.add(at), into.as_mut_ptr(), into.len()) }
    }

    /// A copy of all bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.length);
        self.append_to(&mut bytes);
        bytes
    }

    /// Appends a copy of all bytes.
    pub fn append_to(&self, bytes: &mut Vec<u8>) {
        bytes.reserve(self.length);
        // SAFETY: as in `read`; the vector has room for them behind its own bytes, and all are written before its
        // length is set.
        unsafe {
            ptr::copy_nonoverlapping(self.start, bytes.as_mut_ptr().add(bytes.len()), self.length);
            bytes.set_len(bytes.len() + self.length);
        }
    }

    /// Writes words at the beginning.
    ///
    /// # Panics
    /// If they do not fit.
    pub fn write_words(&self, words: &[u64]) {
        assert!(words.len() * 8 <= self.length, "a write beyond the buffer");
        // SAFETY: as in `write`. The bytes of a u64 are those of the target, which is little-endian (`lib.rs` refuses
        // others).
        unsafe { ptr::copy_nonoverlapping(words.as_ptr().cast(), self.start, words.len() * 8) }
    }

    /// Reads words from the beginning.
    ///
    /// # Panics
    /// If there are not as many.
    pub fn read_words(&self, words: &mut [u64]) {
        assert!(words.len() * 8 <= self.length, "a read beyond the buffer");
        // SAFETY: as in `read`; any bytes are a u64.
        unsafe { ptr::copy_nonoverlapping(self.start, words.as_mut_ptr().cast(), words.len() * 8) }
    }
}
