//! Cuts the batches of another library into chunks within the limits of a query's options.

use arrow_array::RecordBatch;
use colonnade_wire::arrow::plain_bytes;

/// The most that a chunk may hold; `None` is no limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChunkLimits {
    /// Rows.
    pub rows: Option<usize>,
    /// Plain bytes. A single row may have more.
    pub bytes: Option<usize>,
}

/// Cuts batches. The rest of a batch comes before the next batch.
#[derive(Debug)]
pub(crate) struct Chunks {
    limits: ChunkLimits,
    rest: Option<RecordBatch>,
}

impl Chunks {
    pub(crate) fn new(limits: ChunkLimits) -> Self {
        Self { limits, rest: None }
    }

    /// The next chunk.
    ///
    /// # Errors
    /// Those of `batches`.
    pub(crate) fn next<E>(
        &mut self,
        batches: impl FnOnce() -> Result<Option<RecordBatch>, E>,
    ) -> Result<Option<RecordBatch>, E> {
        let batch = match self.rest.take() {
            Some(rest) => rest,
            None => match batches()? {
                Some(batch) => batch,
                None => return Ok(None),
            },
        };
        let rows = self.length(&batch);
        if rows == batch.num_rows() {
            return Ok(Some(batch));
        }
        self.rest = Some(batch.slice(rows, batch.num_rows() - rows));
        Ok(Some(batch.slice(0, rows)))
    }

    /// The number of rows in a batch's first chunk: at least one, if the batch has rows.
    fn length(&self, batch: &RecordBatch) -> usize {
        let mut rows = batch.num_rows().min(self.limits.rows.unwrap_or(usize::MAX));
        let Some(most) = self.limits.bytes else { return rows };
        while rows > 1 && plain_bytes(&batch.slice(0, rows)) > most {
            rows = rows.div_ceil(2);
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use arrow_array::{Int64Array, StringArray};

    use super::*;

    fn lengths(batches: Vec<RecordBatch>, limits: ChunkLimits) -> Vec<usize> {
        let (mut chunks, mut batches) = (Chunks::new(limits), batches.into_iter());
        let next = || chunks.next(|| Ok::<_, ()>(batches.next())).unwrap();
        std::iter::from_fn(next).map(|chunk| chunk.num_rows()).collect()
    }

    #[test]
    fn a_batch_is_cut_by_rows() {
        let batch = |rows| RecordBatch::try_from_iter([("i", Arc::new(Int64Array::from_iter_values(0..rows)) as _)]);
        let batches = || vec![batch(7).unwrap(), batch(0).unwrap(), batch(3).unwrap()];
        assert_eq!(lengths(batches(), ChunkLimits { rows: Some(3), bytes: None }), [3, 3, 1, 0, 3]);
        assert_eq!(lengths(batches(), ChunkLimits::default()), [7, 0, 3]);
    }

    #[test]
    fn a_batch_is_cut_by_bytes() {
        let texts = ["x".repeat(1000), "y".to_owned(), "z".to_owned(), "a".to_owned(), "b".to_owned()];
        let batch = RecordBatch::try_from_iter([("t", Arc::new(StringArray::from_iter_values(texts)) as _)]).unwrap();
        assert_eq!(lengths(vec![batch.clone()], ChunkLimits { rows: None, bytes: Some(100) }), [1, 4]);
        assert_eq!(lengths(vec![batch.clone()], ChunkLimits { rows: Some(2), bytes: Some(1) }), [1, 1, 1, 1, 1]);
        assert_eq!(lengths(vec![batch], ChunkLimits { rows: None, bytes: Some(1 << 20) }), [5]);
    }
}
