//! Decisions from a fuzzer's bytes.

/// Decisions, one byte for each. After the last byte, every decision is the first alternative.
#[derive(Clone, Debug)]
pub struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    /// The decisions in these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// A number below 256.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        let number = usize::from(self.byte());
        if end <= 256 { number % end } else { (number << 8 | usize::from(self.byte())) % end }
    }

    /// One of these.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// True once in `times`; false after the last byte.
    pub fn once_in(&mut self, times: u8) -> bool {
        self.byte() % times == times - 1
    }
}
