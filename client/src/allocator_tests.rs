use proptest::prelude::*;

use super::*;

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size, 64).unwrap_or_else(|_| Layout::new::<u8>())
}

fn regions(allocator: &HugePages) -> usize {
    allocator.with(|regions| {
        let (mut count, mut region) = (0, regions.first);
        while !region.is_null() {
            count += 1;
            // SAFETY: the links lead from header to header.
            region = unsafe { (*region).next };
        }
        count
    })
}

/// A block whose bytes all have one value.
struct Block {
    start: *mut u8,
    size: usize,
    byte: u8,
}

impl Block {
    fn new(allocator: &HugePages, size: usize, byte: u8) -> Self {
        // SAFETY: the size is not 0; the block is written in its bounds.
        let start = unsafe {
            let start = allocator.alloc(layout(size));
            assert!(!start.is_null() && start.addr().is_multiple_of(64));
            start.write_bytes(byte, size);
            start
        };
        Self { start, size, byte }
    }

    fn resize(&mut self, allocator: &HugePages, size: usize) {
        // SAFETY: the block is of this allocator and layout; it is written in its new bounds.
        unsafe {
            self.start = allocator.realloc(self.start, layout(self.size), size);
            assert!(!self.start.is_null());
            self.check(self.size.min(size));
            self.start.write_bytes(self.byte, size);
        }
        self.size = size;
    }

    fn check(&self, size: usize) {
        // SAFETY: the block is initialised over at least this size.
        let bytes = unsafe { std::slice::from_raw_parts(self.start, size) };
        // Both ends and something between: a whole check would be slow.
        assert!(bytes.iter().step_by(997).chain(bytes.first()).chain(bytes.last()).all(|byte| *byte == self.byte));
    }

    fn free(self, allocator: &HugePages) {
        self.check(self.size);
        // SAFETY: the block is of this allocator and layout, and is not used again.
        unsafe { allocator.dealloc(self.start, layout(self.size)) }
    }
}

#[test]
fn blocks_are_packed_and_their_memory_is_used_again() {
    let allocator = HugePages::new();
    let first = Block::new(&allocator, 100_000, 1);
    let second = Block::new(&allocator, 50_000, 2);
    let third = Block::new(&allocator, 1 << 20, 3);
    // 100,000 bytes are 25 granules, 50,000 are 13.
    assert_eq!(second.start.addr() - first.start.addr(), 25 * GRANULE);
    assert_eq!(third.start.addr() - second.start.addr(), 13 * GRANULE);
    let address = second.start;
    second.free(&allocator);
    let again = Block::new(&allocator, 40_000, 4);
    assert_eq!(again.start, address);
    for block in [first, third, again] {
        block.free(&allocator);
    }
}

#[test]
fn empty_regions_go_back_to_the_system_but_for_one() {
    let allocator = HugePages::new();
    let blocks: Vec<_> = (0..40).map(|i| Block::new(&allocator, 4 << 20, i)).collect();
    // Seven blocks of 4 MiB fit beside the header.
    assert_eq!(regions(&allocator), 6);
    blocks.into_iter().for_each(|block| block.free(&allocator));
    assert_eq!(regions(&allocator), 1);
    Block::new(&allocator, 4 << 20, 9).free(&allocator);
    assert_eq!(regions(&allocator), 1);
}

#[test]
fn a_block_grows_where_it_is_if_there_is_room() {
    let allocator = HugePages::new();
    let mut block = Block::new(&allocator, 100_000, 7);
    let address = block.start;
    block.resize(&allocator, 8 << 20);
    assert_eq!(block.start, address);
    block.resize(&allocator, 60_000);
    assert_eq!(block.start, address);
    let neighbour = Block::new(&allocator, 60_000, 8);
    block.resize(&allocator, 100_000);
    assert_ne!(block.start, address);
    neighbour.free(&allocator);
    block.free(&allocator);
}

#[test]
fn every_size_has_its_place_and_moves_between_them() {
    let allocator = HugePages::new();
    let mut block = Block::new(&allocator, 10, 5);
    for size in [LARGE - 1, LARGE, OWN_MAPPING, OWN_MAPPING + 1, 40 << 20, OWN_MAPPING, 100_000, 5] {
        block.resize(&allocator, size);
    }
    block.free(&allocator);
}

#[test]
fn zeroed_memory_is_zero_even_if_used_before() {
    let allocator = HugePages::new();
    Block::new(&allocator, 1 << 20, 0xff).free(&allocator);
    // SAFETY: the size is not 0, and the block is read in its bounds and freed once.
    unsafe {
        let start = allocator.alloc_zeroed(layout(1 << 20));
        assert!(std::slice::from_raw_parts(start, 1 << 20).iter().all(|byte| *byte == 0));
        allocator.dealloc(start, layout(1 << 20));
    }
}

#[test]
fn threads_do_not_get_in_each_others_way() {
    let allocator = HugePages::new();
    std::thread::scope(|scope| {
        for byte in 0..4u8 {
            let allocator = &allocator;
            scope.spawn(move || {
                for round in 1..100 {
                    let blocks: Vec<_> = (1..6).map(|i| Block::new(allocator, i * round * 4000, byte)).collect();
                    blocks.into_iter().for_each(|block| block.free(allocator));
                }
            });
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn blocks_keep_their_bytes(steps in prop::collection::vec((0usize..3, 1usize..6_000_000, any::<u8>()), 1..60)) {
        let allocator = HugePages::new();
        let mut blocks: Vec<Block> = Vec::new();
        for (kind, size, byte) in steps {
            match kind {
                0 if !blocks.is_empty() => blocks.swap_remove(size % blocks.len()).free(&allocator),
                1 if !blocks.is_empty() => {
                    let index = size % blocks.len();
                    blocks[index].resize(&allocator, size);
                }
                _ => blocks.push(Block::new(&allocator, size, byte)),
            }
            blocks.iter().for_each(|block| block.check(block.size));
        }
        let total: usize = allocator.with(|regions| {
            let (mut taken, mut region) = (0, regions.first);
            while !region.is_null() {
                // SAFETY: the links lead from header to header.
                unsafe {
                    let counted: u32 = (*region).taken.iter().map(|word| word.count_ones()).sum();
                    assert_eq!(counted as usize + (*region).free, GRANULES);
                    taken += counted as usize - 1;
                    region = (*region).next;
                }
            }
            taken
        });
        let expected: usize = blocks
            .iter()
            .filter(|block| matches!(place(&layout(block.size)), Place::Region))
            .map(|block| block.size.div_ceil(GRANULE))
            .sum();
        prop_assert_eq!(total, expected);
        blocks.into_iter().for_each(|block| block.free(&allocator));
        prop_assert!(regions(&allocator) <= 1);
    }
}
