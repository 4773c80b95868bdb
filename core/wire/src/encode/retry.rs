//! Decides when to retry an encoding that saved too little.

/// Chunks until then.
const INTERVAL: u8 = 16;

/// The interval of one encoding of one column.
#[derive(Default)]
pub(super) struct RetryInterval {
    chunks: u8,
    values: usize,
}

impl RetryInterval {
    /// Whether to try now, with so many values. Each call counts one chunk. Twice as many values can save what few did
    /// not, so small chunks at the start of a stream decide nothing for large ones.
    pub(super) fn is_due(&mut self, values: usize) -> bool {
        self.chunks = self.chunks.saturating_sub(1);
        self.chunks == 0 || values >= 2 * self.values
    }

    /// It did not save enough for so many values.
    pub(super) fn failed(&mut self, values: usize) {
        (self.chunks, self.values) = (INTERVAL, values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_saved_nothing_waits_for_sixteen_chunks_or_for_twice_as_many_values() {
        let mut interval = RetryInterval::default();
        assert!(interval.is_due(1000));
        interval.failed(1000);
        assert!((1..INTERVAL).all(|_| !interval.is_due(1999)));
        assert!(interval.is_due(10));
        interval.failed(1000);
        assert!(!interval.is_due(1000) && interval.is_due(2000));
    }
}
