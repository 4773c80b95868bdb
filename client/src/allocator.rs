//! An allocator for results: large buffers from huge pages, packed tightly, everything else from the system.
//!
//! A result is thousands of buffers between 100 KiB and a few MiB. Fresh memory costs a page fault every 4 KiB, several
//! times what filling it costs; in huge pages it is one every 2 MiB. General allocators that use huge pages round such
//! buffers up to size classes and keep a class's pages apart, which took 1.2 to 1.5 times the result's size when it was
//! measured (mimalloc 3.3). Here a buffer takes whole granules of 4 KiB, and the lowest free run that fits.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::{NonNull, null_mut};
use std::sync::{Mutex, PoisonError};

/// Smaller allocations are the system's.
const LARGE: usize = 32 << 10;
/// Larger ones are mappings of their own.
const OWN_MAPPING: usize = 16 << 20;
/// The unit of allocation: the smallest page.
const GRANULE: usize = 4 << 10;
/// Size and alignment of a region: many buffers, a small remainder.
const REGION: usize = 32 << 20;
/// Granules of a region.
const GRANULES: usize = REGION / GRANULE;
/// A region without buffers is kept for the next one; more go back to the system.
const IDLE_REGIONS: usize = 1;

/// The allocator. Make it the program's with `#[global_allocator]`.
#[derive(Debug)]
pub struct HugePages {
    regions: Mutex<Regions>,
}

/// A list, oldest first, through the regions' own headers: the allocator cannot allocate for itself.
#[derive(Debug)]
struct Regions {
    first: *mut Region,
    idle: usize,
}

// SAFETY: the list owns its regions and is used under the lock only.
unsafe impl Send for Regions {}

/// The header of a region, in its first granule.
struct Region {
    next: *mut Region,
    /// No longer run of free granules exists; there may be none of this length either.
    longest: usize,
    free: usize,
    /// A bit a granule, 1 if taken. The header's own is.
    taken: [u64; GRANULES / 64],
}

const _: () = assert!(size_of::<Region>() <= GRANULE);

impl HugePages {
    /// An allocator without any region.
    pub const fn new() -> Self {
        Self { regions: Mutex::new(Regions { first: null_mut(), idle: 0 }) }
    }

    fn with<T>(&self, work: impl FnOnce(&mut Regions) -> T) -> T {
        // Nothing below panics under the lock.
        work(&mut self.regions.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Default for HugePages {
    fn default() -> Self {
        Self::new()
    }
}

enum Place {
    System,
    Region,
    Own,
}

/// Where an allocation of this layout lives. It depends on nothing else, so that freeing finds the same answer.
fn place(layout: &Layout) -> Place {
    match layout.size() {
        _ if layout.align() > GRANULE => Place::System,
        ..LARGE => Place::System,
        LARGE..=OWN_MAPPING => Place::Region,
        _ => Place::Own,
    }
}

// SAFETY: every block is at least as large and as aligned as its layout, blocks do not overlap (the bitmap gives out each
// granule once), and none is unmapped before it is freed. Nothing here unwinds.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match place(&layout) {
            // SAFETY: the caller's promise is System's condition.
            Place::System => unsafe { System.alloc(layout) },
            Place::Region => self.with(|regions| regions.take(layout.size().div_ceil(GRANULE))),
            Place::Own => map(layout.size()).map_or(null_mut(), NonNull::as_ptr),
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match place(&layout) {
            // SAFETY: the block came from System with this layout.
            Place::System => unsafe { System.dealloc(block, layout) },
            // SAFETY: the block came from a region, with this many granules.
            Place::Region => self.with(|regions| unsafe { regions.give(block, layout.size().div_ceil(GRANULE)) }),
            // SAFETY: the block is a mapping of this size.
            Place::Own => unsafe { unmap(block, layout.size()) },
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises a size that fits a layout of this alignment.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (place(&layout), place(&wanted)) {
            // SAFETY: the caller's promise is System's condition.
            (Place::System, Place::System) => return unsafe { System.realloc(block, layout, size) },
            (Place::Region, Place::Region) => {
                let (old, new) = (layout.size().div_ceil(GRANULE), size.div_ceil(GRANULE));
                // SAFETY: the block came from a region, with `old` granules.
                if self.with(|regions| unsafe { regions.resize(block, old, new) }) {
                    return block;
                }
            }
            _ => {}
        }
        // SAFETY: both blocks are valid for the smaller of the two sizes, and distinct.
        unsafe {
            let moved = self.alloc(wanted);
            if !moved.is_null() {
                std::ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}

impl Regions {
    /// The lowest free run of the oldest region that has one, or null.
    fn take(&mut self, count: usize) -> *mut u8 {
        let mut last = &raw mut self.first;
        // SAFETY: the links lead from header to header of live regions and end in null; the lock gives exclusive access.
        unsafe {
            while let Some(region) = (*last).as_mut() {
                if let Some(start) = region.find(count) {
                    return self.mark(region, start, count);
                }
                last = &raw mut region.next;
            }
            let Some(start) = map_aligned() else { return null_mut() };
            let region = start.cast::<Region>().as_ptr();
            // The mapping is zeroed: no granule is taken but the header's.
            (*region).taken[0] = 1;
            ((*region).free, (*region).longest) = (GRANULES - 1, GRANULES - 1);
            *last = region;
            self.idle += 1;
            self.mark(&mut *region, 1, count)
        }
    }

    fn mark(&mut self, region: &mut Region, start: usize, count: usize) -> *mut u8 {
        if region.free == GRANULES - 1 {
            self.idle -= 1;
        }
        region.set(start, count, true);
        let base = std::ptr::from_mut(region).cast::<u8>();
        // SAFETY: start + count <= GRANULES.
        unsafe { base.add(start * GRANULE) }
    }

    /// # Safety
    /// `block` is one of [`Regions::take`], of `count` granules.
    unsafe fn give(&mut self, block: *mut u8, count: usize) {
        let (region, start) = locate(block);
        // SAFETY: a block lies in a live region, whose header is at its start.
        unsafe { (*region).set(start, count, false) };
        // SAFETY: as above.
        if unsafe { (*region).free } < GRANULES - 1 {
            return;
        }
        if self.idle < IDLE_REGIONS {
            self.idle += 1;
            return;
        }
        let mut link = &raw mut self.first;
        // SAFETY: the links lead from header to header; the region is one of them, and has no block left.
        unsafe {
            while *link != region {
                link = &raw mut (**link).next;
            }
            *link = (*region).next;
            unmap(region.cast(), REGION);
        }
    }

    /// Makes a block longer or shorter where it is, if it can.
    ///
    /// # Safety
    /// As for [`Regions::give`]; `new` is not 0.
    unsafe fn resize(&mut self, block: *mut u8, old: usize, new: usize) -> bool {
        let (region, start) = locate(block);
        // SAFETY: a block lies in a live region, whose header is at its start.
        let region = unsafe { &mut *region };
        if new <= old {
            region.set(start + new, old - new, false);
            return true;
        }
        let fits = start + new <= GRANULES && region.run_of(start + old, false, new - old) >= new - old;
        if fits {
            region.set(start + old, new - old, true);
        }
        fits
    }
}

/// The region of a block, and the number of its first granule.
fn locate(block: *mut u8) -> (*mut Region, usize) {
    let offset = block.addr() % REGION;
    (block.wrapping_sub(offset).cast(), offset / GRANULE)
}

impl Region {
    /// The first run of `count` free granules.
    fn find(&mut self, count: usize) -> Option<usize> {
        if self.longest < count {
            return None;
        }
        let (mut at, mut longest) = (1, 0);
        while at < GRANULES {
            at += self.run_of(at, true, GRANULES);
            let free = self.run_of(at, false, count);
            if free >= count {
                return Some(at);
            }
            longest = longest.max(free);
            at += free;
        }
        self.longest = longest;
        None
    }

    /// How many granules from `at` on are taken, or free; `enough` of them are counted at least, if there are.
    fn run_of(&self, at: usize, taken: bool, enough: usize) -> usize {
        let mut end = at;
        while end < GRANULES && end - at < enough {
            let word = self.taken[end / 64] >> (end % 64);
            let same = if taken { (!word).trailing_zeros() } else { word.trailing_zeros() } as usize;
            let left = 64 - end % 64;
            end += same.min(left);
            if same < left {
                break;
            }
        }
        end - at
    }

    fn set(&mut self, start: usize, count: usize, taken: bool) {
        let (mut at, end) = (start, start + count);
        while at < end {
            let bits = (64 - at % 64).min(end - at);
            let mask = (u64::MAX >> (64 - bits)) << (at % 64);
            if taken {
                self.taken[at / 64] |= mask;
            } else {
                self.taken[at / 64] &= !mask;
            }
            at += bits;
        }
        if taken {
            self.free -= count;
        } else {
            self.free += count;
            self.longest = self.free;
        }
    }
}

/// A region's mapping, aligned to its size.
fn map_aligned() -> Option<NonNull<u8>> {
    let start = map(2 * REGION)?.as_ptr();
    let before = start.addr().wrapping_neg() % REGION;
    let region = start.wrapping_add(before);
    // SAFETY: both parts lie in the new mapping, outside of the region, and nobody uses them.
    unsafe {
        unmap(start, before);
        unmap(region.wrapping_add(REGION), REGION - before);
    }
    advise(region, REGION);
    NonNull::new(region)
}

/// Zeroed memory from the system, in huge pages where it has them.
fn map(size: usize) -> Option<NonNull<u8>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: an anonymous mapping at an address of the system's choice touches nothing that exists.
    let start = unsafe { libc::mmap(null_mut(), size, protection, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0) };
    if start == libc::MAP_FAILED {
        return None;
    }
    advise(start.cast(), size);
    NonNull::new(start.cast())
}

/// Asks for huge pages. Where there are none, memory works all the same.
fn advise(start: *mut u8, size: usize) {
    #[cfg(target_os = "linux")]
    // SAFETY: the range is a mapping of ours; the advice does not change its contents.
    unsafe {
        libc::madvise(start.cast(), size, libc::MADV_HUGEPAGE);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, size);
}

/// # Safety
/// The range is mapped by [`map`], and nobody uses it any more.
unsafe fn unmap(start: *mut u8, size: usize) {
    if size > 0 {
        // SAFETY: the caller's promise.
        unsafe { libc::munmap(start.cast(), size) };
    }
}

#[cfg(test)]
#[path = "allocator_tests.rs"]
mod tests;
